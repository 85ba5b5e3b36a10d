// SPDX-License-Identifier: GPL-3.0-or-later
// Edits a cell of the plan table with a list of the grid's values.
#pragma once

#include "widgets/panels/figures_delegate.h"

namespace lamina::studio {

class ChoiceDelegate : public FiguresDelegate {
  Q_OBJECT
 public:
  using FiguresDelegate::FiguresDelegate;

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model,
                    const QModelIndex& index) const override;
};

}  // namespace lamina::studio
