// SPDX-License-Identifier: GPL-3.0-or-later
// The budget along the bottom of the workspace: slider, what it stands at (MB, ratio, requests), a
// field for typed budgets, and which bytes are meant. Everything it shows comes from the session's
// last plan; changes go through the editor.
#pragma once

#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace lamina::studio {

class BudgetScale;
class BudgetSlider;
class FigureLabel;
class PlanEditor;

class BudgetBar : public QWidget {
  Q_OBJECT
 public:
  explicit BudgetBar(PlanEditor* editor, QWidget* parent = nullptr);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void build();
  void connectControls();
  void showPlan(const std::shared_ptr<const PlanState>& plan);
  void applyTyped();
  void showHint();
  void showError(const QString& message);

  PlanEditor* editor_;
  StudioSession* session_;
  std::uint64_t generation_ = 0;  // of the problem whose corners the slider has
  BudgetSlider* slider_;
  BudgetScale* scale_;
  FigureLabel* readout_;
  QLabel* ends_;
  QCheckBox* snap_;
  QLineEdit* entry_;
  QComboBox* kind_;
  QLabel* hint_;
  bool hint_is_error_ = false;
};

}  // namespace lamina::studio
