// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/frontier_series.h"

#include <algorithm>
#include <cmath>

#include "widgets/models/text.h"
#include "widgets/plots/color_map.h"

namespace lamina::studio {
namespace {

constexpr double kLeastContrast = 3.0;

// CIE Y of an sRGB colour, from its CIELAB lightness.
double luminance(const QColor& color) {
  const double f = (cielabLightness(color) + 16.0) / 116.0;
  return f > 6.0 / 29.0 ? f * f * f : 3.0 * (6.0 / 29.0) * (6.0 / 29.0) * (f - 4.0 / 29.0);
}

}  // namespace

double contrast(const QColor& a, const QColor& b) {
  const double high = std::max(luminance(a), luminance(b));
  const double low = std::min(luminance(a), luminance(b));
  return (high + 0.05) / (low + 0.05);
}

const std::vector<SeriesStyle>& frontierSeries() {
  static const std::vector<SeriesStyle> series{
      {methods::kExact, false, QColor(0x00, 0x72, 0xb2), {}, QCPScatterStyle::ssCircle, false},
      {methods::kGreedy,
       false,
       QColor(0xd5, 0x5e, 0x00),
       {5, 2},
       QCPScatterStyle::ssTriangle,
       false},
      {methods::k2dExact,
       false,
       QColor(0x44, 0xaa, 0x99),
       {6, 2, 1, 2},
       QCPScatterStyle::ssDiamond,
       false},
      {methods::kUniformFree,
       false,
       QColor(0x66, 0x11, 0x00),
       {2, 2},
       QCPScatterStyle::ssTriangleInverted,
       false},
      {methods::kUniform2d,
       false,
       QColor(0xdd, 0xcc, 0x77),
       {1, 2},
       QCPScatterStyle::ssSquare,
       true},
      {methods::kEdges2,
       false,
       QColor(0x00, 0x3f, 0x5c),
       {8, 2, 2, 2},
       QCPScatterStyle::ssPlus,
       true},
      {methods::kLp, true, QColor(0x80, 0x80, 0x80), {}, QCPScatterStyle::ssNone, false}};
  return series;
}

QString seriesName(const SeriesStyle& style) {
  return style.is_bound ? QCoreApplication::translate("lamina", "LP bound")
                        : methodText(style.method);
}

QColor seriesColor(const SeriesStyle& style, const QPalette& palette) {
  const QColor window = palette.color(QPalette::Window);
  const QColor towards = isDark(palette) ? QColor(Qt::white) : QColor(Qt::black);
  QColor color = style.color;
  for (double share = 0; contrast(color, window) < kLeastContrast && share < 1; share += 0.05) {
    color = blend(style.color, towards, share);
  }
  return color;
}

QPen seriesPen(const SeriesStyle& style, const QPalette& palette) {
  QPen pen(seriesColor(style, palette), style.is_bound ? 1.0 : 1.8);
  if (!style.dashes.empty()) {
    pen.setDashPattern(QList<qreal>(style.dashes.begin(), style.dashes.end()));
  }
  pen.setCapStyle(Qt::FlatCap);
  return pen;
}

QCPScatterStyle seriesScatter(const SeriesStyle& style, const QPalette& palette, double size) {
  return QCPScatterStyle(style.marker, QPen(seriesColor(style, palette), 1.4),
                         QBrush(palette.color(QPalette::Window)), size);
}

QIcon seriesIcon(const SeriesStyle& style, const QPalette& palette, QSize size, double scale) {
  QPixmap pixmap(size * scale);
  pixmap.setDevicePixelRatio(scale);
  pixmap.fill(Qt::transparent);
  QCPPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(seriesPen(style, palette));
  const double middle = size.height() / 2.0;
  painter.drawLine(QLineF(0, middle, size.width(), middle));
  if (style.marker != QCPScatterStyle::ssNone) {
    const QCPScatterStyle scatter = seriesScatter(style, palette, 7);
    scatter.applyTo(&painter, painter.pen());
    scatter.drawShape(&painter, size.width() / 2.0, middle);
  }
  return QIcon(pixmap);
}

}  // namespace lamina::studio
