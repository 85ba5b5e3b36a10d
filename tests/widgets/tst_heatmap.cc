// SPDX-License-Identifier: GPL-3.0-or-later
// The heatmap as it is painted: colours of known cells, special states, outlines, labels, keyboard.
#include <QHelpEvent>
#include <QImage>
#include <QTest>
#include <QToolTip>
#include <cmath>

#include "studio_testing.h"
#include "widgets/models/heatmap_model.h"
#include "widgets/plots/heatmap_view.h"
#include "widgets/window/theme.h"

namespace lamina::studio {

using testing::syntheticTable;

namespace {

void settle() {
  for (int i = 0; i < 6; ++i) QTest::qWait(5);
}

QImage picture(QWidget& widget) {
  return widget.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

// A point of the cell that no outline, separator or digit covers.
QColor sample(const QImage& image, const HeatmapPlot& plot, int layer, int config) {
  const QRectF cell = plot.cellRect(layer, config);
  const double scale = image.devicePixelRatio();
  const QPointF at(cell.left() + 0.25 * cell.width(), cell.top() + 0.75 * cell.height());
  return image.pixelColor((at * scale).toPoint());
}

int distance(const QColor& a, const QColor& b) {
  return std::max({std::abs(a.red() - b.red()), std::abs(a.green() - b.green()),
                   std::abs(a.blue() - b.blue())});
}

// Cells of known logs: 1e-4, 1e-3, 1e-2, 0.1, 1, 0; keep axis of three, K axis of two.
const ConfigGrid kSmallGrid{{0.25, 0.5, 1.0}, {4, 16}, {16}};
const std::vector<double> kDecades{1.0, 1e-1, 1e-2, 1e-3, 1e-4, 0.0};

}  // namespace

class TestHeatmap : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void coloursOfKnownValues_data();
  void coloursOfKnownValues();
  void zeroMissingMinMaxDiffer_data();
  void zeroMissingMinMaxDiffer();
  void chosenCellsAreOutlined();
  void fillsInRowByRow();
  void labels();
  void labelsNeverOverlap();
  void oneLayer();
  void manyLayers_data();
  void manyLayers();
  void emptyAndDegenerate();
  void keyboardMovesTheCursor();
  void mouseAndToolTip();
  void paletteChangeRecoloursThePlot();
  void accessibleTexts();
};

void TestHeatmap::initTestCase() { applyTheme(*qApp, Theme::kLight); }

void TestHeatmap::coloursOfKnownValues_data() {
  QTest::addColumn<int>("map");
  QTest::addColumn<bool>("dark");
  for (const ColorMap map : kColorMaps) {
    for (const bool dark : {false, true}) {
      QTest::addRow("%s %s", qPrintable(colorMapName(map)), dark ? "dark" : "light")
          << static_cast<int>(map) << dark;
    }
  }
}

void TestHeatmap::coloursOfKnownValues() {
  QFETCH(int, map);
  QFETCH(bool, dark);
  HeatmapModel model;
  model.setRows(kSmallGrid, {kDecades, {}, kDecades});
  HeatmapPlot plot(&model);
  plot.setPalette(dark ? darkPalette() : lightPalette());
  plot.setColorMap(static_cast<ColorMap>(map));
  plot.resize(700, 400);
  plot.show();
  settle();
  const QImage image = picture(plot);
  for (int config = 0; config < 5; ++config) {
    const QColor expected = colorAt(static_cast<ColorMap>(map), 1.0 - config / 4.0);
    for (const int layer : {0, 2}) {
      const QColor seen = sample(image, plot, layer, config);
      QVERIFY2(distance(seen, expected) <= 2,
               qPrintable(QStringLiteral("layer %1 config %2: %3 not %4")
                              .arg(layer)
                              .arg(config)
                              .arg(seen.name(), expected.name())));
    }
  }
  QVERIFY(distance(sample(image, plot, 0, 5), zeroColor()) <= 1);
}

void TestHeatmap::zeroMissingMinMaxDiffer_data() { coloursOfKnownValues_data(); }

void TestHeatmap::zeroMissingMinMaxDiffer() {
  QFETCH(int, map);
  QFETCH(bool, dark);
  HeatmapModel model;
  model.setRows(kSmallGrid, {kDecades, {}});
  HeatmapPlot plot(&model);
  plot.setPalette(dark ? darkPalette() : lightPalette());
  plot.setColorMap(static_cast<ColorMap>(map));
  plot.resize(700, 400);
  plot.show();
  settle();
  const QImage image = picture(plot);
  // A missing cell is a hatch of two colours, both of which nothing else has.
  const QRect missing = plot.cellRect(1, 2).toAlignedRect().adjusted(6, 6, -6, -6);
  bool ground = false, hatch = false;
  for (int y = missing.top(); y < missing.bottom(); ++y) {
    for (int x = missing.left(); x < missing.right(); ++x) {
      const QColor seen = image.pixelColor(x, y);
      ground |= distance(seen, missingColor(plot.palette())) <= 1;
      hatch |= distance(seen, hatchColor(plot.palette())) <= 1;
    }
  }
  QVERIFY(ground);
  QVERIFY(hatch);
  const std::vector<QColor> colors{sample(image, plot, 0, 0), sample(image, plot, 0, 4),
                                   sample(image, plot, 0, 5), missingColor(plot.palette())};
  for (std::size_t i = 0; i < colors.size(); ++i) {
    for (std::size_t j = i + 1; j < colors.size(); ++j)
      QVERIFY(distance(colors[i], colors[j]) > 25);
  }
}

void TestHeatmap::chosenCellsAreOutlined() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(6);
  model.setRows(table.grid, table.values);
  HeatmapPlot plot(&model);
  plot.resize(1100, 500);
  plot.show();
  settle();
  const QImage before = picture(plot);
  const std::vector<int> chosen{0, 7, 20, 33, 46, 53};
  model.setChosen(chosen);
  settle();
  const QImage after = picture(plot);
  for (int layer = 0; layer < 6; ++layer) {
    for (int config = 0; config < 54; ++config) {
      const QRect cell = plot.cellRect(layer, config).toAlignedRect().adjusted(1, 1, -1, -1);
      bool white = false, black = false;
      for (int x = cell.left(); x <= cell.right(); ++x) {
        for (int y = cell.top(); y <= cell.bottom(); ++y) {
          const QColor seen = after.pixelColor(x, y);
          if (seen == before.pixelColor(x, y)) continue;
          white |= seen == QColor(Qt::white);
          black |= seen == QColor(Qt::black);
        }
      }
      const bool expected = chosen[static_cast<std::size_t>(layer)] == config;
      QVERIFY2((white && black) == expected,
               qPrintable(QStringLiteral("layer %1 config %2").arg(layer).arg(config)));
    }
  }
}

void TestHeatmap::fillsInRowByRow() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(3);
  model.setRows(table.grid, std::vector<std::vector<double>>(3));
  HeatmapPlot plot(&model);
  plot.resize(1100, 400);
  plot.show();
  settle();
  const QRgb empty_row = picture(plot).pixel(plot.cellRect(0, 5).center().toPoint());
  model.setRow(0, table.values[0]);
  settle();
  const QImage image = picture(plot);
  QVERIFY(image.pixel(plot.cellRect(0, 5).center().toPoint()) != empty_row);
  // The one measured row spans the whole colour range.
  const auto row = table.values[0];
  const int largest = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
  QVERIFY(distance(sample(image, plot, 0, largest), colorAt(ColorMap::kCividis, 1)) <= 2);
}

void TestHeatmap::labels() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(30);
  model.setRows(table.grid, table.values);
  HeatmapPlot plot(&model);
  plot.resize(1280, 640);
  plot.show();
  settle();
  QCOMPARE(plot.tickLabels(QStringLiteral("keep")),
           (QStringList{QStringLiteral("0.1"), QStringLiteral("0.25"), QStringLiteral("0.5"),
                        QStringLiteral("0.75"), QStringLiteral("0.9"), QStringLiteral("1.0")}));
  QCOMPARE(plot.tickLabels(QStringLiteral("k_bits")).size(), 18);
  QCOMPARE(plot.tickLabels(QStringLiteral("k_bits")).mid(0, 3),
           (QStringList{QStringLiteral("K4"), QStringLiteral("K8"), QStringLiteral("K16")}));
  QCOMPARE(plot.tickLabels(QStringLiteral("v_bits")).size(), 54);
  QCOMPARE(plot.tickLabels(QStringLiteral("v_bits")).mid(0, 4),
           (QStringList{QStringLiteral("4"), QStringLiteral("8"), QStringLiteral("16"),
                        QStringLiteral("4")}));
  QCOMPARE(plot.tickLabels(QStringLiteral("layer")).front(), QStringLiteral("0"));
  // Layer 0 is at the top; labels of the colour bar are original units, not exponents of ten.
  QVERIFY(plot.cellRect(0, 0).top() < plot.cellRect(29, 0).top());
  const QStringList colors = plot.tickLabels(QStringLiteral("color"));
  QVERIFY(colors.contains(QStringLiteral("0.1")));
  for (const QString& label : colors) QVERIFY2(label.toDouble() > 0, qPrintable(label));
}

void TestHeatmap::labelsNeverOverlap() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(64);
  model.setRows(table.grid, table.values);
  HeatmapPlot plot(&model);
  plot.show();
  for (const QSize size : {QSize(420, 240), QSize(700, 500), QSize(1100, 700), QSize(1900, 1100)}) {
    plot.resize(size);
    settle();
    const QFontMetrics metrics(plot.xAxis->tickLabelFont());
    const double cell = plot.cellRect(0, 0).width();
    const QStringList v_bits = plot.tickLabels(QStringLiteral("v_bits"));
    if (!v_bits.isEmpty()) {
      const double needed = plot.xAxis->tickLabelRotation() == 0
                                ? metrics.horizontalAdvance(QStringLiteral("16"))
                                : metrics.ascent() * 0.8;
      QVERIFY2(cell >= needed, qPrintable(QString::number(cell)));
    }
    const QStringList k_bits = plot.tickLabels(QStringLiteral("k_bits"));
    for (const QString& label : k_bits) QVERIFY(3 * cell > metrics.horizontalAdvance(label));
    const QStringList layers = plot.tickLabels(QStringLiteral("layer"));
    const double row = plot.cellRect(0, 0).height();
    const int step = layers.size() > 1 ? layers.at(1).toInt() - layers.at(0).toInt() : 1;
    QVERIFY(step * row >= metrics.height());
    const int keep_width = metrics.horizontalAdvance(QStringLiteral("0.25"));
    QVERIFY(9 * cell > keep_width);
  }
}

void TestHeatmap::oneLayer() {
  HeatmapModel model;
  model.setRows(kSmallGrid, {kDecades});
  HeatmapPlot plot(&model);
  plot.resize(600, 300);
  plot.show();
  settle();
  const QRectF cell = plot.cellRect(0, 0);
  QVERIFY(cell.height() > 100);
  const QImage image = picture(plot);
  for (const double y : {0.05, 0.5, 0.95}) {
    const QPoint at(static_cast<int>(cell.left() + 0.4 * cell.width()),
                    static_cast<int>(cell.top() + y * cell.height()));
    QVERIFY(distance(image.pixelColor(at), colorAt(ColorMap::kCividis, 1)) <= 2);
  }
  QCOMPARE(plot.cellAt(cell.center().toPoint()), (Cell{0, 0}));
}

void TestHeatmap::manyLayers_data() {
  QTest::addColumn<int>("layers");
  for (const int layers : {2, 80, 128, 300}) QTest::addRow("%d", layers) << layers;
}

void TestHeatmap::manyLayers() {
  QFETCH(int, layers);
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(layers);
  model.setRows(table.grid, table.values);
  model.setChosen(std::vector<int>(static_cast<std::size_t>(layers), 4));
  HeatmapPlot plot(&model);
  plot.resize(900, 560);
  plot.show();
  settle();
  const QImage image = picture(plot);
  const QCPRange range = plot.colorRange();
  for (const int layer : {0, layers / 2, layers - 1}) {
    const double share = (std::log10(model.value(layer, 20)) - range.lower) / range.size();
    const QPoint at = plot.cellRect(layer, 20).center().toPoint();
    QVERIFY(distance(image.pixelColor(at), colorAt(ColorMap::kCividis, share)) <= 3);
    QCOMPARE(plot.cellAt(at), (Cell{layer, 20}));
  }
}

void TestHeatmap::emptyAndDegenerate() {
  HeatmapModel model;
  HeatmapPlot plot(&model);
  plot.resize(500, 300);
  plot.show();
  settle();
  QVERIFY(!plot.cellAt({250, 150}).isValid());
  QTest::keyClick(&plot, Qt::Key_Right);
  QVERIFY(!plot.cursor().isValid());
  // One recipe, one value: the colour range still has a width.
  model.setRows(ConfigGrid{{1.0}, {16}, {16}}, {{0.5}});
  settle();
  QVERIFY(plot.colorRange().size() > 0.5);
  model.setRow(0, {0.0});
  settle();
  QVERIFY(distance(sample(picture(plot), plot, 0, 0), zeroColor()) <= 1);
  // Denormal and huge values together.
  model.setRows(kSmallGrid, {{5e-324, 1e300, 0, 1, 1, 1}});
  settle();
  QVERIFY(!picture(plot).isNull());
}

void TestHeatmap::keyboardMovesTheCursor() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(12);
  model.setRows(table.grid, table.values);
  HeatmapPlot plot(&model);
  plot.resize(900, 400);
  plot.show();
  QSignalSpy spy(&plot, &HeatmapPlot::cursorChanged);
  plot.setCursor({0, 0});
  QTest::keyClick(&plot, Qt::Key_Right);
  QTest::keyClick(&plot, Qt::Key_Down);
  QCOMPARE(plot.cursor(), (Cell{1, 1}));
  QTest::keyClick(&plot, Qt::Key_Right, Qt::ControlModifier);  // one keep block
  QCOMPARE(plot.cursor(), (Cell{1, 10}));
  QTest::keyClick(&plot, Qt::Key_PageDown);
  QCOMPARE(plot.cursor(), (Cell{11, 10}));
  QTest::keyClick(&plot, Qt::Key_Down);
  QCOMPARE(plot.cursor(), (Cell{11, 10}));
  QTest::keyClick(&plot, Qt::Key_End);
  QCOMPARE(plot.cursor(), (Cell{11, 53}));
  QTest::keyClick(&plot, Qt::Key_Home, Qt::ControlModifier);
  QCOMPARE(plot.cursor(), (Cell{0, 0}));
  QTest::keyClick(&plot, Qt::Key_Left);
  QTest::keyClick(&plot, Qt::Key_Up);
  QCOMPARE(plot.cursor(), (Cell{0, 0}));
  QCOMPARE(spy.count(), 7);
}

void TestHeatmap::mouseAndToolTip() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(4);
  model.setRows(table.grid, table.values);
  HeatmapPlot plot(&model);
  plot.resize(900, 400);
  plot.show();
  settle();
  const QPoint at = plot.cellRect(2, 17).center().toPoint();
  QTest::mouseClick(&plot, Qt::LeftButton, {}, at);
  QCOMPARE(plot.cursor(), (Cell{2, 17}));
  QHelpEvent help(QEvent::ToolTip, at, plot.mapToGlobal(at));
  QApplication::sendEvent(&plot, &help);
  QCOMPARE(QToolTip::text(), model.cellToolTip(2, 17));
  QVERIFY(QToolTip::text().contains(QString::number(table.values[2][17], 'g', 6)));
  QToolTip::hideText();
}

void TestHeatmap::paletteChangeRecoloursThePlot() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(4);
  model.setRows(table.grid, table.values);
  HeatmapPlot plot(&model);
  plot.resize(800, 400);
  plot.show();
  settle();
  QCOMPARE(picture(plot).pixelColor(1, 1), lightPalette().color(QPalette::Window));
  plot.setPalette(darkPalette());
  settle();
  QCOMPARE(picture(plot).pixelColor(1, 1), darkPalette().color(QPalette::Window));
  QCOMPARE(plot.xAxis->tickLabelColor(), darkPalette().color(QPalette::WindowText));
  QCOMPARE(plot.yAxis->labelColor(), darkPalette().color(QPalette::WindowText));
}

void TestHeatmap::accessibleTexts() {
  HeatmapModel model;
  const SensitivityTable table = syntheticTable(4);
  model.setRows(table.grid, table.values);
  HeatmapView view(&model);
  view.resize(900, 500);
  view.show();
  QVERIFY(!view.plot()->accessibleName().isEmpty());
  QVERIFY(view.plot()->accessibleDescription().contains(QStringLiteral("arrow keys")));
  QCOMPARE(view.plot()->focusPolicy(), Qt::StrongFocus);
  view.plot()->setCursor({3, 20});
  QCOMPARE(view.plot()->accessibleDescription(), model.cellText(3, 20));
  QCOMPARE(view.findChild<QLabel*>(QStringLiteral("heatmapReadout"))->text(),
           model.cellText(3, 20));
  QCOMPARE(testing::namelessControls(&view), QStringList());
}

}  // namespace lamina::studio

QTEST_MAIN(lamina::studio::TestHeatmap)
#include "tst_heatmap.moc"
