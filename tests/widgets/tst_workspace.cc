// SPDX-License-Identifier: GPL-3.0-or-later
// The main window as people use it, on tables: budget, plan, summary, errors, export, settings.
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QDir>
#include <QDropEvent>
#include <QListWidget>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QStatusBar>
#include <QTableView>
#include <QTest>
#include <atomic>
#include <semaphore>
#include <thread>

#include "engine/base/units.h"
#include "studio_testing.h"
#include "widgets/models/heatmap_model.h"
#include "widgets/models/plan_table_model.h"
#include "widgets/pages/start_page.h"
#include "widgets/pages/workspace_page.h"
#include "widgets/panels/budget_slider.h"
#include "widgets/panels/model_bar.h"
#include "widgets/panels/progress_strip.h"
#include "widgets/plots/heatmap_view.h"
#include "widgets/window/error_dialog.h"
#include "widgets/window/main_window.h"
#include "widgets/window/screenshot.h"
#include "widgets/window/theme.h"

namespace lamina::studio {

using testing::cutOffTexts;
using testing::namelessControls;
using testing::openAndWait;
using testing::seedTable;
using testing::syntheticTable;
using testing::writeTable;

class TestWorkspace : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void init();
  void cleanup();
  void startsOnTheStartPage();
  void opensATable();
  void sliderMovesEverythingTogether();
  void sliderByKeyboard();
  void typedBudgetAndNonsense();
  void bytesKindIsNamed();
  void cursorAndPlanTableFollowEachOther();
  void droppedBadFileShowsTheEnginesWords();
  void droppedTableOpens();
  void exportWritesAPlan();
  void errorTextCanBeCopied();
  void closeWhileAJobRuns();
  void progressStripShowsAndCancels();
  void settingsAreRemembered();
  void recentFiles();
  void sizesAndPalettes_data();
  void sizesAndPalettes();
  void layersOneAndMany();
  void controlsHaveNames();
  void screenshotIsWritten();

 private:
  QString label(const char* name) const {
    return window_->findChild<QWidget*>(QLatin1String(name))->property("text").toString();
  }
  BudgetSlider* slider() const { return window_->findChild<BudgetSlider*>(); }
  void openTable(const SensitivityTable& table) {
    openAndWait(*window_->session(), writeTable(*dir_, QStringLiteral("table.json"), table));
  }
  void drop(const QString& path);
  ErrorDialog* errorDialog() const { return window_->findChild<ErrorDialog*>(); }
  WindowOptions options() const {
    return {dir_->filePath(QStringLiteral("studio.ini")),
            dir_->filePath(QStringLiteral("projects"))};
  }

  std::unique_ptr<QTemporaryDir> dir_;
  std::unique_ptr<MainWindow> window_;
};

void TestWorkspace::initTestCase() {
  QStandardPaths::setTestModeEnabled(true);
  applyTheme(*qApp, Theme::kLight);
}

void TestWorkspace::init() {
  dir_ = std::make_unique<QTemporaryDir>();
  window_ = std::make_unique<MainWindow>(options());
  window_->resize(1280, 800);
  window_->show();
}

void TestWorkspace::cleanup() {
  window_.reset();
  dir_.reset();
}

void TestWorkspace::drop(const QString& path) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter({100, 100}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &enter);
  QVERIFY(enter.isAccepted());
  QSignalSpy finished(&window_->session()->jobs(), &JobRunner::finished);
  QDropEvent event({100, 100}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &event);
  QTRY_VERIFY(finished.count() > 0);
}

void TestWorkspace::startsOnTheStartPage() {
  QVERIFY(!window_->showsWorkspace());
  QCOMPARE(window_->windowTitle(), QStringLiteral("Lamina Studio"));
  QCOMPARE(cutOffTexts(window_->startPage()), QStringList());
}

void TestWorkspace::opensATable() {
  openTable(syntheticTable(8));
  QVERIFY(window_->showsWorkspace());
  QVERIFY2(window_->windowTitle().startsWith(QStringLiteral("Synthetic — table.json")),
           qPrintable(window_->windowTitle()));
  QCOMPARE(label("modelName"), QStringLiteral("Synthetic"));
  QCOMPARE(window_->workspace()->heatmapModel()->layers(), 8);
  QCOMPARE(window_->workspace()->planModel()->rowCount(), 8);
  // A table alone cannot be calibrated, and says why.
  auto* calibrate = window_->findChild<QPushButton*>(QStringLiteral("calibrate"));
  QVERIFY(!calibrate->isEnabled());
  QVERIFY(calibrate->toolTip().contains(QStringLiteral("open the model")));
}

void TestWorkspace::sliderMovesEverythingTogether() {
  const SensitivityTable table = seedTable();
  openTable(table);
  QVERIFY(window_->session()->setBytesKind(BytesKind::kNominal).is_ok());
  QAbstractItemModelTester tester(window_->workspace()->planModel(),
                                  QAbstractItemModelTester::FailureReportingMode::QtTest);
  SolveOptions nominal;
  nominal.bytes = BytesKind::kNominal;
  const Problem direct = *Problem::make(table, nominal);
  QSignalSpy solved(window_->session(), &StudioSession::planChanged);
  const std::vector<int> positions{0, 1, 333, 1000, 1500, 1999, 2000};
  slider()->setValue(500);
  solved.clear();
  for (const int position : positions) {
    slider()->setValue(position);
    const std::int64_t budget = slider()->bytes();
    const Solution expected = *direct.solve(methods::kExact, budget);
    for (int layer = 0; layer < table.layers(); ++layer) {
      const int config = expected.configs[static_cast<std::size_t>(layer)];
      const LayerConfig recipe = table.grid.at(config);
      QCOMPARE(window_->workspace()->heatmapModel()->chosen(layer), config);
      const auto cell = [&](int column) {
        return window_->workspace()->planModel()->index(layer, column).data().toString();
      };
      QCOMPARE(cell(PlanTableModel::kKeep), keepText(recipe.keep));
      QCOMPARE(cell(PlanTableModel::kKBits), QString::number(recipe.k_bits));
      QCOMPARE(cell(PlanTableModel::kVBits), QString::number(recipe.v_bits));
      QCOMPARE(
          cell(PlanTableModel::kError),
          errorText(
              table.values[static_cast<std::size_t>(layer)][static_cast<std::size_t>(config)]));
    }
    QVERIFY(label("summaryPredicted").contains(errorText(expected.predicted)));
    QVERIFY(label("summaryUsed").startsWith(budgetText(expected.used_bytes, direct.full_bytes())));
    QCOMPARE(label("budgetReadout"), budgetText(static_cast<double>(budget), direct.full_bytes()));
  }
  QCOMPARE(solved.count(), static_cast<int>(positions.size()));
  // The ends are the cheapest allocation and the whole cache, where nothing is lost.
  QCOMPARE(slider()->bytes(), direct.full_bytes());
  QVERIFY(label("summaryPredicted").startsWith(QStringLiteral("0 (predicted")));
  slider()->setValue(0);
  QCOMPARE(window_->session()->budget(), direct.smallest_bytes());
}

void TestWorkspace::sliderByKeyboard() {
  openTable(syntheticTable(8));
  QSignalSpy solved(window_->session(), &StudioSession::planChanged);
  const std::int64_t before = window_->session()->budget();
  QTest::keyClick(slider(), Qt::Key_Right);
  QCOMPARE(solved.count(), 1);
  const std::int64_t step = window_->session()->budget();
  QVERIFY(step > before);
  QTest::keyClick(slider(), Qt::Key_PageUp);
  QVERIFY(window_->session()->budget() > step);
  QTest::keyClick(slider(), Qt::Key_End);
  QCOMPARE(window_->session()->budget(), window_->session()->fullBudget());
  QTest::keyClick(slider(), Qt::Key_Home);
  QCOMPARE(window_->session()->budget(), window_->session()->smallestBudget());
}

void TestWorkspace::typedBudgetAndNonsense() {
  openTable(syntheticTable(8));
  auto* entry = window_->findChild<QLineEdit*>(QStringLiteral("budgetEntry"));
  const auto type = [&](const QString& text) {
    entry->clear();
    QTest::keyClicks(entry, text);
    QTest::keyClick(entry, Qt::Key_Return);
  };
  type(QStringLiteral("5x"));
  const std::int64_t five = *parse_budget("5x", window_->session()->fullBudget());
  QCOMPARE(window_->session()->budget(), five);
  QCOMPARE(slider()->bytes(), five);
  QVERIFY(label("budgetReadout").endsWith(QStringLiteral("5.0x")));
  const QString hint = label("budgetHint");
  type(QStringLiteral("much"));
  QCOMPARE(window_->session()->budget(), five);
  QCOMPARE(label("budgetHint"),
           toQString(parse_budget("much", window_->session()->fullBudget()).status().message()));
  QVERIFY(!errorDialog());
  type(QStringLiteral("100000x"));
  QVERIFY(label("budgetHint") != hint);
  QCOMPARE(window_->session()->budget(), five);
  QTest::keyClick(entry, Qt::Key_Backspace);  // typing on takes the error away
  QCOMPARE(label("budgetHint"), hint);
}

void TestWorkspace::bytesKindIsNamed() {
  openTable(syntheticTable(8));
  auto* kind = window_->findChild<QComboBox*>(QStringLiteral("bytesKind"));
  QVERIFY(label("budgetKind").contains(QStringLiteral("actual")));
  QVERIFY(label("summaryFull").contains(QStringLiteral("actual")));
  QTest::keyClick(kind, Qt::Key_Down);
  emit kind->activated(kind->currentIndex());
  QCOMPARE(window_->session()->bytesKind(), BytesKind::kNominal);
  QVERIFY(label("budgetKind").contains(QStringLiteral("nominal")));
  QVERIFY(label("summaryFull").contains(QStringLiteral("nominal")));
  QVERIFY(label("summaryPeak").contains(QStringLiteral("actual")));
}

void TestWorkspace::cursorAndPlanTableFollowEachOther() {
  openTable(syntheticTable(8));
  auto* table = window_->findChild<QTableView*>(QStringLiteral("planTable"));
  HeatmapPlot* plot = window_->workspace()->heatmap()->plot();
  plot->setCursor({5, 12});
  QCOMPARE(table->currentIndex().row(), 5);
  QCOMPARE(plot->cursor(), (Cell{5, 12}));
  table->selectRow(2);
  QCOMPARE(plot->cursor(), (Cell{2, window_->session()->plan()->solution.configs[2]}));
}

void TestWorkspace::droppedBadFileShowsTheEnginesWords() {
  openTable(syntheticTable(8));
  const auto plan = window_->session()->plan();
  const QString title = window_->windowTitle();
  const QString path = dir_->filePath(QStringLiteral("broken.json"));
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write("{\"format\": \"lamina-table\",");
  file.close();
  drop(path);
  ErrorDialog* dialog = errorDialog();
  QVERIFY(dialog);
  QCOMPARE(dialog->message(), toQString(read_table(toPath(path)).status().message()));
  QVERIFY(dialog->message().contains(path));
  QCOMPARE(window_->session()->plan(), plan);
  QCOMPARE(window_->windowTitle(), title);
  QCOMPARE(window_->workspace()->planModel()->rowCount(), 8);
  dialog->close();
}

void TestWorkspace::droppedTableOpens() {
  drop(writeTable(*dir_, QStringLiteral("dropped.json"), syntheticTable(3)));
  QVERIFY(window_->showsWorkspace());
  QCOMPARE(window_->workspace()->planModel()->rowCount(), 3);
}

void TestWorkspace::exportWritesAPlan() {
  openTable(syntheticTable(8));
  const QString path = dir_->filePath(QStringLiteral("mine.plan.json"));
  window_->exportPlanTo(path);
  QVERIFY(window_->statusBar()->currentMessage().contains(path));
  auto plan = read_plan(toPath(path));
  QVERIFY2(plan.has_value(), plan.status().message().c_str());
  QCOMPARE(plan_to_json(*plan), plan_to_json(*window_->session()->exportablePlan()));
  const QString nowhere = dir_->filePath(QStringLiteral("missing/mine.plan.json"));
  window_->exportPlanTo(nowhere);
  QVERIFY(errorDialog());
  QVERIFY(errorDialog()->message().contains(nowhere));
  errorDialog()->close();
}

void TestWorkspace::errorTextCanBeCopied() {
  const QString message = QStringLiteral("WHAT (WHERE): WHAT TO DO");
  ErrorDialog* dialog = ErrorDialog::show(QStringLiteral("Title"), message, window_.get());
  auto* text = dialog->findChild<QLabel*>(QStringLiteral("errorText"));
  QVERIFY(text->textInteractionFlags().testFlag(Qt::TextSelectableByMouse));
  QCOMPARE(text->text(), message);
  QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("copyError")), Qt::LeftButton);
  QCOMPARE(QGuiApplication::clipboard()->text(), message);
  dialog->close();
}

void TestWorkspace::closeWhileAJobRuns() {
  std::atomic<bool> over = false;
  bool reported = false;
  std::binary_semaphore runs(0);
  window_->session()->jobs().start<int>(
      QStringLiteral("long"),
      [&](const JobHandle& job) -> Result<int> {
        runs.release();
        while (!job.context().stop_requested()) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        over = true;
        return Status::cancelled();
      },
      [&](const Result<int>&) { reported = true; });
  runs.acquire();
  window_->close();
  QVERIFY(over);
  QVERIFY(!window_->isVisible());
  window_.reset();
  QTest::qWait(10);
  QVERIFY(!reported);
}

void TestWorkspace::progressStripShowsAndCancels() {
  openTable(syntheticTable(3));
  auto* strip = window_->findChild<ProgressStrip*>();
  QVERIFY(!strip->isVisible());
  bool cancelled = false;
  window_->session()->jobs().start<int>(
      QStringLiteral("Measuring"),
      [&](const JobHandle& job) -> Result<int> {
        job.context().on_progress({"calibrating", 12, 30, "layers", 1.5, 8.25, 2.2});
        while (!job.context().stop_requested()) std::this_thread::yield();
        return Status::cancelled();
      },
      [&](const Result<int>& result) {
        cancelled = result.status().kind() == ErrorKind::kCancelled;
      });
  QTRY_VERIFY(strip->isVisible());
  QCOMPARE(label("jobTitle"), QStringLiteral("Measuring"));
  QTRY_COMPARE(label("jobDetail"), QStringLiteral("12 of 30 layers · 8.25 layers/s · 0:03 left"));
  auto* cancel = window_->findChild<QPushButton*>(QStringLiteral("jobCancel"));
  QTest::mouseClick(cancel, Qt::LeftButton);
  QVERIFY(!cancel->isEnabled());
  QCOMPARE(label("jobDetail"), QStringLiteral("Stopping…"));
  QTRY_VERIFY(cancelled);
  QTRY_VERIFY(!strip->isVisible());
}

void TestWorkspace::settingsAreRemembered() {
  openTable(syntheticTable(3));
  window_->workspace()->heatmap()->plot()->setColorMap(ColorMap::kViridis);
  window_->workspace()->modelBar()->setScorer(QStringLiteral("keydiff"));
  window_->resize(1111, 777);
  QTest::qWait(10);
  const QByteArray layout = window_->workspace()->saveLayout();
  window_->close();
  MainWindow again(options());
  again.show();
  QCOMPARE(again.workspace()->heatmap()->plot()->colorMap(), ColorMap::kViridis);
  QCOMPARE(again.workspace()->modelBar()->scorer(), QStringLiteral("keydiff"));
  QCOMPARE(again.size(), QSize(1111, 777));
  QCOMPARE(again.workspace()->saveLayout(), layout);
  QVERIFY(!again.workspace()->restoreLayout("nonsense"));
  again.restoreDefaultLayout();
  QCOMPARE(again.size(), QSize(1280, 800));
}

void TestWorkspace::recentFiles() {
  const QString path = writeTable(*dir_, QStringLiteral("first.json"), syntheticTable(2));
  openAndWait(*window_->session(), path);
  openTable(syntheticTable(2));
  openAndWait(*window_->session(), path);
  auto* list = window_->startPage()->findChild<QListWidget*>(QStringLiteral("recentList"));
  QCOMPARE(list->count(), 2);
  QCOMPARE(list->item(0)->data(Qt::UserRole).toString(), path);
  QSignalSpy opened(window_->session(), &StudioSession::opened);
  emit list->itemActivated(list->item(1));
  QTRY_COMPARE(opened.count(), 1);
}

void TestWorkspace::sizesAndPalettes_data() {
  QTest::addColumn<QSize>("size");
  QTest::addColumn<bool>("dark");
  for (const bool dark : {false, true}) {
    QTest::addRow("1280x800 %d", dark) << QSize(1280, 800) << dark;
    QTest::addRow("minimum %d", dark) << QSize(1, 1) << dark;
    QTest::addRow("large %d", dark) << QSize(2400, 1300) << dark;
  }
}

void TestWorkspace::sizesAndPalettes() {
  QFETCH(QSize, size);
  QFETCH(bool, dark);
  applyTheme(*qApp, dark ? Theme::kDark : Theme::kLight);
  openTable(seedTable());
  window_->resize(size.expandedTo(window_->minimumSizeHint()));
  QTest::qWait(60);
  QVERIFY2(window_->width() <= std::max(1280, size.width()),
           qPrintable(QString::number(window_->width())));
  QVERIFY2(window_->height() <= std::max(800, size.height()),
           qPrintable(QString::number(window_->height())));
  if (size.width() >= 1280) QCOMPARE(cutOffTexts(window_.get()), QStringList());
  const QImage image = window_->grab().toImage();
  QCOMPARE(image.pixelColor(3, image.height() - 3),
           (dark ? darkPalette() : lightPalette()).color(QPalette::Window));
  applyTheme(*qApp, Theme::kLight);
}

void TestWorkspace::layersOneAndMany() {
  for (const int layers : {1, 128}) {
    openTable(syntheticTable(layers));
    QTest::qWait(30);
    QCOMPARE(window_->workspace()->planModel()->rowCount(), layers);
    slider()->setValue(1200);
    QCOMPARE(window_->workspace()->heatmapModel()->chosen(layers - 1),
             window_->session()->plan()->solution.configs.back());
    QVERIFY(!window_->grab().isNull());
  }
}

void TestWorkspace::controlsHaveNames() {
  openTable(syntheticTable(3));
  QCOMPARE(namelessControls(window_.get()), QStringList());
  QVERIFY(
      !window_->findChild<QTableView*>(QStringLiteral("planTable"))->accessibleName().isEmpty());
  QVERIFY(!window_->workspace()->heatmap()->plot()->accessibleName().isEmpty());
  QVERIFY(!slider()->accessibleDescription().isEmpty());
}

void TestWorkspace::screenshotIsWritten() {
  ScreenshotOptions shot;
  shot.input = writeTable(*dir_, QStringLiteral("seed.json"), seedTable());
  shot.output = dir_->filePath(QStringLiteral("shot.png"));
  shot.budget = QStringLiteral("14x");
  const Status status = renderScreenshot(shot);
  QVERIFY2(status.is_ok(), status.message().c_str());
  const QImage image(shot.output);
  QCOMPARE(image.size(), QSize(1280, 800));
  // Not an empty window: the heatmap alone has more colours than a blank page.
  QSet<QRgb> colors;
  for (int x = 0; x < image.width(); x += 3) {
    for (int y = 0; y < image.height(); y += 3) colors.insert(image.pixel(x, y));
  }
  QVERIFY2(colors.size() > 150, qPrintable(QString::number(colors.size())));
  shot.input = dir_->filePath(QStringLiteral("nothing.gguf"));
  QVERIFY(!renderScreenshot(shot).is_ok());
  QVERIFY(parseSize(QStringLiteral("1280x800")).has_value());
  for (const char* bad : {"1280", "x", "10x10", "99999x800", "1280x800x2", "-1280x800"}) {
    QVERIFY2(!parseSize(QLatin1String(bad)).has_value(), bad);
  }
}

}  // namespace lamina::studio

QTEST_MAIN(lamina::studio::TestWorkspace)
#include "tst_workspace.moc"
