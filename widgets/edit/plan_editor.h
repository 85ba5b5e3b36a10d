// SPDX-License-Identifier: GPL-3.0-or-later
// Everything a user changes about the plan, with undo and redo. A step keeps the inputs before and
// after, so that going back restores exactly what was; the steps of one gesture (a slider drag, a
// held key) are one. Another table empties the history. Belongs to the GUI thread.
#pragma once

#include <QObject>
#include <QUndoStack>

#include "widgets/models/studio_session.h"

namespace lamina::studio {

class PlanEditor : public QObject {
  Q_OBJECT
 public:
  // The session must outlive the editor.
  explicit PlanEditor(StudioSession* session, QObject* parent = nullptr);

  StudioSession* session() const { return session_; }
  QUndoStack* history() { return &history_; }

  // Changes between the two are one step. Gestures do not nest.
  void beginGesture();
  void endGesture() { gesture_ = 0; }

  // Each is one step, or returns the engine's refusal and changes nothing.
  Status setBudget(std::int64_t bytes);
  Status setBudgetText(const QString& text);
  Status setBytesKind(BytesKind kind);
  Status setObjective(Objective objective);
  Status setMethod(const Method& method);
  Status setTarget(const std::optional<Target>& target);
  // Tokens of one request's cache; 0: the table's.
  Status setContext(std::int64_t tokens);
  Status setLimits(const Limits& limits, const QString& what);
  Status pin(int layer, const LayerConfig& config);
  Status unpin(int layer);

 private:
  Status commit(PlanInputs next, BudgetRule rule, const QString& what);

  StudioSession* session_;
  QUndoStack history_;
  int gesture_ = 0;  // 0: none
  int last_gesture_ = 0;
};

}  // namespace lamina::studio
