// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/window/theme.h"

#include <QApplication>
#include <QStyleFactory>

#include "widgets/plots/color_map.h"

namespace lamina::studio {
namespace {

struct Tones {
  QColor window, base, alternate, button, text, highlight, highlighted_text, link, tooltip;
};

QPalette makePalette(const Tones& tones) {
  QPalette palette(tones.button, tones.window);
  palette.setColor(QPalette::Window, tones.window);
  palette.setColor(QPalette::WindowText, tones.text);
  palette.setColor(QPalette::Base, tones.base);
  palette.setColor(QPalette::AlternateBase, tones.alternate);
  palette.setColor(QPalette::Text, tones.text);
  palette.setColor(QPalette::Button, tones.button);
  palette.setColor(QPalette::ButtonText, tones.text);
  palette.setColor(QPalette::BrightText, Qt::white);
  palette.setColor(QPalette::Highlight, tones.highlight);
  palette.setColor(QPalette::HighlightedText, tones.highlighted_text);
  palette.setColor(QPalette::Link, tones.link);
  palette.setColor(QPalette::ToolTipBase, tones.tooltip);
  palette.setColor(QPalette::ToolTipText, tones.text);
  palette.setColor(QPalette::PlaceholderText, blend(tones.base, tones.text, 0.55));
  const QColor disabled = blend(tones.window, tones.text, 0.5);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText}) {
    palette.setColor(QPalette::Disabled, role, disabled);
  }
  palette.setColor(QPalette::Disabled, QPalette::Highlight, blend(tones.window, tones.text, 0.25));
  return palette;
}

}  // namespace

std::optional<Theme> themeFromName(const QString& name) {
  if (name == QLatin1String("system")) return Theme::kSystem;
  if (name == QLatin1String("light")) return Theme::kLight;
  if (name == QLatin1String("dark")) return Theme::kDark;
  return std::nullopt;
}

QPalette lightPalette() {
  return makePalette({.window = QColor(0xf4, 0xf5, 0xf6),
                      .base = Qt::white,
                      .alternate = QColor(0xf0, 0xf3, 0xf6),
                      .button = QColor(0xea, 0xec, 0xee),
                      .text = QColor(0x1c, 0x20, 0x24),
                      .highlight = QColor(0x1f, 0x6f, 0xb8),
                      .highlighted_text = Qt::white,
                      .link = QColor(0x1a, 0x5f, 0xa0),
                      .tooltip = Qt::white});
}

QPalette darkPalette() {
  return makePalette({.window = QColor(0x23, 0x26, 0x2a),
                      .base = QColor(0x1a, 0x1c, 0x1f),
                      .alternate = QColor(0x22, 0x25, 0x29),
                      .button = QColor(0x32, 0x36, 0x3b),
                      .text = QColor(0xe8, 0xea, 0xed),
                      .highlight = QColor(0x4a, 0x9d, 0xe0),
                      .highlighted_text = QColor(0x10, 0x14, 0x18),
                      .link = QColor(0x7a, 0xbd, 0xf5),
                      .tooltip = QColor(0x2c, 0x30, 0x35)});
}

void applyTheme(QApplication& application, Theme theme) {
  if (theme == Theme::kSystem) return;
  application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  application.setPalette(theme == Theme::kDark ? darkPalette() : lightPalette());
}

}  // namespace lamina::studio
