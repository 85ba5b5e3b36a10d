// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/figure_label.h"

#include <QAction>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QPainter>
#include <algorithm>

namespace lamina::studio {

FigureLabel::FigureLabel(QWidget* parent, int lines) : QWidget(parent), lines_(lines) {
  setSizePolicy(lines > 1 ? QSizePolicy::Ignored : QSizePolicy::MinimumExpanding,
                QSizePolicy::Fixed);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  addAction(tr("Copy"), this, [this] { QGuiApplication::clipboard()->setText(text_); });
}

void FigureLabel::setText(const QString& text) {
  if (text == text_) return;
  text_ = text;
  reserve(text);
  announce();
  update();
}

void FigureLabel::setCaption(const QString& caption) {
  caption_ = caption;
  announce();
}

void FigureLabel::announce() {
  setAccessibleName(caption_.isEmpty() ? text_ : caption_ + QStringLiteral(": ") + text_);
}

void FigureLabel::reserve(const QString& text) {
  if (lines_ > 1) return;
  const int width = fontMetrics().horizontalAdvance(text) + 2;
  if (width <= widest_) return;
  widest_ = width;
  updateGeometry();
}

QSize FigureLabel::sizeHint() const {
  return {lines_ > 1 ? 80 : widest_, lines_ * fontMetrics().lineSpacing()};
}

void FigureLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  const int wrap = lines_ > 1 ? Qt::TextWordWrap : Qt::TextSingleLine;
  painter.drawText(rect(), Qt::AlignLeft | Qt::AlignTop | wrap, text_);
}

void FigureLabel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
  widest_ = 0;
  reserve(text_);
}

}  // namespace lamina::studio
