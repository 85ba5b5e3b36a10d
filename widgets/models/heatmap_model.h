// SPDX-License-Identifier: GPL-3.0-or-later
// The sensitivity table as an item model: one row a layer, one column a recipe. The heatmap paints
// it, a table view or a screen reader can read it. Colours are decided from kStateRole and
// kLogRole, never from raw values, so that an exact zero and a cell that was not measured stay
// apart from small values.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <limits>
#include <optional>
#include <vector>

#include "engine/table/bytes.h"
#include "engine/table/grid.h"

namespace lamina::studio {

enum class CellState { kMissing, kZero, kPositive };

// log10 of the positive values of a table; empty (lower > upper) where there is none.
struct LogRange {
  double lower = std::numeric_limits<double>::infinity();
  double upper = -std::numeric_limits<double>::infinity();
  bool isEmpty() const { return lower > upper; }
};

class HeatmapModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role {
    kStateRole = Qt::UserRole,  // int of CellState
    kValueRole,                 // double
    kLogRole,                   // double, log10 of a positive value
    kChosenRole,                // bool: the plan's recipe of this layer
    kBytesRole                  // double; invalid where costs are unknown
  };

  explicit HeatmapModel(QObject* parent = nullptr);

  // rows: (layers); an empty row has not been measured. Forgets costs and choices.
  void setRows(const ConfigGrid& grid, std::vector<std::vector<double>> rows);
  void setRow(int layer, std::vector<double> values);
  void setCosts(std::optional<CostTable> costs);
  // (layers) or empty.
  void setChosen(std::vector<int> configs);
  void clear() { setRows({}, {}); }

  int layers() const { return static_cast<int>(rows_.size()); }
  int configs() const { return layers() == 0 ? 0 : grid_.size(); }
  const ConfigGrid& grid() const { return grid_; }
  CellState state(int layer, int config) const;
  double value(int layer, int config) const;  // NaN where missing
  int chosen(int layer) const;                // -1 where there is no plan
  LogRange logRange() const;
  // "Layer 3 · keep 0.25 · K4 · V8": names a cell.
  QString cellName(int layer, int config) const;
  // One line with the exact value and bytes, for tooltips, the status line and screen readers.
  QString cellText(int layer, int config) const;
  // The same in lines, for tooltips.
  QString cellToolTip(int layer, int config) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QStringList cellParts(int layer, int config) const;

  ConfigGrid grid_;
  std::vector<std::vector<double>> rows_;
  std::optional<CostTable> costs_;
  std::vector<int> chosen_;
};

}  // namespace lamina::studio
