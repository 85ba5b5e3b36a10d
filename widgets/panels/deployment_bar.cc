// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/deployment_bar.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <limits>
#include <utility>

#include "widgets/edit/plan_editor.h"
#include "widgets/models/text.h"
#include "widgets/panels/elided_label.h"
#include "widgets/plots/color_map.h"

namespace lamina::studio {

DeploymentBar::DeploymentBar(PlanEditor* editor, QWidget* parent)
    : QWidget(parent), editor_(editor), session_(editor->session()) {
  build();
  connect(target_, &QComboBox::activated, this, &DeploymentBar::applyTarget);
  connect(memory_, &QLineEdit::editingFinished, this, &DeploymentBar::applyMemory);
  connect(context_, &QSpinBox::editingFinished, this, &DeploymentBar::applyContext);
  connect(session_, &StudioSession::planChanged, this, &DeploymentBar::showPlan);
  showPlan(session_->plan());
}

void DeploymentBar::build() {
  target_ = new QComboBox(this);
  target_->setObjectName(QStringLiteral("target"));
  target_->setAccessibleName(tr("Serving stack the plan is for"));
  target_->setToolTip(tr("Only recipes that this serving stack can run are used"));
  target_->addItem(tr("Any"), QString());
  for (const Target& target : builtin_targets()) {
    target_->addItem(toQString(target.name), toQString(target.name));
    target_->setItemData(target_->count() - 1,
                         toQString(target.title) + QLatin1Char('\n') + toQString(target.note),
                         Qt::ToolTipRole);
  }
  memory_ = new QLineEdit(this);
  memory_->setObjectName(QStringLiteral("gpuMemory"));
  memory_->setAccessibleName(tr("GPU memory"));
  memory_->setPlaceholderText(tr("24GiB"));
  memory_->setAcceptDrops(false);
  memory_->setToolTip(tr("Memory of the GPU, such as 24GiB or 80GB: tells how many requests fit"));
  memory_->setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("00000MiB")) + 14);
  context_ = new QSpinBox(this);
  context_->setObjectName(QStringLiteral("context"));
  context_->setAccessibleName(tr("Context in tokens"));
  context_->setToolTip(
      tr("Tokens of one request, prompt and answer: the cache of the budget is for so many"));
  context_->setRange(1, std::numeric_limits<int>::max());
  context_->setSingleStep(1024);
  context_->setKeyboardTracking(false);
  context_->setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("00000000")) + 32);
  note_ = new ElidedLabel(this);
  note_->setObjectName(QStringLiteral("deploymentNote"));

  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 0, 8, 6);
  layout->setSpacing(6);
  const auto add = [&](const QString& caption, QWidget* field) {
    auto* label = new QLabel(caption, this);
    label->setBuddy(field);
    layout->addWidget(label);
    layout->addWidget(field);
    layout->addSpacing(8);
  };
  add(tr("&Target"), target_);
  add(tr("&GPU memory"), memory_);
  add(tr("Conte&xt"), context_);
  layout->addWidget(note_, 1);
}

QString DeploymentBar::gpuMemory() const { return memory_->text(); }

void DeploymentBar::setGpuMemory(const QString& text) {
  memory_->setText(text);
  applyMemory();
}

void DeploymentBar::showNote(const QString& text, bool is_error) {
  if (note_->text() == text && !std::exchange(palette_changed_, false)) return;
  note_->setText(text);
  note_->setToolTip(text);
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText,
                  is_error ? errorTextColor(palette()) : mutedTextColor(palette()));
  note_->setPalette(colors);
}

void DeploymentBar::showPlan(const std::shared_ptr<const PlanState>& plan) {
  target_->setEnabled(plan != nullptr);
  context_->setEnabled(plan != nullptr);
  if (!plan) {
    showNote({}, false);
    return;
  }
  const auto& target = session_->inputs().limits.target;
  const auto tokens =
      static_cast<int>(std::min<std::int64_t>(plan->t_cache, std::numeric_limits<int>::max()));
  if (context_->value() != tokens) context_->setValue(tokens);
  const int index = target ? target_->findData(toQString(target->name)) : 0;
  if (target_->currentIndex() != index) target_->setCurrentIndex(index);
  showCapacity(*plan);
}

void DeploymentBar::showCapacity(const PlanState& plan) {
  if (!plan.capacity_obstacle.isEmpty()) return showNote(plan.capacity_obstacle, true);
  if (!plan.capacity) return showNote({}, false);
  const Capacity& capacity = *plan.capacity;
  showNote(tr("estimate: weights %1 + activations %2 · %3 with the full cache")
               .arg(mbText(static_cast<double>(capacity.weights)),
                    mbText(static_cast<double>(capacity.activations)),
                    requestsText(capacity.full_requests, capacity.request.context)),
           false);
}

void DeploymentBar::applyTarget(int index) {
  std::optional<Target> target;
  const QString name = target_->itemData(index).toString();
  if (!name.isEmpty()) {
    auto found = find_target(name.toStdString());
    if (!found) return showNote(toQString(found.status().message()), true);
    target = std::move(found).value();
  }
  const Status status = editor_->setTarget(target);
  if (status.is_ok()) return;
  showPlan(session_->plan());
  emit session_->failed(tr("Cannot use this target"), toQString(status.message()));
}

void DeploymentBar::applyMemory() {
  const Status status = session_->setGpuMemory(memory_->text());
  if (!status.is_ok()) showNote(toQString(status.message()), true);
}

void DeploymentBar::applyContext() {
  const auto plan = session_->plan();
  if (!plan || context_->value() == plan->t_cache) return;
  const Status status = editor_->setContext(context_->value());
  if (status.is_ok()) return;
  showPlan(plan);
  showNote(toQString(status.message()), true);
}

void DeploymentBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  palette_changed_ = true;
  showPlan(session_->plan());
}

}  // namespace lamina::studio
