// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/summary_panel.h"

#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <cmath>

#include "widgets/models/comparison_model.h"
#include "widgets/models/text.h"
#include "widgets/panels/figure_label.h"
#include "widgets/panels/figures_delegate.h"

namespace lamina::studio {
namespace {

constexpr int kHeadroomLines = 3;

// Predictions are italic everywhere; the plan on screen is bold here.
class ComparisonDelegate : public FiguresDelegate {
 public:
  using FiguresDelegate::FiguresDelegate;

 protected:
  QFont fontOf(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QFont font = option.font;
    font.setBold(index.data(ComparisonModel::kShownRole).toBool());
    font.setItalic(index.column() == ComparisonModel::kPredicted);
    return font;
  }
};

QString gapSentence(const PlanState& plan, const Method& method) {
  const MethodResult* result = plan.find(method);
  if (!result || !result->solution) return SummaryPanel::tr("infeasible");
  const QString gap = SummaryPanel::tr("%1 above the bound")
                          .arg(gapText(result->solution->predicted, plan.lower_bound));
  if (method.search != Search::kExact) return gap;
  return gap + (result->solution->proven ? SummaryPanel::tr(" · proven optimum")
                                         : SummaryPanel::tr(" · not proven"));
}

QString headroomSentence(const PlanState& plan) {
  if (plan.headroom.worth_routing) {
    const MethodResult* fair = plan.find(methods::kUniformFree);
    if (!fair || !fair->solution || fair->solution->predicted <= 0) return {};
    const double share = plan.solution.predicted / fair->solution->predicted - 1;
    return SummaryPanel::tr("Predicted %1 %2 than 2d_uniform_free, the fair uniform.")
        .arg(percentText(std::abs(share)),
             share <= 0 ? SummaryPanel::tr("lower") : SummaryPanel::tr("higher"));
  }
  QString sentence = SummaryPanel::tr("No headroom: %1.").arg(toQString(plan.headroom.reason));
  if (plan.headroom.simpler) {
    sentence += SummaryPanel::tr(" Simpler: %1, predicted %2.")
                    .arg(methodText(plan.headroom.simpler->method),
                         errorText(plan.headroom.simpler->predicted));
  }
  return sentence;
}

}  // namespace

SummaryPanel::SummaryPanel(QWidget* parent)
    : QWidget(parent), comparison_(new ComparisonModel(this)) {
  setAccessibleName(tr("Plan summary"));
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->setVerticalSpacing(3);
  layout->setHorizontalSpacing(10);
  layout->setColumnStretch(1, 1);
  predicted_ = addRow(layout, "summaryPredicted", tr("Predicted error"),
                      tr("Sum over layers of the objective. A prediction, not a measurement"));
  const QString bound =
      tr("How far the predicted error lies above what no plan within the limits and the budget can "
         "beat");
  exact_ = addRow(layout, "summaryExact", tr("Exact"), bound);
  greedy_ = addRow(layout, "summaryGreedy", tr("Greedy"), bound);
  used_ = addRow(layout, "summaryUsed", tr("Used"), tr("Memory of the whole cache under the plan"));
  peak_ = addRow(layout, "summaryPeak", tr("Peak"),
                 tr("Actual bytes plus the tokens that gather between two evictions"));
  full_ = addRow(layout, "summaryFull", tr("Full cache"), tr("The uncompressed 16-bit cache"));
  distinct_ = addRow(layout, "summaryDistinct", tr("Recipes used"),
                     tr("How many different recipes the layers get"));
  QFont italic = predicted_->font();
  italic.setItalic(true);
  predicted_->setFont(italic);
  headroom_ = new FigureLabel(this, kHeadroomLines);
  headroom_->setObjectName(QStringLiteral("summaryHeadroom"));
  headroom_->setCaption(tr("Whether routing by layer buys anything"));
  layout->addWidget(headroom_, layout->rowCount(), 0, 1, 2);
  layout->addWidget(buildTable(), layout->rowCount(), 0, 1, 2);
  layout->setRowStretch(layout->rowCount(), 1);
  showPlan(nullptr);
}

QTableView* SummaryPanel::buildTable() {
  auto* table = new QTableView(this);
  table->setObjectName(QStringLiteral("comparison"));
  table->setAccessibleName(tr("Methods at this budget"));
  table->setModel(comparison_);
  table->setItemDelegate(new ComparisonDelegate(table));
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setTabKeyNavigation(false);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->verticalHeader()->hide();
  table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 3);
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table->horizontalHeader()->setSectionResizeMode(ComparisonModel::kMethod, QHeaderView::Stretch);
  table->horizontalHeader()->setMinimumSectionSize(30);
  const auto fix = [&](int column, const QString& widest) {
    table->horizontalHeader()->resizeSection(column, fontMetrics().horizontalAdvance(widest) + 14);
  };
  fix(ComparisonModel::kPredicted, QStringLiteral("Predicted w·S²"));
  fix(ComparisonModel::kUsed, QStringLiteral("100.0 %"));
  fix(ComparisonModel::kAboveBound, tr("Above bound"));
  // All rows are seen at once: the panel scrolls, not the table.
  const int rows = static_cast<int>(comparedMethods().size()) + 1;
  table->setFixedHeight(rows * table->verticalHeader()->defaultSectionSize() +
                        table->horizontalHeader()->sizeHint().height() + 2 * table->frameWidth());
  return table;
}

FigureLabel* SummaryPanel::addRow(QGridLayout* layout, const char* object_name,
                                  const QString& caption, const QString& help) {
  const int row = layout->rowCount();
  auto* name = new QLabel(caption, this);
  auto* value = new FigureLabel(this);
  value->setObjectName(QLatin1String(object_name));
  value->setCaption(caption);
  name->setToolTip(help);
  value->setToolTip(help);
  layout->addWidget(name, row, 0, Qt::AlignTop);
  layout->addWidget(value, row, 1, Qt::AlignTop);
  return value;
}

void SummaryPanel::showPlan(const std::shared_ptr<const PlanState>& plan) {
  comparison_->setPlan(plan);
  if (!plan) {
    for (FigureLabel* label :
         {predicted_, exact_, greedy_, used_, peak_, full_, distinct_, headroom_}) {
      label->setText(label == headroom_ ? QString() : QStringLiteral("–"));
    }
    return;
  }
  const Solution& solution = plan->solution;
  predicted_->setText(tr("%1 (predicted, sum of %2, %3)")
                          .arg(errorText(solution.predicted), objectiveSymbol(plan->objective),
                               methodText(plan->method)));
  exact_->setText(gapSentence(*plan, methods::kExact));
  greedy_->setText(gapSentence(*plan, methods::kGreedy));
  used_->setText(tr("%1 · %2 of the budget")
                     .arg(budgetText(solution.used_bytes, plan->full_bytes),
                          percentText(solution.used_bytes / static_cast<double>(plan->budget))));
  peak_->setText(
      tr("%1 (actual bytes + eviction slack)").arg(mbText(static_cast<double>(plan->peak_bytes))));
  full_->setText(tr("%1 for %2 tokens (%3)")
                     .arg(mbText(plan->full_bytes))
                     .arg(plan->t_cache)
                     .arg(bytesKindText(plan->kind)));
  distinct_->setText(tr("%1 for %2 layers").arg(plan->distinct).arg(plan->rows.size()));
  const QString headroom = headroomSentence(*plan);
  headroom_->setText(headroom);
  headroom_->setToolTip(headroom);
}

}  // namespace lamina::studio
