// SPDX-License-Identifier: GPL-3.0-or-later
// Colours and tick labels of the heatmap, without a plot.
#include <QTest>
#include <algorithm>
#include <cmath>

#include "widgets/plots/axis_labels.h"
#include "widgets/plots/color_map.h"
#include "widgets/window/theme.h"

namespace lamina::studio {
namespace {

// The least distance of two of the colours, in RGB units.
double leastDistance(const std::vector<QColor>& colors) {
  double least = 1e9;
  for (std::size_t i = 0; i < colors.size(); ++i) {
    for (std::size_t j = i + 1; j < colors.size(); ++j) {
      const double r = colors[i].red() - colors[j].red();
      const double g = colors[i].green() - colors[j].green();
      const double b = colors[i].blue() - colors[j].blue();
      least = std::min(least, std::sqrt(r * r + g * g + b * b));
    }
  }
  return least;
}

double luminance(const QColor& color) {
  const double l = cielabLightness(color);
  const double f = (l + 16) / 116;
  return l > 8 ? f * f * f : l / 903.3;
}

double contrast(const QColor& a, const QColor& b) {
  const double high = std::max(luminance(a), luminance(b));
  const double low = std::min(luminance(a), luminance(b));
  return (high + 0.05) / (low + 0.05);
}

// Machado, Oliveira, Fernandes 2009: a colour as people without one kind of cone see it,
// severity 1.
QColor simulate(const QColor& color, const std::array<double, 9>& m) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const auto srgb = [](double c) {
    const double v = std::clamp(c, 0.0, 1.0);
    return v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
  };
  const double r = linear(color.redF()), g = linear(color.greenF()), b = linear(color.blueF());
  return QColor::fromRgbF(static_cast<float>(srgb(m[0] * r + m[1] * g + m[2] * b)),
                          static_cast<float>(srgb(m[3] * r + m[4] * g + m[5] * b)),
                          static_cast<float>(srgb(m[6] * r + m[7] * g + m[8] * b)));
}

const std::array<double, 9> kProtanopia{0.152286, 1.052583,  -0.204868, 0.114503, 0.786281,
                                        0.099216, -0.003882, -0.048116, 1.051998};
const std::array<double, 9> kDeuteranopia{0.367322, 0.860646,  -0.227968, 0.280085, 0.672501,
                                          0.047413, -0.011820, 0.042940,  0.968881};
const std::array<double, 9> kTritanopia{1.255528, -0.076749, -0.178779, -0.078411, 0.930809,
                                        0.147602, 0.004733,  0.691367,  0.303900};

}  // namespace

class TestColorMap : public QObject {
  Q_OBJECT
 private slots:
  void lightnessGrows();
  void orderSurvivesColourBlindness();
  void endsAndMiddle();
  void specialColoursAreApart();
  void textIsReadable();
  void names();
  void indexTicksDoNotOverlap();
  void logTickLabels();
  void logTicksNeverTooMany();
};

void TestColorMap::lightnessGrows() {
  QCOMPARE(cielabLightness(Qt::black), 0.0);
  QVERIFY(std::abs(cielabLightness(Qt::white) - 100) < 1e-3);
  QVERIFY(std::abs(cielabLightness(QColor(119, 119, 119)) - 50.03) <
          0.05);  // CIELAB of sRGB grey 119
  for (const ColorMap map : kColorMaps) {
    double last = -1;
    for (int i = 0; i < 256; ++i) {
      const double lightness = cielabLightness(colorAt(map, i / 255.0));
      QVERIFY2(lightness >= last - 0.05,
               qPrintable(QStringLiteral("%1 at %2").arg(colorMapName(map)).arg(i)));
      last = lightness;
    }
    QVERIFY(cielabLightness(colorAt(map, 1)) - cielabLightness(colorAt(map, 0)) > 70);
    const auto stops = colorStops(map);
    for (std::size_t i = 1; i < stops.size(); ++i) {
      QVERIFY(cielabLightness(QColor(stops[i])) - cielabLightness(QColor(stops[i - 1])) > 4);
    }
  }
}

void TestColorMap::orderSurvivesColourBlindness() {
  for (const ColorMap map : kColorMaps) {
    for (const auto& matrix : {kProtanopia, kDeuteranopia, kTritanopia}) {
      const auto stops = colorStops(map);
      for (std::size_t i = 1; i < stops.size(); ++i) {
        const double before = cielabLightness(simulate(QColor(stops[i - 1]), matrix));
        const double after = cielabLightness(simulate(QColor(stops[i]), matrix));
        QVERIFY2(after - before > 2.5, qPrintable(QStringLiteral("%1 stop %2: %3 then %4")
                                                      .arg(colorMapName(map))
                                                      .arg(i)
                                                      .arg(before)
                                                      .arg(after)));
      }
    }
  }
}

void TestColorMap::endsAndMiddle() {
  QCOMPARE(colorAt(ColorMap::kCividis, 0), QColor(0x00, 0x22, 0x4e));
  QCOMPARE(colorAt(ColorMap::kCividis, -3), QColor(0x00, 0x22, 0x4e));
  QCOMPARE(colorAt(ColorMap::kViridis, 2), QColor(0xfd, 0xe7, 0x25));
  // Half way between the fifth and the sixth stop.
  QCOMPARE(colorAt(ColorMap::kViridis, 0.5), QColor(0x23, 0x90, 0x8c));
}

void TestColorMap::specialColoursAreApart() {
  for (const QPalette& palette : {lightPalette(), darkPalette()}) {
    for (const ColorMap map : kColorMaps) {
      const double least =
          leastDistance({zeroColor(), missingColor(palette), colorAt(map, 0), colorAt(map, 1)});
      QVERIFY2(least > 40, qPrintable(QStringLiteral("%1: %2").arg(colorMapName(map)).arg(least)));
      for (int i = 0; i < 256; ++i) {
        QVERIFY(leastDistance({zeroColor(), colorAt(map, i / 255.0)}) > 40);
        QVERIFY2(leastDistance({missingColor(palette), colorAt(map, i / 255.0)}) > 25,
                 qPrintable(QStringLiteral("%1 at %2").arg(colorMapName(map)).arg(i)));
      }
    }
  }
}

void TestColorMap::textIsReadable() {
  for (const QPalette& palette : {lightPalette(), darkPalette()}) {
    const QColor window = palette.color(QPalette::Window);
    QVERIFY(contrast(palette.color(QPalette::WindowText), window) > 7);
    QVERIFY(contrast(mutedTextColor(palette), window) > 4.5);
    QVERIFY(contrast(errorTextColor(palette), window) > 4.5);
    QVERIFY(contrast(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight)) >
            4.5);
    QVERIFY(contrast(hatchColor(palette), missingColor(palette)) > 1.6);
  }
  QVERIFY(isDark(darkPalette()));
  QVERIFY(!isDark(lightPalette()));
}

void TestColorMap::names() {
  for (const ColorMap map : kColorMaps) QCOMPARE(colorMapFromName(colorMapName(map)), map);
  QCOMPARE(colorMapFromName(QStringLiteral("jet")), ColorMap::kCividis);
}

void TestColorMap::indexTicksDoNotOverlap() {
  QVERIFY(indexTicks(0, 100, 10).empty());
  QCOMPARE(indexTicks(1, 500, 14).size(), std::size_t{1});
  QCOMPARE(indexTicks(30, 600, 14).size(), std::size_t{30});
  for (const int count : {1, 7, 30, 80, 128, 1000, 4096}) {
    for (const double pixels : {40.0, 200.0, 480.0, 1500.0}) {
      const std::vector<Tick> ticks = indexTicks(count, pixels, 14);
      QCOMPARE(ticks.front().label, QStringLiteral("0"));
      for (std::size_t i = 1; i < ticks.size(); ++i) {
        QVERIFY((ticks[i].position - ticks[i - 1].position) * pixels / count >= 14);
        QCOMPARE(ticks[i].label, QString::number(ticks[i].position));
      }
    }
  }
}

void TestColorMap::logTickLabels() {
  const auto labels = [](double lower, double upper, int max) {
    QStringList list;
    for (const Tick& tick : logTicks(lower, upper, max)) list << tick.label;
    return list;
  };
  QCOMPARE(labels(-2, 0, 10),
           (QStringList{QStringLiteral("0.01"), QStringLiteral("0.02"), QStringLiteral("0.05"),
                        QStringLiteral("0.1"), QStringLiteral("0.2"), QStringLiteral("0.5"),
                        QStringLiteral("1")}));
  QCOMPARE(labels(-5, 0, 6),
           (QStringList{QStringLiteral("1e-5"), QStringLiteral("1e-4"), QStringLiteral("0.001"),
                        QStringLiteral("0.01"), QStringLiteral("0.1"), QStringLiteral("1")}));
  // A range within one step shows its ends.
  QCOMPARE(labels(std::log10(0.21), std::log10(0.22), 8),
           (QStringList{QStringLiteral("0.21"), QStringLiteral("0.22")}));
  QCOMPARE(tickNumber(0), QStringLiteral("0"));
  QCOMPARE(tickNumber(2e-7), QStringLiteral("2e-7"));
  QCOMPARE(tickNumber(1e6), QStringLiteral("1e6"));
}

void TestColorMap::logTicksNeverTooMany() {
  for (const double span : {0.001, 0.3, 1.0, 3.0, 12.0, 300.0}) {
    for (const int max : {2, 5, 12}) {
      const std::vector<Tick> ticks = logTicks(-span, 0.1, max);
      QVERIFY(ticks.size() >= 2);
      QVERIFY2(static_cast<int>(ticks.size()) <= max,
               qPrintable(QStringLiteral("%1 %2: %3").arg(span).arg(max).arg(ticks.size())));
      for (const Tick& tick : ticks)
        QVERIFY(tick.position >= -span - 1e-6 && tick.position <= 0.1 + 1e-6);
    }
  }
}

}  // namespace lamina::studio

QTEST_GUILESS_MAIN(lamina::studio::TestColorMap)
#include "tst_color_map.moc"
