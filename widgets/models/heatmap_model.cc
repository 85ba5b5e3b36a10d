// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/heatmap_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/models/text.h"

namespace lamina::studio {

HeatmapModel::HeatmapModel(QObject* parent) : QAbstractTableModel(parent) {}

void HeatmapModel::setRows(const ConfigGrid& grid, std::vector<std::vector<double>> rows) {
  beginResetModel();
  grid_ = grid;
  rows_ = std::move(rows);
  costs_.reset();
  chosen_.clear();
  endResetModel();
}

void HeatmapModel::setRow(int layer, std::vector<double> values) {
  rows_[static_cast<std::size_t>(layer)] = std::move(values);
  emit dataChanged(index(layer, 0), index(layer, configs() - 1));
}

void HeatmapModel::setCosts(std::optional<CostTable> costs) {
  costs_ = std::move(costs);
  if (layers() > 0)
    emit dataChanged(index(0, 0), index(layers() - 1, configs() - 1),
                     {kBytesRole, Qt::ToolTipRole});
}

void HeatmapModel::setChosen(std::vector<int> configs_of_layers) {
  if (chosen_ == configs_of_layers) return;
  chosen_ = std::move(configs_of_layers);
  if (layers() > 0)
    emit dataChanged(index(0, 0), index(layers() - 1, configs() - 1), {kChosenRole});
}

double HeatmapModel::value(int layer, int config) const {
  const std::vector<double>& row = rows_[static_cast<std::size_t>(layer)];
  const auto column = static_cast<std::size_t>(config);
  return column < row.size() ? row[column] : std::numeric_limits<double>::quiet_NaN();
}

CellState HeatmapModel::state(int layer, int config) const {
  const double v = value(layer, config);
  if (!std::isfinite(v)) return CellState::kMissing;
  return v > 0 ? CellState::kPositive : CellState::kZero;
}

int HeatmapModel::chosen(int layer) const {
  const auto row = static_cast<std::size_t>(layer);
  return row < chosen_.size() ? chosen_[row] : -1;
}

LogRange HeatmapModel::logRange() const {
  LogRange range;
  for (const std::vector<double>& row : rows_) {
    for (const double v : row) {
      if (!std::isfinite(v) || v <= 0) continue;
      range.lower = std::min(range.lower, std::log10(v));
      range.upper = std::max(range.upper, std::log10(v));
    }
  }
  return range;
}

QString HeatmapModel::cellName(int layer, int config) const {
  return tr("Layer %1 · %2").arg(layer).arg(recipeText(grid_.at(config)));
}

QStringList HeatmapModel::cellParts(int layer, int config) const {
  QStringList parts;
  switch (state(layer, config)) {
    case CellState::kMissing:
      parts << tr("not measured yet");
      break;
    case CellState::kZero:
      parts << tr("S = 0 exactly");
      break;
    case CellState::kPositive:
      parts << tr("S = %1").arg(QString::number(value(layer, config), 'g', 6));
      break;
  }
  if (costs_) {
    parts << QStringLiteral("%1 (%2)").arg(mbText(costs_->to_bytes(costs_->at(layer, config))),
                                           bytesKindText(costs_->kind));
  }
  if (chosen(layer) == config) parts << tr("chosen by the plan");
  return parts;
}

QString HeatmapModel::cellText(int layer, int config) const {
  const QString separator = QStringLiteral(" · ");
  return cellName(layer, config) + separator + cellParts(layer, config).join(separator);
}

QString HeatmapModel::cellToolTip(int layer, int config) const {
  const LayerConfig recipe = grid_.at(config);
  QStringList lines{tr("Layer %1").arg(layer), tr("keep %1 of the tokens, K %2 bit, V %3 bit")
                                                   .arg(keepText(recipe.keep))
                                                   .arg(recipe.k_bits)
                                                   .arg(recipe.v_bits)};
  return (lines + cellParts(layer, config)).join(QLatin1Char('\n'));
}

int HeatmapModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : layers();
}

int HeatmapModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : configs();
}

QVariant HeatmapModel::data(const QModelIndex& at, int role) const {
  if (!checkIndex(at, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const int layer = at.row();
  const int config = at.column();
  const CellState cell = state(layer, config);
  switch (role) {
    case Qt::DisplayRole:
      return cell == CellState::kMissing ? QStringLiteral("–") : errorText(value(layer, config));
    case Qt::ToolTipRole:
      return cellToolTip(layer, config);
    case Qt::AccessibleTextRole:
      return cellText(layer, config);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    case kStateRole:
      return static_cast<int>(cell);
    case kValueRole:
      return value(layer, config);
    case kLogRole:
      return cell == CellState::kPositive ? QVariant(std::log10(value(layer, config))) : QVariant();
    case kChosenRole:
      return chosen(layer) == config;
    case kBytesRole:
      return costs_ ? QVariant(costs_->to_bytes(costs_->at(layer, config))) : QVariant();
    default:
      return {};
  }
}

QVariant HeatmapModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole || section < 0) return {};
  if (orientation == Qt::Vertical) return section < layers() ? QVariant(section) : QVariant();
  return section < configs() ? QVariant(recipeText(grid_.at(section))) : QVariant();
}

}  // namespace lamina::studio
