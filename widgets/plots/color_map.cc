// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/color_map.h"

#include <algorithm>
#include <cmath>

namespace lamina::studio {
namespace {

constexpr std::array<QRgb, 10> kCividisStops{0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d,
                                             0xff707173, 0xff8a8678, 0xffa59c74, 0xffc3b369,
                                             0xffe1cc55, 0xfffee838};
constexpr std::array<QRgb, 10> kViridisStops{0xff440154, 0xff482878, 0xff3e4989, 0xff31688e,
                                             0xff26828e, 0xff1f9e89, 0xff35b779, 0xff6ece58,
                                             0xffb5de2b, 0xfffde725};

double linearChannel(double srgb) {
  return srgb <= 0.04045 ? srgb / 12.92 : std::pow((srgb + 0.055) / 1.055, 2.4);
}

}  // namespace

QString colorMapName(ColorMap map) {
  return map == ColorMap::kViridis ? QStringLiteral("viridis") : QStringLiteral("cividis");
}

ColorMap colorMapFromName(const QString& name) {
  return name == QLatin1String("viridis") ? ColorMap::kViridis : ColorMap::kCividis;
}

std::span<const QRgb> colorStops(ColorMap map) {
  return map == ColorMap::kViridis ? std::span<const QRgb>(kViridisStops)
                                   : std::span<const QRgb>(kCividisStops);
}

QColor blend(const QColor& from, const QColor& to, double share) {
  const auto channel = [share](int a, int b) {
    return static_cast<int>(std::lround(a + share * (b - a)));
  };
  return {channel(from.red(), to.red()), channel(from.green(), to.green()),
          channel(from.blue(), to.blue())};
}

QColor colorAt(ColorMap map, double position) {
  const std::span<const QRgb> stops = colorStops(map);
  const double at = std::clamp(position, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto lower = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  return blend(QColor(stops[lower]), QColor(stops[lower + 1]), at - static_cast<double>(lower));
}

QColor zeroColor() { return QColor(0xc9, 0xf2, 0xe6); }

bool isDark(const QPalette& palette) {
  return cielabLightness(palette.color(QPalette::Window)) <
         cielabLightness(palette.color(QPalette::WindowText));
}

QColor missingColor(const QPalette& palette) {
  // Dark windows are darker than every grey of the maps, light ones lighter.
  const double share = isDark(palette) ? 0.12 : 0.25;
  return blend(palette.color(QPalette::Window), palette.color(QPalette::WindowText), share);
}

QColor hatchColor(const QPalette& palette) {
  return blend(palette.color(QPalette::Window), palette.color(QPalette::WindowText), 0.5);
}

QColor errorTextColor(const QPalette& palette) {
  return isDark(palette) ? QColor(0xff, 0x9d, 0x94) : QColor(0xa8, 0x10, 0x20);
}

QColor mutedTextColor(const QPalette& palette) {
  return blend(palette.color(QPalette::Window), palette.color(QPalette::WindowText), 0.72);
}

double cielabLightness(const QColor& color) {
  const double y = 0.2126 * linearChannel(color.redF()) + 0.7152 * linearChannel(color.greenF()) +
                   0.0722 * linearChannel(color.blueF());
  const double f = y > 216.0 / 24389.0 ? std::cbrt(y) : (24389.0 / 27.0 * y + 16.0) / 116.0;
  return 116.0 * f - 16.0;
}

}  // namespace lamina::studio
