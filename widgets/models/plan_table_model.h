// SPDX-License-Identifier: GPL-3.0-or-later
// The plan as a table: one row a layer. Every value is of the one PlanState that was set last. Its
// edits (the pin's check box, another keep, K or V) are asked for by signals; what becomes of them
// arrives as the next plan.
#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <memory>

#include "widgets/models/plan_state.h"

namespace lamina::studio {

class PlanTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kLayer, kPin, kKeep, kKBits, kVBits, kBytes, kError, kColumnCount };

  explicit PlanTableModel(QObject* parent = nullptr);

  // Null empties the table. A plan of the same number of layers keeps selection and scroll
  // position.
  void setPlan(std::shared_ptr<const PlanState> plan);
  // What the keep, K and V columns can be set to.
  void setGrid(const ConfigGrid& grid) { grid_ = grid; }
  const ConfigGrid& grid() const { return grid_; }
  // The texts of the grid's values for one of those columns, ascending.
  QStringList choices(int column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  // kPin: a check state; keep, K and V: the index of a choice. False for anything else; true means
  // that the edit was asked for.
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 signals:
  void pinRequested(int layer, const lamina::LayerConfig& config);
  void unpinRequested(int layer);

 private:
  QVariant rowData(int row, int column, int role) const;

  ConfigGrid grid_;
  std::shared_ptr<const PlanState> plan_;
};

}  // namespace lamina::studio
