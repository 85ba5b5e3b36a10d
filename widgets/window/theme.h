// SPDX-License-Identifier: GPL-3.0-or-later
// A light and a dark palette that do not depend on the desktop, for pictures and for --theme.
#pragma once

#include <QPalette>
#include <QString>
#include <optional>

class QApplication;

namespace lamina::studio {

enum class Theme { kSystem, kLight, kDark };
std::optional<Theme> themeFromName(const QString& name);  // "system", "light", "dark"

QPalette lightPalette();
QPalette darkPalette();
// kSystem changes nothing; the others also set the Fusion style.
void applyTheme(QApplication& application, Theme theme);

}  // namespace lamina::studio
