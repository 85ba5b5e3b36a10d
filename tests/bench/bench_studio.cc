// SPDX-License-Identifier: GPL-3.0-or-later
// How long the studio takes from a move of the slider until heatmap, plan table, frontier plot and
// summary are painted: 1,000 random moves in a window of 1280 x 800 on 80 layers x 54 recipes.
// Prints a line a table: median, p99 and maximum in milliseconds, of the whole and of its parts
// (solving and filling the models; painting). Run offscreen: QT_QPA_PLATFORM=offscreen.
#include <QApplication>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTableView>
#include <QTemporaryDir>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include "engine/table/table.h"
#include "widgets/models/text.h"
#include "widgets/pages/workspace_page.h"
#include "widgets/panels/budget_slider.h"
#include "widgets/panels/plan_view.h"
#include "widgets/panels/summary_panel.h"
#include "widgets/plots/frontier_view.h"
#include "widgets/plots/heatmap_view.h"
#include "widgets/window/main_window.h"
#include "widgets/window/theme.h"

namespace lamina::studio {
namespace {

constexpr int kLayers = 80;
constexpr int kMoves = 1000;

// additive: every layer its own scales of keep, K and V; noisy: 30 % noise upon that; equal: all
// layers the same; real: the prompt probe of SmolLM2's 30 layers, repeated and scaled.
SensitivityTable makeTable(const QString& kind) {
  SensitivityTable table;
  table.model = ModelId{kind.toStdString(), "llama", std::string(64, 'a')};
  table.grid = ConfigGrid::default_grid();
  table.geometry.t_cache = 16000;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  QFile file(QStringLiteral(LAMINA_TEST_DATA "/smol_prompt27_S.json"));
  if (!file.open(QIODevice::ReadOnly)) qFatal("tests/data cannot be read");
  const QJsonArray measured =
      QJsonDocument::fromJson(file.readAll())["S"]["triattention"].toArray();
  const double keep[] = {.81, .5625, .25, .0625, .01, 0}, bits[] = {1, .15, 0};
  for (int layer = 0; layer < kLayers; ++layer) {
    table.geometry.layers.push_back({.kv_heads = 8, .head_dim = 128, .window = 0});
    double scale[3] = {1, 1, 1};
    if (kind != QLatin1String("equal")) {
      for (double& s : scale) s = std::exp(4 * uniform(random) - 2);
    }
    std::vector<double> row;
    for (int c = 0; c < table.grid.size(); ++c) {
      if (kind == QLatin1String("real")) {
        row.push_back(measured[layer % measured.size()].toArray()[c].toDouble() *
                      (0.8 + 0.05 * scale[0]));
        continue;
      }
      const double noise = kind == QLatin1String("noisy") ? 0.3 : 0.0;
      const double cell = scale[0] * keep[table.grid.keep_i(c)] +
                          scale[1] * bits[table.grid.k_i(c)] + scale[2] * bits[table.grid.v_i(c)];
      row.push_back(cell * (1 + noise * (2 * uniform(random) - 1)));
    }
    table.values.push_back(row);
  }
  return table;
}

// Which of the four have been painted since the last move.
class Painted : public QObject {
 public:
  void watch(QWidget* widget) {
    widgets_.push_back(widget);
    seen_.push_back(false);
    widget->installEventFilter(this);
  }
  void reset() { std::fill(seen_.begin(), seen_.end(), false); }
  bool all() const { return std::find(seen_.begin(), seen_.end(), false) == seen_.end(); }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override {
    if (event->type() == QEvent::Paint) {
      const auto at = std::find(widgets_.begin(), widgets_.end(), object);
      seen_[static_cast<std::size_t>(at - widgets_.begin())] = true;
    }
    return false;
  }

 private:
  std::vector<QObject*> widgets_;
  std::vector<bool> seen_;
};

// Processor time of this thread in milliseconds: what a move costs where the machine is busy with
// other things too.
double cpuMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Figures {
  double median, p99, max;
};

Figures figures(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {at(0.5), at(0.99), at(1.0)};
}

void print(const char* what, const Figures& f) {
  std::printf("  %-16s median %7.2f  p99 %7.2f  max %7.2f ms\n", what, f.median, f.p99, f.max);
}

int run(const QString& kind) {
  QTemporaryDir dir;
  MainWindow window({dir.filePath(QStringLiteral("studio.ini")), dir.path()});
  window.resize(1280, 800);
  window.show();
  const QString path = dir.filePath(QStringLiteral("table.json"));
  const Status written = write_table(makeTable(kind), toPath(path));
  if (!written.is_ok()) return std::fprintf(stderr, "%s\n", written.message().c_str()), 1;
  StudioSession& session = *window.session();
  QElapsedTimer timer;
  timer.start();
  session.open(path);
  while (!session.plan() || session.frontier().isComputing()) {
    QApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
    if (timer.elapsed() > 120000)
      return std::fprintf(stderr, "%s: too slow\n", qPrintable(kind)), 1;
  }
  const auto frontier_ms = static_cast<double>(timer.elapsed());
  for (int i = 0; i < 50; ++i) QApplication::processEvents(QEventLoop::AllEvents, 10);

  Painted painted;
  WorkspacePage* page = window.workspace();
  painted.watch(page->heatmap()->plot());
  painted.watch(page->planView()->table()->viewport());
  painted.watch(page->frontier()->plot());
  painted.watch(window.findChild<SummaryPanel*>());
  auto* slider = window.findChild<BudgetSlider*>();
  std::mt19937_64 random(11);
  std::vector<double> whole, cpu, solving, painting;
  while (whole.size() < kMoves) {
    const int position = static_cast<int>(random() % 2001);
    if (position == slider->value()) continue;
    const auto before = session.plan();
    painted.reset();
    const double cpu_before = cpuMs();
    timer.restart();
    slider->setValue(position);
    const double solved = static_cast<double>(timer.nsecsElapsed()) / 1e6;
    // A plan that stays the same leaves the heatmap as it is.
    if (session.plan()->solution.configs == before->solution.configs) continue;
    while (!painted.all() && timer.elapsed() < 2000) QApplication::processEvents();
    if (!painted.all()) return std::fprintf(stderr, "%s: not painted\n", qPrintable(kind)), 1;
    cpu.push_back(cpuMs() - cpu_before);
    whole.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    solving.push_back(solved);
    painting.push_back(whole.back() - solved);
    QApplication::processEvents();
  }
  std::printf("%s, %d layers x 54, %d moves (open and all frontiers: %.0f ms)\n", qPrintable(kind),
              kLayers, kMoves, frontier_ms);
  print("move to painted", figures(whole));
  print("of it processor", figures(cpu));
  print("solve and models", figures(solving));
  print("event loop, paint", figures(painting));
  return 0;
}

}  // namespace
}  // namespace lamina::studio

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  lamina::studio::applyTheme(application, lamina::studio::Theme::kLight);
  QStringList kinds = application.arguments().mid(1);
  if (kinds.isEmpty()) kinds = {"additive", "noisy", "real", "equal"};
  for (const QString& kind : kinds) {
    if (const int failed = lamina::studio::run(kind)) return failed;
  }
  return 0;
}
