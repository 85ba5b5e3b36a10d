// SPDX-License-Identifier: GPL-3.0-or-later
// Every method at the same budget as a table: predicted error, share of the budget used, distance
// from the bound. One row a method, and one for the bound itself.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <optional>

#include "widgets/models/plan_state.h"

namespace lamina::studio {

class ComparisonModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kMethod, kPredicted, kUsed, kAboveBound, kColumnCount };
  enum Role { kShownRole = Qt::UserRole };  // bool: this row's plan is the one on screen

  explicit ComparisonModel(QObject* parent = nullptr);
  void setPlan(std::shared_ptr<const PlanState> plan);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  bool isBound(int row) const { return row == rowCount() - 1; }
  QString text(int row, int column) const;
  QString toolTip(int row) const;

  std::shared_ptr<const PlanState> plan_;
};

// "3.2 %": how far `error` lies above the bound; "0 %" at it, "∞" above a bound of zero.
QString gapText(double error, double bound);

}  // namespace lamina::studio
