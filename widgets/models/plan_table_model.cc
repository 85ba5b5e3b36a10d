// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/plan_table_model.h"

#include <utility>

#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

// The columns that a recipe is made of, which can be edited.
bool isAxis(int column) {
  return column == PlanTableModel::kKeep || column == PlanTableModel::kKBits ||
         column == PlanTableModel::kVBits;
}

}  // namespace

PlanTableModel::PlanTableModel(QObject* parent) : QAbstractTableModel(parent) {}

void PlanTableModel::setPlan(std::shared_ptr<const PlanState> plan) {
  const std::size_t before = plan_ ? plan_->rows.size() : 0;
  const std::size_t after = plan ? plan->rows.size() : 0;
  if (before != after) {
    beginResetModel();
    plan_ = std::move(plan);
    endResetModel();
    return;
  }
  const bool headings_changed =
      after > 0 && (plan_->kind != plan->kind || plan_->objective != plan->objective);
  plan_ = std::move(plan);
  if (after == 0) return;
  emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
  if (headings_changed) emit headerDataChanged(Qt::Horizontal, kBytes, kError);
}

int PlanTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !plan_ ? 0 : static_cast<int>(plan_->rows.size());
}

int PlanTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumnCount);
}

QStringList PlanTableModel::choices(int column) const {
  QStringList texts;
  if (column == kKeep) {
    for (const double keep : grid_.keep) texts << keepText(keep);
  } else if (isAxis(column)) {
    for (const int bits : column == kKBits ? grid_.k_bits : grid_.v_bits) {
      texts << QString::number(bits);
    }
  }
  return texts;
}

Qt::ItemFlags PlanTableModel::flags(const QModelIndex& at) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(at);
  if (!at.isValid()) return flags;
  if (at.column() == kPin) flags |= Qt::ItemIsUserCheckable;
  if (isAxis(at.column())) flags |= Qt::ItemIsEditable;
  return flags;
}

bool PlanTableModel::setData(const QModelIndex& at, const QVariant& value, int role) {
  if (!checkIndex(at, CheckIndexOption::IndexIsValid) || !plan_) return false;
  LayerConfig config = plan_->rows[static_cast<std::size_t>(at.row())].config;
  if (at.column() == kPin && role == Qt::CheckStateRole) {
    if (value.toInt() == Qt::Checked) {
      emit pinRequested(at.row(), config);
    } else {
      emit unpinRequested(at.row());
    }
    return true;
  }
  bool is_number = false;
  const int choice = value.toInt(&is_number);
  if (!isAxis(at.column()) || role != Qt::EditRole || !is_number) return false;
  if (choice < 0 || choice >= choices(at.column()).size()) return false;
  const auto index = static_cast<std::size_t>(choice);
  if (at.column() == kKeep) config.keep = grid_.keep[index];
  if (at.column() == kKBits) config.k_bits = grid_.k_bits[index];
  if (at.column() == kVBits) config.v_bits = grid_.v_bits[index];
  emit pinRequested(at.row(), config);
  return true;
}

QVariant PlanTableModel::data(const QModelIndex& at, int role) const {
  if (!checkIndex(at, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  return rowData(at.row(), at.column(), role);
}

QVariant PlanTableModel::rowData(int layer, int column, int role) const {
  const PlanRow& row = plan_->rows[static_cast<std::size_t>(layer)];
  switch (role) {
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    case Qt::CheckStateRole:
      return column == kPin ? QVariant(row.pinned ? Qt::Checked : Qt::Unchecked) : QVariant();
    case Qt::AccessibleTextRole:
      if (column != kPin) return {};
      return row.pinned ? tr("Layer %1 is pinned").arg(layer)
                        : tr("Layer %1 is not pinned").arg(layer);
    case Qt::ToolTipRole:
      return tr("Layer %1 · %2 · %3 (%4) · predicted %5 = %6%7")
          .arg(layer)
          .arg(recipeText(row.config), mbText(row.bytes), bytesKindText(plan_->kind),
               objectiveSymbol(plan_->objective), QString::number(row.error, 'g', 6),
               row.pinned ? tr(" · pinned") : QString());
    case Qt::EditRole:
      if (column == kKeep) return grid_.keep_i(row.index);
      if (column == kKBits) return grid_.k_i(row.index);
      if (column == kVBits) return grid_.v_i(row.index);
      [[fallthrough]];
    case Qt::DisplayRole:
      break;
    default:
      return {};
  }
  switch (column) {
    case kLayer:
      return layer;
    case kKeep:
      return keepText(row.config.keep);
    case kKBits:
      return row.config.k_bits;
    case kVBits:
      return row.config.v_bits;
    case kBytes:
      return mbNumber(row.bytes);
    case kError:
      return errorText(row.error);
    default:
      return {};
  }
}

QVariant PlanTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
  }
  const bool actual = !plan_ || plan_->kind == BytesKind::kActual;
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kLayer:
        return tr("Layer of the model, counted from 0");
      case kKeep:
        return tr("Share of the tokens that the layer keeps");
      case kKBits:
        return tr("Bits of a stored key value");
      case kVBits:
        return tr("Bits of a stored value");
      case kPin:
        return tr("Pinned layers keep their recipe at every budget");
      case kBytes:
        return actual ? tr("Memory of the layer, metadata and padding included (1 MB = 10^6 bytes)")
                      : tr("Memory of the layer by the nominal formula, without metadata");
      default:
        return tr("The layer's part of the predicted error: its cell of the objective");
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kLayer:
      return tr("Layer");
    case kPin:
      return tr("Pin");
    case kKeep:
      return tr("Keep");
    case kKBits:
      return tr("K bits");
    case kVBits:
      return tr("V bits");
    case kBytes:
      return actual ? tr("MB actual") : tr("MB nominal");
    case kError:
      return plan_ ? tr("Error %1").arg(objectiveSymbol(plan_->objective)) : tr("Error");
    default:
      return {};
  }
}

}  // namespace lamina::studio
