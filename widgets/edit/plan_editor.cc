// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/edit/plan_editor.h"

#include <QUndoCommand>
#include <utility>

#include "widgets/models/limit_edits.h"
#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

constexpr int kHistoryLimit = 500;
constexpr int kGestureId = 1;

// The inputs are in force already when the command is made.
class InputsCommand : public QUndoCommand {
 public:
  InputsCommand(StudioSession* session, PlanInputs before, PlanInputs after, int gesture,
                const QString& text)
      : QUndoCommand(text),
        session_(session),
        before_(std::move(before)),
        after_(std::move(after)),
        gesture_(gesture) {}

  int id() const override { return gesture_ == 0 ? -1 : kGestureId; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const InputsCommand*>(other);
    if (next->gesture_ != gesture_) return false;
    after_ = next->after_;
    setText(next->text());
    setObsolete(after_ == before_);
    return true;
  }

  void undo() override { apply(before_); }

  void redo() override {
    if (std::exchange(in_force_, false)) return;
    apply(after_);
  }

 private:
  // Both were in force with this table, so they are again; the history goes with the table.
  void apply(const PlanInputs& inputs) {
    const Status status = session_->apply(inputs);
    if (!status.is_ok()) {
      emit session_->failed(PlanEditor::tr("Cannot undo"), toQString(status.message()));
      setObsolete(true);
    }
  }

  StudioSession* session_;
  PlanInputs before_, after_;
  int gesture_;
  bool in_force_ = true;
};

}  // namespace

PlanEditor::PlanEditor(StudioSession* session, QObject* parent)
    : QObject(parent), session_(session) {
  history_.setUndoLimit(kHistoryLimit);
  connect(session_, &StudioSession::inputsReset, &history_, &QUndoStack::clear);
}

void PlanEditor::beginGesture() { gesture_ = ++last_gesture_; }

Status PlanEditor::commit(PlanInputs next, BudgetRule rule, const QString& what) {
  const PlanInputs before = session_->inputs();
  if (next == before && session_->problem()) return Status::ok();
  const std::int64_t wanted = next.budget;
  LAMINA_RETURN_IF_ERROR(session_->apply(std::move(next), rule));
  const PlanInputs& after = session_->inputs();
  history_.push(new InputsCommand(session_, before, after, gesture_, what));
  if (rule == BudgetRule::kFeasible && after.budget > wanted) {
    emit session_->notice(tr("The budget was raised to %1, the smallest that is feasible now")
                              .arg(mbText(static_cast<double>(after.budget))));
  }
  return Status::ok();
}

Status PlanEditor::setBudget(std::int64_t bytes) {
  PlanInputs next = session_->inputs();
  next.budget = bytes;
  return commit(std::move(next), BudgetRule::kGiven,
                tr("budget %1").arg(mbText(static_cast<double>(bytes))));
}

Status PlanEditor::setBudgetText(const QString& text) {
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t bytes, session_->parseBudgetText(text));
  return setBudget(bytes);
}

Status PlanEditor::setBytesKind(BytesKind kind) {
  PlanInputs next = session_->inputs();
  next.kind = kind;
  return commit(std::move(next), BudgetRule::kKeepRatio, bytesKindText(kind));
}

Status PlanEditor::setObjective(Objective objective) {
  PlanInputs next = session_->inputs();
  next.objective = objective;
  return commit(std::move(next), BudgetRule::kFeasible,
                tr("objective %1").arg(toQString(std::string(to_string(objective)))));
}

Status PlanEditor::setMethod(const Method& method) {
  PlanInputs next = session_->inputs();
  next.method = method;
  return commit(std::move(next), BudgetRule::kGiven, tr("method %1").arg(methodText(method)));
}

Status PlanEditor::setTarget(const std::optional<Target>& target) {
  PlanInputs next = session_->inputs();
  next.limits.target = target;
  return commit(std::move(next), BudgetRule::kFeasible,
                target ? tr("target %1").arg(toQString(target->name)) : tr("any target"));
}

Status PlanEditor::setContext(std::int64_t tokens) {
  PlanInputs next = session_->inputs();
  next.t_cache = tokens;
  return commit(std::move(next), BudgetRule::kKeepRatio, tr("context of %1 tokens").arg(tokens));
}

Status PlanEditor::setLimits(const Limits& limits, const QString& what) {
  PlanInputs next = session_->inputs();
  next.limits = limits;
  return commit(std::move(next), BudgetRule::kFeasible, what);
}

Status PlanEditor::pin(int layer, const LayerConfig& config) {
  return setLimits(withPin(session_->inputs().limits, layer, config),
                   tr("pin of layer %1").arg(layer));
}

Status PlanEditor::unpin(int layer) {
  return setLimits(withoutPin(session_->inputs().limits, layer),
                   tr("unpin of layer %1").arg(layer));
}

}  // namespace lamina::studio
