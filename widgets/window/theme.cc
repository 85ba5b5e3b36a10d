// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/window/theme.h"

#include <QApplication>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>

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

namespace {

// Fusion outlines check boxes in a shade of the window, which a dark window swallows.
class CheckBoxStyle : public QProxyStyle {
 public:
  CheckBoxStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    if (element != PE_IndicatorCheckBox && element != PE_IndicatorItemViewItemCheck) {
      return QProxyStyle::drawPrimitive(element, option, painter, widget);
    }
    const bool enabled = option->state.testFlag(State_Enabled);
    const QPalette::ColorGroup group = enabled ? QPalette::Active : QPalette::Disabled;
    const QColor text = option->palette.color(group, QPalette::Text);
    const QColor base = option->palette.color(group, QPalette::Base);
    const QRectF box = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(blend(base, text, 0.62), 1.0));
    painter->setBrush(base);
    painter->drawRoundedRect(box, 2, 2);
    painter->setPen(QPen(text, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const auto at = [&box](double x, double y) {
      return QPointF(box.left() + x * box.width(), box.top() + y * box.height());
    };
    if (option->state.testFlag(State_On)) {
      painter->drawPolyline(QPolygonF{at(0.24, 0.54), at(0.43, 0.74), at(0.78, 0.28)});
    } else if (option->state.testFlag(State_NoChange)) {
      painter->drawLine(at(0.25, 0.5), at(0.75, 0.5));
    }
    painter->restore();
  }
};

}  // namespace

void applyTheme(QApplication& application, Theme theme) {
  if (theme == Theme::kSystem) return;
  application.setStyle(new CheckBoxStyle);
  application.setPalette(theme == Theme::kDark ? darkPalette() : lightPalette());
}

}  // namespace lamina::studio
