// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/plan_table_model.h"

#include <utility>

#include "widgets/models/text.h"

namespace lamina::studio {

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
  plan_ = std::move(plan);
  if (after == 0) return;
  emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
  emit headerDataChanged(Qt::Horizontal, kBytes, kBytes);
}

int PlanTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !plan_ ? 0 : static_cast<int>(plan_->rows.size());
}

int PlanTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumnCount);
}

QVariant PlanTableModel::data(const QModelIndex& at, int role) const {
  if (!checkIndex(at, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
  }
  const PlanRow& row = plan_->rows[static_cast<std::size_t>(at.row())];
  if (role == Qt::ToolTipRole) {
    return tr("Layer %1 · %2 · %3 (%4) · predicted S = %5")
        .arg(at.row())
        .arg(recipeText(row.config), mbText(row.bytes), bytesKindText(plan_->kind),
             QString::number(row.sensitivity, 'g', 6));
  }
  if (role != Qt::DisplayRole) return {};
  switch (at.column()) {
    case kLayer:
      return at.row();
    case kKeep:
      return keepText(row.config.keep);
    case kKBits:
      return row.config.k_bits;
    case kVBits:
      return row.config.v_bits;
    case kBytes:
      return mbNumber(row.bytes);
    default:
      return errorText(row.sensitivity);
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
      case kBytes:
        return actual ? tr("Memory of the layer, metadata and padding included (1 MB = 10^6 bytes)")
                      : tr("Memory of the layer by the nominal formula, without metadata");
      default:
        return tr("Predicted relative error S of the layer's attention output");
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kLayer:
      return tr("Layer");
    case kKeep:
      return tr("Keep");
    case kKBits:
      return tr("K bits");
    case kVBits:
      return tr("V bits");
    case kBytes:
      return actual ? tr("MB actual") : tr("MB nominal");
    case kError:
      return tr("Error S");
    default:
      return {};
  }
}

}  // namespace lamina::studio
