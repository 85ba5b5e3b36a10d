// SPDX-License-Identifier: GPL-3.0-or-later
// The plan as a table: one row a layer. Every value is of the one PlanState that was set last.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "widgets/models/studio_session.h"

namespace lamina::studio {

class PlanTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kLayer, kKeep, kKBits, kVBits, kBytes, kError, kColumnCount };

  explicit PlanTableModel(QObject* parent = nullptr);

  // Null empties the table. A plan of the same number of layers keeps selection and scroll
  // position.
  void setPlan(std::shared_ptr<const PlanState> plan);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const PlanState> plan_;
};

}  // namespace lamina::studio
