// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/plan_view.h"

#include <QActionGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QStackedWidget>
#include <QStandardItemModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "widgets/edit/plan_editor.h"
#include "widgets/models/limit_edits.h"
#include "widgets/models/plan_table_model.h"
#include "widgets/models/text.h"
#include "widgets/panels/choice_delegate.h"
#include "widgets/panels/elided_label.h"

namespace lamina::studio {
namespace {

constexpr Objective kObjectives[] = {Objective::kS, Objective::kS2, Objective::kWeighted,
                                     Objective::kPropagated, Objective::kKl};

// A choice that cannot be made stays in the list and says why.
void setObstacle(QComboBox* box, int index, const QString& obstacle, const QString& help) {
  auto* items = qobject_cast<QStandardItemModel*>(box->model());
  items->item(index)->setEnabled(obstacle.isEmpty());
  items->item(index)->setToolTip(obstacle.isEmpty() ? help : obstacle);
}

}  // namespace

PlanView::PlanView(PlanEditor* editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      session_(editor->session()),
      model_(new PlanTableModel(this)) {
  buildTable();
  auto* placeholder =
      new QLabel(tr("The plan appears here as soon as the model is calibrated."), this);
  placeholder->setAlignment(Qt::AlignCenter);
  placeholder->setWordWrap(true);
  placeholder->setMargin(16);
  placeholder->setFrameShape(QFrame::StyledPanel);
  pages_ = new QStackedWidget(this);
  pages_->addWidget(placeholder);
  pages_->addWidget(table_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 4, 4, 0);
  layout->setSpacing(3);
  layout->addWidget(buildHead());
  layout->addWidget(pages_, 1);
  layout->addWidget(buildFoot());
  connect(model_, &PlanTableModel::pinRequested, this,
          [this](int layer, const LayerConfig& config) {
            check(tr("Cannot pin layer %1").arg(layer), editor_->pin(layer, config));
          });
  connect(model_, &PlanTableModel::unpinRequested, this, [this](int layer) {
    check(tr("Cannot unpin layer %1").arg(layer), editor_->unpin(layer));
  });
  connect(session_, &StudioSession::planChanged, this, &PlanView::showPlan);
  showPlan(session_->plan());
}

QWidget* PlanView::buildHead() {
  auto* head = new QWidget(this);
  auto* layout = new QHBoxLayout(head);
  layout->setContentsMargins(4, 0, 0, 0);
  layout->setSpacing(6);
  method_ = new QComboBox(head);
  method_->setObjectName(QStringLiteral("method"));
  method_->setAccessibleName(tr("Method"));
  method_->setToolTip(tr("How the plan on screen is searched"));
  for (const Method& method : shownMethods()) method_->addItem(methodText(method));
  objective_ = new QComboBox(head);
  objective_->setObjectName(QStringLiteral("objective"));
  objective_->setAccessibleName(tr("Objective"));
  objective_->setToolTip(tr("What the plan minimises the sum of"));
  for (const Objective objective : kObjectives) {
    objective_->addItem(toQString(std::string(to_string(objective))));
  }
  auto* objective_label = new QLabel(tr("&Objective"), head);
  objective_label->setBuddy(objective_);
  layout->addWidget(new QLabel(tr("<b>Plan</b>"), head));
  layout->addWidget(method_);
  layout->addStretch(1);
  layout->addWidget(objective_label);
  layout->addWidget(objective_);
  connect(method_, &QComboBox::activated, this, &PlanView::applyMethod);
  connect(objective_, &QComboBox::activated, this, &PlanView::applyObjective);
  return head;
}

QWidget* PlanView::buildFoot() {
  auto* foot = new QWidget(this);
  auto* layout = new QHBoxLayout(foot);
  layout->setContentsMargins(4, 0, 0, 0);
  layout->setSpacing(6);
  limits_ = new ElidedLabel(foot);
  limits_->setObjectName(QStringLiteral("limits"));
  clear_ = new QPushButton(tr("Clear limits"), foot);
  clear_->setObjectName(QStringLiteral("clearLimits"));
  clear_->setToolTip(tr("Takes away every pin and every forbidden value; the target stays"));
  layout->addWidget(limits_, 1);
  layout->addWidget(clear_);
  connect(clear_, &QPushButton::clicked, this, [this] {
    setLimits(withoutLimits(session_->inputs().limits, kAllLayers), tr("no limits"));
  });
  return foot;
}

void PlanView::buildTable() {
  table_ = new QTableView(this);
  table_->setObjectName(QStringLiteral("planTable"));
  table_->setAccessibleName(tr("Plan: one row a layer"));
  table_->setModel(model_);
  table_->setItemDelegate(new ChoiceDelegate(table_));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  table_->setAlternatingRowColors(true);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  table_->horizontalHeader()->setMinimumSectionSize(34);
  const auto fix = [this](int column, const QString& widest) {
    table_->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Fixed);
    table_->horizontalHeader()->resizeSection(column, fontMetrics().horizontalAdvance(widest) + 14);
  };
  // Fixed widths: measuring the contents at every move of the slider costs more than painting them.
  fix(PlanTableModel::kPin, tr("Pin") + QStringLiteral("  "));
  fix(PlanTableModel::kBytes, tr("MB nominal"));
  fix(PlanTableModel::kError, QStringLiteral("Error propag"));
  table_->setMinimumHeight(110);
  connect(table_, &QWidget::customContextMenuRequested, this, &PlanView::openMenu);
}

void PlanView::check(const QString& title, const Status& status) {
  if (!status.is_ok()) emit session_->failed(title, toQString(status.message()));
}

void PlanView::setLimits(const Limits& limits, const QString& what) {
  check(tr("Cannot limit the plan so"), editor_->setLimits(limits, what));
}

void PlanView::showPlan(const std::shared_ptr<const PlanState>& plan) {
  if (plan && session_->problem()) model_->setGrid(session_->problem()->table().grid);
  model_->setPlan(plan);
  pages_->setCurrentIndex(plan ? 1 : 0);
  method_->setEnabled(plan != nullptr);
  objective_->setEnabled(plan != nullptr);
  if (!plan) {
    limits_->clear();
    clear_->setVisible(false);
    return;
  }
  const bool same_problem = std::exchange(generation_, plan->generation) == plan->generation;
  if (!same_problem) {
    showMethods();
    showObjective(*plan);
    showLimits();
  }
  const std::vector<Method>& methods = shownMethods();
  method_->setCurrentIndex(
      static_cast<int>(std::find(methods.begin(), methods.end(), plan->method) - methods.begin()));
}

void PlanView::showMethods() {
  const auto& target = session_->inputs().limits.target;
  int index = 0;
  for (const Method& method : shownMethods()) {
    const QString obstacle = shape_allows(target, method.family)
                                 ? QString()
                                 : tr("%1 cannot run such plans").arg(toQString(target->title));
    setObstacle(method_, index++, obstacle, toQString(describe(method)));
  }
}

void PlanView::showObjective(const PlanState& plan) {
  for (int index = 0; index < objective_->count(); ++index) {
    const Objective objective = kObjectives[index];
    if (objective == plan.objective) objective_->setCurrentIndex(index);
    setObstacle(objective_, index, session_->objectiveObstacle(objective),
                toQString(std::string(describe(objective))));
  }
}

void PlanView::showLimits() {
  const QStringList lines = describeLimits(session_->inputs().limits);
  clear_->setVisible(!lines.isEmpty());
  limits_->setText(lines.isEmpty() ? tr("No limits. Pin a layer, or right-click to forbid values.")
                                   : lines.join(QStringLiteral("; ")));
  limits_->setToolTip(lines.join(QLatin1Char('\n')));
}

void PlanView::applyMethod(int index) {
  check(tr("Cannot use this method"),
        editor_->setMethod(shownMethods()[static_cast<std::size_t>(index)]));
  showPlan(session_->plan());
}

void PlanView::applyObjective(int index) {
  check(tr("Cannot use this objective"), editor_->setObjective(kObjectives[index]));
  if (const auto plan = session_->plan()) showObjective(*plan);
}

void PlanView::openMenu(const QPoint& position) {
  QModelIndex at = table_->indexAt(position);
  if (!at.isValid()) at = table_->currentIndex();
  if (!at.isValid()) return;
  const std::unique_ptr<QMenu> menu = makeLimitsMenu(at.row());
  menu->exec(table_->viewport()->mapToGlobal(position));
}

std::unique_ptr<QMenu> PlanView::makeLimitsMenu(int layer) {
  auto menu = std::make_unique<QMenu>(this);
  const Limits& limits = session_->inputs().limits;
  const LayerConfig config = session_->plan()->rows[static_cast<std::size_t>(layer)].config;
  if (pinOf(limits, layer)) {
    menu->addAction(tr("Unpin layer %1").arg(layer), this,
                    [this, layer] { check(tr("Cannot unpin"), editor_->unpin(layer)); });
  } else {
    menu->addAction(
        tr("Pin layer %1 at %2").arg(layer).arg(recipeText(config)), this,
        [this, layer, config] { check(tr("Cannot pin"), editor_->pin(layer, config)); });
  }
  menu->addSeparator();
  addScopeMenu(menu.get(), tr("In layer %1").arg(layer), layer);
  addScopeMenu(menu.get(), tr("In all layers"), kAllLayers);
  menu->addSeparator();
  menu->addAction(tr("Clear limits of layer %1").arg(layer), this, [this, layer] {
    setLimits(withoutLimits(session_->inputs().limits, layer),
              tr("no limits of layer %1").arg(layer));
  });
  menu->addAction(tr("Clear all limits"), this, [this] {
    setLimits(withoutLimits(session_->inputs().limits, kAllLayers), tr("no limits"));
  });
  return menu;
}

void PlanView::addScopeMenu(QMenu* menu, const QString& title, int scope) {
  QMenu* sub = menu->addMenu(title);
  const ConfigGrid grid = session_->problem()->table().grid;
  const Limits limits = session_->inputs().limits;
  const double present = minKeep(limits, scope);
  auto* group = new QActionGroup(sub);
  const auto add_keep = [&](const QString& text, double keep) {
    QAction* action = sub->addAction(text, this, [this, scope, keep, text] {
      setLimits(withMinKeep(session_->inputs().limits, scope, keep), text);
    });
    action->setCheckable(true);
    action->setChecked(keep == present);
    group->addAction(action);
  };
  add_keep(tr("Any keep"), 0);
  for (const double keep : grid.keep) {
    if (keep != grid.keep.front()) add_keep(tr("Never below keep %1").arg(keepText(keep)), keep);
  }
  const auto add_bits = [&](const QString& text, Axis axis, int bits) {
    const bool forbidden = forbidsBits(limits, scope, axis, bits);
    QAction* action = sub->addAction(text, this, [this, scope, axis, bits, forbidden, text] {
      setLimits(withForbiddenBits(session_->inputs().limits, scope, axis, bits, !forbidden), text);
    });
    action->setCheckable(true);
    action->setChecked(forbidden);
  };
  sub->addSeparator();
  for (const int bits : grid.k_bits) add_bits(tr("No %1-bit K").arg(bits), Axis::kKBits, bits);
  sub->addSeparator();
  for (const int bits : grid.v_bits) add_bits(tr("No %1-bit V").arg(bits), Axis::kVBits, bits);
}

}  // namespace lamina::studio
