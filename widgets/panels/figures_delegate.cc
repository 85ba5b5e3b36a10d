// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/figures_delegate.h"

#include <QApplication>
#include <QPainter>
#include <QStyle>

namespace lamina::studio {

QFont FiguresDelegate::fontOf(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return option.font;
}

void FiguresDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
  if (index.data(Qt::CheckStateRole).isValid()) {
    QStyledItemDelegate::paint(painter, option, index);
    return;
  }
  const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
  const bool plain = !option.state.testFlag(QStyle::State_Selected) &&
                     !option.state.testFlag(QStyle::State_MouseOver);
  if (!plain) style->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, option.widget);
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &option, option.widget) + 1;
  const QRect inside = option.rect.adjusted(margin, 0, -margin, 0);
  const QString text = index.data(Qt::DisplayRole).toString();
  const QFont font = fontOf(option, index);
  const QFontMetrics metrics(font, painter->device());
  const auto alignment = index.data(Qt::TextAlignmentRole).value<Qt::Alignment>();
  const int left = alignment.testFlag(Qt::AlignRight)
                       ? inside.right() + 1 - metrics.horizontalAdvance(text)
                       : inside.left();
  const int base = inside.top() + (inside.height() - metrics.height()) / 2 + metrics.ascent();
  const QPalette::ColorGroup group =
      option.state.testFlag(QStyle::State_Active) ? QPalette::Active : QPalette::Inactive;
  const QPalette::ColorRole role =
      option.state.testFlag(QStyle::State_Selected) ? QPalette::HighlightedText : QPalette::Text;
  painter->setFont(font);
  painter->setPen(option.palette.color(group, role));
  painter->drawText(left, base, text);
  if (option.state.testFlag(QStyle::State_HasFocus)) {
    QStyleOptionFocusRect focus;
    focus.QStyleOption::operator=(option);
    focus.backgroundColor = option.palette.color(group, QPalette::Highlight);
    style->drawPrimitive(QStyle::PE_FrameFocusRect, &focus, painter, option.widget);
  }
}

}  // namespace lamina::studio
