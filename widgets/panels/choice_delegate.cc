// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/choice_delegate.h"

#include <QComboBox>

#include "widgets/models/plan_table_model.h"

namespace lamina::studio {

QWidget* ChoiceDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&,
                                      const QModelIndex& index) const {
  const auto* model = qobject_cast<const PlanTableModel*>(index.model());
  const QStringList choices = model ? model->choices(index.column()) : QStringList();
  if (choices.isEmpty()) return nullptr;
  auto* editor = new QComboBox(parent);
  editor->addItems(choices);
  editor->setAccessibleName(tr("Pin layer %1 at another value").arg(index.row()));
  auto* self = const_cast<ChoiceDelegate*>(this);
  connect(editor, &QComboBox::activated, self, [self, editor] {
    emit self->commitData(editor);
    emit self->closeEditor(editor);
  });
  return editor;
}

void ChoiceDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  auto* box = static_cast<QComboBox*>(editor);
  // A plan that arrives while the list is open must not move what the user points at.
  if (box->property("filled").toBool()) return;
  box->setProperty("filled", true);
  box->setCurrentIndex(index.data(Qt::EditRole).toInt());
}

void ChoiceDelegate::setModelData(QWidget* editor, QAbstractItemModel* model,
                                  const QModelIndex& index) const {
  const int choice = static_cast<QComboBox*>(editor)->currentIndex();
  if (choice == index.data(Qt::EditRole).toInt()) return;
  model->setData(index, choice, Qt::EditRole);
}

}  // namespace lamina::studio
