// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/summary_panel.h"

#include <QGridLayout>
#include <QLabel>
#include <cmath>

#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

QString againstText(double error, double uniform_error) {
  if (uniform_error <= 0) {
    return error <= 0 ? SummaryPanel::tr("equal") : SummaryPanel::tr("uniform has no error");
  }
  const double difference = (error - uniform_error) / uniform_error;
  if (std::abs(difference) < 5e-5) return SummaryPanel::tr("equal");
  return difference < 0 ? SummaryPanel::tr("plan %1 lower").arg(percentText(-difference))
                        : SummaryPanel::tr("plan %1 higher").arg(percentText(difference));
}

}  // namespace

SummaryPanel::SummaryPanel(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Plan summary"));
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->setVerticalSpacing(3);
  layout->setHorizontalSpacing(12);
  layout->setColumnStretch(1, 1);
  method_ =
      addRow(layout, "summaryMethod", tr("Method"),
             tr("The solver, and what it minimises: the sum over layers of the sensitivity S"));
  budget_ = addRow(layout, "summaryBudget", tr("Budget"), tr("What the plan may use"));
  used_ = addRow(layout, "summaryUsed", tr("Used"), tr("Memory of the whole cache under the plan"));
  peak_ = addRow(layout, "summaryPeak", tr("Peak"),
                 tr("Actual bytes plus the tokens that gather between two evictions"));
  full_ = addRow(layout, "summaryFull", tr("Full cache"), tr("The uncompressed 16-bit cache"));
  predicted_ = addRow(layout, "summaryPredicted", tr("Predicted error"),
                      tr("Sum over layers of the table's S. A prediction, not a measurement"));
  distinct_ = addRow(layout, "summaryDistinct", tr("Recipes used"),
                     tr("How many different recipes the layers get"));
  uniform_ = addRow(layout, "summaryUniform", tr("2d_uniform"),
                    tr("The best single recipe for all layers within the same budget"));
  against_ = addRow(layout, "summaryAgainst", tr("Against uniform"),
                    tr("Predicted error of the plan relative to that of the uniform recipe"));
  layout->setRowStretch(layout->rowCount(), 1);
  showPlan(nullptr);
}

QLabel* SummaryPanel::addRow(QGridLayout* layout, const char* object_name, const QString& caption,
                             const QString& help) {
  const int row = layout->rowCount();
  auto* name = new QLabel(caption, this);
  auto* value = new QLabel(this);
  value->setObjectName(QLatin1String(object_name));
  value->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  value->setFocusPolicy(Qt::ClickFocus);
  value->setWordWrap(true);
  value->setAccessibleName(caption);
  name->setToolTip(help);
  value->setToolTip(help);
  layout->addWidget(name, row, 0, Qt::AlignTop);
  layout->addWidget(value, row, 1, Qt::AlignTop);
  return value;
}

void SummaryPanel::showPlan(const std::shared_ptr<const PlanState>& plan) {
  if (!plan) {
    for (QLabel* label :
         {method_, budget_, used_, peak_, full_, predicted_, distinct_, uniform_, against_}) {
      label->setText(QStringLiteral("–"));
    }
    return;
  }
  const Solution& solution = plan->solution;
  const auto budget = static_cast<double>(plan->budget);
  const QString kind = bytesKindText(plan->kind);
  method_->setText(tr("%1, objective S (sum over layers)")
                       .arg(toQString(std::string(to_string(solution.method)))));
  budget_->setText(QStringLiteral("%1 (%2)").arg(budgetText(budget, plan->full_bytes), kind));
  used_->setText(tr("%1 · %2 of the budget")
                     .arg(budgetText(solution.used_bytes, plan->full_bytes),
                          percentText(solution.used_bytes / budget)));
  peak_->setText(
      tr("%1 (actual bytes + eviction slack)").arg(mbText(static_cast<double>(plan->peak_bytes))));
  full_->setText(tr("%1 for %2 tokens").arg(mbText(plan->full_bytes)).arg(plan->t_cache));
  predicted_->setText(tr("<i>%1</i> (predicted)").arg(errorText(solution.predicted)));
  distinct_->setText(tr("%1 for %2 layers").arg(plan->distinct).arg(plan->rows.size()));
  if (!plan->uniform) {
    uniform_->setText(tr("infeasible at this budget"));
    against_->setText(QStringLiteral("–"));
    return;
  }
  uniform_->setText(tr("%1: error <i>%2</i>, uses %3 of the budget")
                        .arg(recipeText(plan->uniform_config), errorText(plan->uniform->predicted),
                             percentText(plan->uniform->used_bytes / budget)));
  against_->setText(againstText(solution.predicted, plan->uniform->predicted));
}

}  // namespace lamina::studio
