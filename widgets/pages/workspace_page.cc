// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/pages/workspace_page.h"

#include <QDataStream>
#include <QIODevice>
#include <QItemSelectionModel>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "widgets/edit/plan_editor.h"
#include "widgets/models/heatmap_model.h"
#include "widgets/models/plan_table_model.h"
#include "widgets/models/text.h"
#include "widgets/panels/budget_bar.h"
#include "widgets/panels/deployment_bar.h"
#include "widgets/panels/model_bar.h"
#include "widgets/panels/plan_view.h"
#include "widgets/panels/summary_panel.h"
#include "widgets/plots/frontier_view.h"
#include "widgets/plots/heatmap_view.h"

namespace lamina::studio {
namespace {

constexpr int kLayoutVersion = 2;

QFrame* horizontalLine(QWidget* parent) {
  auto* line = new QFrame(parent);
  line->setFrameShape(QFrame::HLine);
  line->setFrameShadow(QFrame::Sunken);
  return line;
}

}  // namespace

WorkspacePage::WorkspacePage(PlanEditor* editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      session_(editor->session()),
      cells_(new HeatmapModel(this)) {
  model_bar_ = new ModelBar(session_, this);
  deployment_bar_ = new DeploymentBar(editor_, this);
  heatmap_ = new HeatmapView(cells_, this);
  frontier_ = new FrontierView(editor_, this);
  plots_ = new QSplitter(Qt::Vertical, this);
  plots_->addWidget(heatmap_);
  plots_->addWidget(frontier_);
  plots_->setChildrenCollapsible(false);
  plots_->setStretchFactor(0, 1);
  plots_->setStretchFactor(1, 0);
  columns_ = new QSplitter(Qt::Horizontal, this);
  columns_->addWidget(plots_);
  columns_->addWidget(buildPlanSide());
  columns_->setChildrenCollapsible(false);
  columns_->setStretchFactor(0, 1);
  columns_->setStretchFactor(1, 0);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(model_bar_);
  layout->addWidget(deployment_bar_);
  layout->addWidget(horizontalLine(this));
  layout->addWidget(columns_, 1);
  layout->addWidget(horizontalLine(this));
  layout->addWidget(new BudgetBar(editor_, this));

  connect(session_, &StudioSession::tableChanged, this, &WorkspacePage::showTable);
  connect(session_, &StudioSession::rowMeasured, this, &WorkspacePage::showRow);
  connect(session_, &StudioSession::planChanged, this, &WorkspacePage::showPlan);
  followCursor();
  showTable();
  showPlan(session_->plan());
  restoreDefaultLayout();
}

// The heatmap's cursor and the plan table's current row are the same layer.
void WorkspacePage::followCursor() {
  QTableView* table = plan_view_->table();
  connect(heatmap_->plot(), &HeatmapPlot::cursorChanged, table, [this, table](int layer, int) {
    const QModelIndex current = table->currentIndex();
    if (layer >= planModel()->rowCount() || current.row() == layer) return;
    table->setCurrentIndex(planModel()->index(layer, std::max(0, current.column())));
  });
  connect(table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& row) {
            if (!row.isValid() || heatmap_->plot()->cursor().layer == row.row()) return;
            if (const int chosen = cells_->chosen(row.row()); chosen >= 0) {
              heatmap_->plot()->setCursor({row.row(), chosen});
            }
          });
}

PlanTableModel* WorkspacePage::planModel() const { return plan_view_->model(); }

QWidget* WorkspacePage::buildPlanSide() {
  plan_view_ = new PlanView(editor_, this);
  auto* summary = new SummaryPanel(this);
  connect(session_, &StudioSession::planChanged, summary, &SummaryPanel::showPlan);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(summary);
  scroll->setMinimumHeight(100);

  plan_side_ = new QSplitter(Qt::Vertical, this);
  plan_side_->addWidget(plan_view_);
  plan_side_->addWidget(scroll);
  plan_side_->setChildrenCollapsible(false);
  plan_side_->setStretchFactor(0, 1);
  plan_side_->setStretchFactor(1, 0);
  plan_side_->setMinimumWidth(390);
  return plan_side_;
}

QString WorkspacePage::originText() const {
  if (const PartialTable* running = session_->measuring()) {
    return tr("measuring with scorer %1").arg(toQString(running->scorer));
  }
  const auto& document = session_->document();
  if (!document) return {};
  if (document->partial) {
    return tr("%1 of %2 layers measured, scorer %3; the calibration was stopped")
        .arg(document->partial->rowsDone())
        .arg(document->partial->rows.size())
        .arg(toQString(document->partial->scorer));
  }
  if (!document->table && document->unfinished) {
    return tr("%1 of %2 layers are measured with scorer %3: Calibrate goes on from there")
        .arg(document->unfinished->layers_done)
        .arg(document->unfinished->layers)
        .arg(toQString(document->unfinished->scorer));
  }
  if (!document->table) return tr("not calibrated yet: press Calibrate");
  const auto& provenance = document->table->table.provenance;
  if (!provenance) return tr("from a table file");
  const QString quantizer =
      provenance->quantizer.k == provenance->quantizer.v
          ? toQString(provenance->quantizer.k)
          : tr("K %1, V %2")
                .arg(toQString(provenance->quantizer.k), toQString(provenance->quantizer.v));
  return tr("probe %1 of %2 tokens · scorer %3 · quantiser %4 · %5 survivors")
      .arg(toQString(provenance->probe))
      .arg(provenance->tokens)
      .arg(toQString(provenance->scorer), quantizer,
           toQString(std::string(to_string(provenance->survivors))));
}

void WorkspacePage::showTable() {
  const auto& document = session_->document();
  if (const PartialTable* running = session_->measuring()) {
    cells_->setRows(running->grid, running->rows);
  } else if (document && document->table) {
    cells_->setRows(document->table->table.grid, document->table->table.values);
  } else if (document && document->partial) {
    cells_->setRows(document->partial->grid, document->partial->rows);
  } else if (document && document->model && document->model->layers > 0) {
    const auto layers = static_cast<std::size_t>(document->model->layers);
    cells_->setRows(ConfigGrid::default_grid(), std::vector<std::vector<double>>(layers));
  } else {
    cells_->clear();
  }
  heatmap_->setOrigin(originText());
  generation_ = 0;
  // A table that was shown before a calibration comes back with its plan.
  if (!session_->measuring() && session_->plan() && session_->problem() &&
      session_->problem()->table().layers() == cells_->layers()) {
    showPlan(session_->plan());
  }
}

void WorkspacePage::showRow(int layer) {
  const PartialTable* running = session_->measuring();
  if (running) cells_->setRow(layer, running->rows[static_cast<std::size_t>(layer)]);
}

void WorkspacePage::showPlan(const std::shared_ptr<const PlanState>& plan) {
  // While a calibration runs the heatmap shows its rows, which the old plan says nothing about.
  if (session_->measuring()) return;
  const std::uint64_t generation = plan ? plan->generation : 0;
  if (std::exchange(generation_, generation) != generation) {
    cells_->setCosts(plan ? std::optional(session_->problem()->costs()) : std::nullopt);
  }
  cells_->setChosen(plan ? plan->solution.configs : std::vector<int>());
}

QByteArray WorkspacePage::saveLayout() const {
  QByteArray state;
  QDataStream stream(&state, QIODevice::WriteOnly);
  stream << kLayoutVersion << columns_->saveState() << plots_->saveState()
         << plan_side_->saveState();
  return state;
}

bool WorkspacePage::restoreLayout(const QByteArray& state) {
  QDataStream stream(state);
  int version = 0;
  QByteArray columns, plots, plan_side;
  stream >> version >> columns >> plots >> plan_side;
  const bool good = stream.status() == QDataStream::Ok && version == kLayoutVersion &&
                    columns_->restoreState(columns) && plots_->restoreState(plots) &&
                    plan_side_->restoreState(plan_side);
  if (!good) restoreDefaultLayout();
  return good;
}

void WorkspacePage::restoreDefaultLayout() {
  columns_->setSizes({820, 440});
  plots_->setSizes({380, 220});
  plan_side_->setSizes({230, 380});
}

}  // namespace lamina::studio
