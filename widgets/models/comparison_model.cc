// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/comparison_model.h"

#include <algorithm>
#include <utility>

#include "widgets/models/text.h"

namespace lamina::studio {

QString gapText(double error, double bound) {
  const double gap = error - bound;
  if (gap <= 1e-12 * std::max(1e-300, error)) return QStringLiteral("0 %");
  if (bound <= 0) return QStringLiteral("∞");
  const double share = gap / bound;
  if (share >= 10) return QStringLiteral("%1x").arg(QString::number(1 + share, 'f', 1));
  return percentText(share, share < 0.01 ? 3 : 1);
}

ComparisonModel::ComparisonModel(QObject* parent) : QAbstractTableModel(parent) {}

void ComparisonModel::setPlan(std::shared_ptr<const PlanState> plan) {
  const bool same_rows = plan_ && plan && plan_->methods.size() == plan->methods.size();
  if (!same_rows) {
    beginResetModel();
    plan_ = std::move(plan);
    endResetModel();
    return;
  }
  const bool objective_changed = plan_->objective != plan->objective;
  plan_ = std::move(plan);
  emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
  if (objective_changed) emit headerDataChanged(Qt::Horizontal, kPredicted, kPredicted);
}

int ComparisonModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !plan_ ? 0 : static_cast<int>(plan_->methods.size()) + 1;
}

int ComparisonModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumnCount);
}

QString ComparisonModel::text(int row, int column) const {
  if (isBound(row)) {
    if (column == kMethod) return tr("LP bound");
    return column == kPredicted ? errorText(plan_->lower_bound) : QStringLiteral("–");
  }
  const MethodResult& result = plan_->methods[static_cast<std::size_t>(row)];
  if (column == kMethod) return methodText(result.method);
  if (!result.solution) return column == kPredicted ? tr("infeasible") : QStringLiteral("–");
  switch (column) {
    case kPredicted:
      return errorText(result.solution->predicted);
    case kUsed:
      return percentText(result.solution->used_bytes / static_cast<double>(plan_->budget));
    default:
      return gapText(result.solution->predicted, plan_->lower_bound);
  }
}

QString ComparisonModel::toolTip(int row) const {
  if (isBound(row)) {
    return tr(
        "No plan of any kind within the limits and the budget is predicted below this "
        "(linear relaxation)");
  }
  const MethodResult& result = plan_->methods[static_cast<std::size_t>(row)];
  const QString what = toQString(describe(result.method));
  if (!result.solution) return QStringLiteral("%1\n%2").arg(what, result.why_not);
  return tr("%1\n%2\n%3 of %4 used\nA prediction, not a measurement")
      .arg(what, mixText(result.solution->layers), mbText(result.solution->used_bytes),
           mbText(static_cast<double>(plan_->budget)));
}

QVariant ComparisonModel::data(const QModelIndex& at, int role) const {
  if (!checkIndex(at, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const bool shown = !isBound(at.row()) &&
                     plan_->methods[static_cast<std::size_t>(at.row())].method == plan_->method;
  switch (role) {
    case Qt::DisplayRole:
      return text(at.row(), at.column());
    case Qt::ToolTipRole:
      return toolTip(at.row());
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(
          (at.column() == kMethod ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    case kShownRole:
      return shown;
    default:
      return {};
  }
}

QVariant ComparisonModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(
        Qt::Alignment((section == kMethod ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kMethod:
        return tr("How a plan is searched, under the name of the command line");
      case kPredicted:
        return tr("Sum over layers of the objective. Predicted, not measured");
      case kUsed:
        return tr("Share of the budget that the plan uses");
      default:
        return tr("How far the predicted error lies above the bound that no plan beats");
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kMethod:
      return tr("Method");
    case kPredicted:
      return plan_ ? tr("Predicted %1").arg(objectiveSymbol(plan_->objective)) : tr("Predicted");
    case kUsed:
      return tr("Used");
    case kAboveBound:
      return tr("Above bound");
    default:
      return {};
  }
}

}  // namespace lamina::studio
