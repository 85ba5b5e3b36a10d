// SPDX-License-Identifier: GPL-3.0-or-later
// The frontier plot: what is drawn where, that only the ring moves with the slider, hover, click,
// keyboard, colours that can be told apart.
#include <QCheckBox>
#include <QImage>
#include <QMouseEvent>
#include <QTest>
#include <QToolTip>
#include <cmath>

#include "studio_testing.h"
#include "widgets/edit/plan_editor.h"
#include "widgets/plots/color_map.h"
#include "widgets/plots/frontier_view.h"
#include "widgets/window/theme.h"

namespace lamina::studio {

using testing::openAndWait;
using testing::syntheticTable;
using testing::writeTable;

namespace {

void settle() {
  for (int i = 0; i < 6; ++i) QTest::qWait(5);
}

QImage picture(QWidget& widget) {
  return widget.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

int distance(const QColor& a, const QColor& b) {
  return std::max({std::abs(a.red() - b.red()), std::abs(a.green() - b.green()),
                   std::abs(a.blue() - b.blue())});
}

// Whether a pixel of about this colour lies within `reach` of a point.
bool seen(const QImage& image, const QPointF& at, const QColor& color, int reach) {
  const double scale = image.devicePixelRatio();
  const QPoint center = (at * scale).toPoint();
  reach = static_cast<int>(reach * scale);
  for (int y = center.y() - reach; y <= center.y() + reach; ++y) {
    for (int x = center.x() - reach; x <= center.x() + reach; ++x) {
      if (image.rect().contains(x, y) && distance(image.pixelColor(x, y), color) <= 24) return true;
    }
  }
  return false;
}

// The same colour as a reader with red-green blindness sees it (Viénot, Brettel, Mollon 1999).
QColor asDichromat(const QColor& color, bool protan) {
  const auto linear = [](double v) {
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  const auto srgb = [](double v) {
    v = std::clamp(v, 0.0, 1.0);
    return v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
  };
  const double r = linear(color.redF()), g = linear(color.greenF()), b = linear(color.blueF());
  const double red = protan ? 0.11238 * r + 0.88762 * g : 0.29275 * r + 0.70725 * g;
  const double blue = protan ? 0.00401 * r - 0.00401 * g + b : -0.02234 * r + 0.02234 * g + b;
  return QColor::fromRgbF(static_cast<float>(srgb(red)), static_cast<float>(srgb(red)),
                          static_cast<float>(srgb(blue)));
}

}  // namespace

class TestFrontier : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void init();
  void cleanup();
  void curvesLieWhereTheirPointsSay();
  void zeroErrorsHaveALineOfTheirOwn();
  void onlyTheRingMovesWithTheSlider();
  void ringOfAnotherProblemIsNotDrawn();
  void hoverTellsThePlan();
  void clickSetsTheBudget();
  void keyboard();
  void legendHidesCurves();
  void measuredPointsAreFilled();
  void statusTexts();
  void axisLabels();
  void coloursCanBeToldApart();

 private:
  FrontierPlot& plot() const { return *view_->plot(); }
  // Where a point of a curve is on screen.
  QPointF at(int series, std::size_t index) const {
    const Solution& solution = (*plot().points(series))[index].solution;
    return plot().pixelOf(solution.used_bytes, solution.predicted);
  }
  void moveMouse(const QPointF& to) {
    QMouseEvent event(QEvent::MouseMove, to, plot().mapToGlobal(to), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QApplication::sendEvent(&plot(), &event);
  }

  std::unique_ptr<QTemporaryDir> dir_;
  std::unique_ptr<StudioSession> session_;
  std::unique_ptr<PlanEditor> editor_;
  std::unique_ptr<FrontierView> view_;
};

void TestFrontier::initTestCase() { applyTheme(*qApp, Theme::kLight); }

void TestFrontier::init() {
  dir_ = std::make_unique<QTemporaryDir>();
  session_ = std::make_unique<StudioSession>(dir_->path());
  editor_ = std::make_unique<PlanEditor>(session_.get());
  view_ = std::make_unique<FrontierView>(editor_.get());
  view_->resize(900, 360);
  view_->show();
  openAndWait(*session_, writeTable(*dir_, QStringLiteral("t.json"), syntheticTable(10)));
  QTRY_VERIFY_WITH_TIMEOUT(plot().curves() && plot().curves()->complete, 60000);
  settle();
}

void TestFrontier::cleanup() {
  view_.reset();
  editor_.reset();
  session_.reset();
  dir_.reset();
}

void TestFrontier::curvesLieWhereTheirPointsSay() {
  const int count = static_cast<int>(frontierMethods().size());
  for (int series = 0; series < count; ++series) {
    const auto* points = plot().points(series);
    QVERIFY(points && points->size() > 3);
    // Alone, as curves run over each other.
    for (int other = 0; other <= count; ++other) plot().setSeriesVisible(other, other == series);
    settle();
    const QImage image = picture(plot());
    const SeriesStyle& style = frontierSeries()[static_cast<std::size_t>(series)];
    for (std::size_t i = 0; i < points->size(); ++i) {
      // A gap between two dashes is at most 4 pixels wide, and its ends are blurred.
      QVERIFY2(seen(image, at(series, i), seriesColor(style, plot().palette()), 8),
               qPrintable(QStringLiteral("%1 point %2").arg(seriesName(style)).arg(i)));
    }
  }
  // More bytes are further right, more error is further up.
  QVERIFY(plot().pixelOf(2e6, 1).x() > plot().pixelOf(1e6, 1).x());
  QVERIFY(plot().pixelOf(1e6, 2).y() < plot().pixelOf(1e6, 1).y());
}

void TestFrontier::zeroErrorsHaveALineOfTheirOwn() {
  // The full cache loses nothing.
  QCOMPARE(plot().points(0)->back().solution.predicted, 0.0);
  QVERIFY(plot().tickLabels(QStringLiteral("error")).contains(QStringLiteral("0")));
  const QPointF zero = at(0, plot().points(0)->size() - 1);
  double smallest = 1e300;
  for (const FrontierPoint& point : *plot().points(0)) {
    if (point.solution.predicted > 0) smallest = std::min(smallest, point.solution.predicted);
  }
  QVERIFY(zero.y() > plot().pixelOf(1e6, smallest).y() + 8);
  QVERIFY(plot().axisRect()->rect().contains(zero.toPoint()));
}

void TestFrontier::onlyTheRingMovesWithTheSlider() {
  QSignalSpy replots(&plot(), &QCustomPlot::afterReplot);
  QVERIFY(session_->setBudgetText(QStringLiteral("10x")).is_ok());
  settle();
  const QPointF before = plot().ringAt().value();
  const QColor ring = plot().palette().color(QPalette::Highlight);
  QVERIFY(seen(picture(plot()), before + QPointF(6.5, 0), ring, 2));
  QVERIFY(session_->setBudgetText(QStringLiteral("3x")).is_ok());
  settle();
  const QPointF after = plot().ringAt().value();
  QVERIFY(after.x() > before.x() + 20);
  const QImage image = picture(plot());
  QVERIFY(seen(image, after + QPointF(6.5, 0), ring, 2));
  QVERIFY(!seen(image, before + QPointF(0, 6.5), ring, 1));
  QCOMPARE(replots.count(), 0);
}

void TestFrontier::ringOfAnotherProblemIsNotDrawn() {
  auto other = std::make_shared<PlanState>(*session_->plan());
  other->generation += 1;
  plot().setPlan(other);
  QVERIFY(!plot().ringAt());
  QVERIFY(!plot().budgetPixel());
  plot().setPlan(session_->plan());
  QVERIFY(plot().ringAt());
}

void TestFrontier::hoverTellsThePlan() {
  const std::size_t middle = plot().points(0)->size() / 2;
  moveMouse(at(0, middle));
  const CurvePoint hovered = plot().cursor();
  QVERIFY(hovered.isValid());
  const FrontierPoint& point =
      (*plot().points(hovered.series))[static_cast<std::size_t>(hovered.index)];
  const QString text = QToolTip::text();
  for (const QString& part :
       {methodText(point.solution.method),
        budgetText(point.solution.used_bytes, plot().curves()->full_bytes),
        errorText(point.solution.predicted), mixText(point.solution.layers)}) {
    QVERIFY2(text.contains(part), qPrintable(text + QStringLiteral(" lacks ") + part));
  }
  QVERIFY(text.contains(QStringLiteral("predicted")));
  // Between the curves there is nothing to tell.
  moveMouse(QPointF(plot().axisRect()->right() - 3, plot().axisRect()->top() + 3));
  QVERIFY(!plot().cursor().isValid());
}

void TestFrontier::clickSetsTheBudget() {
  const std::size_t middle = plot().points(0)->size() / 3;
  const CurvePoint expected = plot().pointAt(at(0, middle));
  QTest::mouseClick(&plot(), Qt::LeftButton, {}, at(0, middle).toPoint());
  QCOMPARE(session_->budget(),
           (*plot().points(expected.series))[static_cast<std::size_t>(expected.index)].budget);
  QCOMPARE(editor_->history()->count(), 1);
}

void TestFrontier::keyboard() {
  plot().setFocus();
  QTest::keyClick(&plot(), Qt::Key_Right);
  QCOMPARE(plot().cursor(), (CurvePoint{0, 0}));
  for (int i = 0; i < 4; ++i) QTest::keyClick(&plot(), Qt::Key_Right);
  QCOMPARE(plot().cursor(), (CurvePoint{0, 4}));
  QTest::keyClick(&plot(), Qt::Key_Down);
  QCOMPARE(plot().cursor().series, 1);
  QVERIFY(plot().accessibleDescription().startsWith(QStringLiteral("greedy")));
  QTest::keyClick(&plot(), Qt::Key_Up);
  QCOMPARE(plot().cursor().series, 0);
  const std::int64_t budget =
      (*plot().points(0))[static_cast<std::size_t>(plot().cursor().index)].budget;
  QTest::keyClick(&plot(), Qt::Key_Return);
  QCOMPARE(session_->budget(), budget);
  for (int i = 0; i < 300; ++i) QTest::keyClick(&plot(), Qt::Key_Right);
  QCOMPARE(plot().cursor().index, static_cast<int>(plot().points(0)->size()) - 1);
}

void TestFrontier::legendHidesCurves() {
  auto* box = view_->findChild<QCheckBox*>(QStringLiteral("series:2d_uniform"));
  QVERIFY(box && !box->icon().isNull());
  const int series = 4;
  QCOMPARE(frontierSeries()[series].method, methods::kUniform2d);
  const QColor color = seriesColor(frontierSeries()[series], plot().palette());
  const auto count = [&](const QImage& image) {
    int pixels = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) pixels += distance(image.pixelColor(x, y), color) < 8;
    }
    return pixels;
  };
  settle();
  QVERIFY(count(picture(plot())) > 20);
  QTest::keyClick(box, Qt::Key_Space);
  settle();
  QVERIFY(!plot().isSeriesVisible(series));
  QVERIFY(count(picture(plot())) <= 3);  // blends of other colours at the edges of lines
  QCOMPARE(view_->hiddenSeries(), QStringList{QStringLiteral("2d_uniform")});
  // What is hidden is not found either.
  for (std::size_t i = 0; i < plot().points(series)->size(); ++i) {
    QVERIFY(plot().pointAt(at(series, i)).series != series);
  }
  view_->setHiddenSeries({});
  QVERIFY(plot().isSeriesVisible(series));
}

void TestFrontier::measuredPointsAreFilled() {
  const double bytes = session_->plan()->full_bytes / 2;
  const double error = plot().points(0)->front().solution.predicted;
  const QPointF where = plot().pixelOf(bytes, error);
  const QColor ink = plot().palette().color(QPalette::WindowText);
  QVERIFY(!seen(picture(plot()), where, ink, 1));
  plot().setMeasured({{bytes, error, QStringLiteral("KL of 8 texts")}});
  settle();
  QVERIFY(seen(picture(plot()), plot().pixelOf(bytes, error), ink, 1));
  moveMouse(plot().pixelOf(bytes, error));
  QVERIFY(QToolTip::text().contains(QStringLiteral("KL of 8 texts")));
  QVERIFY(QToolTip::text().contains(QStringLiteral("measured")));
  // A predicted point is hollow: the window shines through its middle.
  plot().setMeasured({});
  for (int series = 0; series < static_cast<int>(frontierSeries().size()); ++series) {
    view_->plot()->setSeriesVisible(series, series == 4);
  }
  PlanInputs away = session_->inputs();
  QVERIFY(session_->setBudget(session_->fullBudget()).is_ok());
  settle();
  QCOMPARE(plot().palette().color(QPalette::Window),
           picture(plot()).pixelColor(at(4, 2).toPoint()));
  QVERIFY(session_->apply(away).is_ok());
}

void TestFrontier::statusTexts() {
  PlanInputs next = session_->inputs();
  next.kind = BytesKind::kNominal;
  QVERIFY(session_->apply(next, BudgetRule::kKeepRatio).is_ok());
  // Gone at once: the curves of other bytes are not shown under this plan.
  QVERIFY(!plot().curves());
  QVERIFY2(plot().status().startsWith(QStringLiteral("computing")), qPrintable(plot().status()));
  QVERIFY(!plot().ringAt());
  QTRY_VERIFY_WITH_TIMEOUT(plot().curves() && plot().curves()->complete, 60000);
  QTRY_COMPARE(plot().status(), QString());
  QVERIFY(plot().ringAt());
}

void TestFrontier::axisLabels() {
  QVERIFY(plot().xAxis->label().contains(QStringLiteral("actual bytes")));
  QVERIFY(plot().yAxis->label().contains(QStringLiteral("S")));
  QVERIFY(plot().tickLabels(QStringLiteral("bytes")).size() >= 3);
  QVERIFY(plot().tickLabels(QStringLiteral("error")).size() >= 3);
  const QStringList ratios = plot().tickLabels(QStringLiteral("ratio"));
  QVERIFY(ratios.contains(QStringLiteral("14x")));
  QVERIFY(ratios.contains(QStringLiteral("2x")));
  // None of the labels overlap, even in a small plot.
  for (const QSize& size : {QSize(900, 360), plot().minimumSizeHint() + QSize(160, 20)}) {
    view_->resize(size);
    settle();
    const QFontMetrics label_metrics(plot().xAxis->labelFont());
    QVERIFY(label_metrics.horizontalAdvance(plot().xAxis->label()) <= plot().axisRect()->width());
    QVERIFY(label_metrics.horizontalAdvance(plot().yAxis->label()) <= plot().axisRect()->height());
    const QFontMetrics metrics(plot().xAxis->tickLabelFont());
    for (const auto& [name, axis] : {std::pair(QStringLiteral("bytes"), plot().xAxis),
                                     std::pair(QStringLiteral("ratio"), plot().xAxis2)}) {
      const auto ticks = qSharedPointerDynamicCast<QCPAxisTickerText>(axis->ticker())->ticks();
      double free_from = -1e9;
      for (auto tick = ticks.begin(); tick != ticks.end(); ++tick) {
        const double half = metrics.horizontalAdvance(tick.value()) / 2.0;
        const double center = axis->coordToPixel(tick.key());
        QVERIFY2(center - half >= free_from, qPrintable(name + tick.value()));
        free_from = center + half;
      }
    }
  }
}

void TestFrontier::coloursCanBeToldApart() {
  for (const QPalette& palette : {lightPalette(), darkPalette()}) {
    const QColor window = palette.color(QPalette::Window);
    const auto& series = frontierSeries();
    for (std::size_t i = 0; i < series.size(); ++i) {
      const QColor color = seriesColor(series[i], palette);
      QVERIFY2(contrast(color, window) >= 3.0, qPrintable(seriesName(series[i])));
      for (std::size_t j = 0; j < i; ++j) {
        // Each pair differs in its dash or its marker, whatever the eye makes of the colours.
        QVERIFY(series[i].dashes != series[j].dashes || series[i].marker != series[j].marker);
        if (series[i].is_bound || series[j].is_bound) continue;
        const QColor other = seriesColor(series[j], palette);
        for (const bool protan : {false, true}) {
          QVERIFY2(distance(asDichromat(color, protan), asDichromat(other, protan)) > 18,
                   qPrintable(seriesName(series[i]) + QLatin1Char('/') + seriesName(series[j])));
        }
      }
    }
  }
  QCOMPARE(contrast(Qt::black, Qt::white), 21.0);
}

}  // namespace lamina::studio

QTEST_MAIN(lamina::studio::TestFrontier)
#include "tst_frontier.moc"
