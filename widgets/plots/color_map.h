// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of the heatmap. Both sequential maps are perceptual (lightness grows along the map)
// and safe for colour-blind readers; an exact zero and a cell that was not measured have colours of
// their own outside the maps.
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>
#include <array>
#include <span>

namespace lamina::studio {

enum class ColorMap : int { kCividis = 0, kViridis = 1 };
inline constexpr std::array kColorMaps{ColorMap::kCividis, ColorMap::kViridis};

QString colorMapName(ColorMap map);              // "cividis": also the value in the settings
ColorMap colorMapFromName(const QString& name);  // cividis for anything unknown

// Evenly spaced colours from the smallest to the largest value, blended linearly in sRGB.
// cividis: Nunez, Anderton, Renslow 2018; viridis: Smith, van der Walt 2015.
std::span<const QRgb> colorStops(ColorMap map);
// position 0..1, clamped.
QColor colorAt(ColorMap map, double position);

QColor zeroColor();
QColor missingColor(const QPalette& palette);
QColor hatchColor(const QPalette& palette);

bool isDark(const QPalette& palette);
// Text for errors: readable on the palette's window colour.
QColor errorTextColor(const QPalette& palette);
// For secondary text.
QColor mutedTextColor(const QPalette& palette);
QColor blend(const QColor& from, const QColor& to, double share);

// CIELAB lightness of an sRGB colour (D65), 0..100.
double cielabLightness(const QColor& color);

}  // namespace lamina::studio
