// SPDX-License-Identifier: GPL-3.0-or-later
// The budget along the bottom of the workspace: slider, what it stands at, a field for typed
// budgets, and which bytes are meant. Everything it shows comes from the session's last plan.
#pragma once

#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace lamina::studio {

class BudgetScale;
class BudgetSlider;

class BudgetBar : public QWidget {
  Q_OBJECT
 public:
  explicit BudgetBar(StudioSession* session, QWidget* parent = nullptr);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void build();
  void showPlan(const std::shared_ptr<const PlanState>& plan);
  void applyTyped();
  void showHint();
  void showError(const QString& message);

  StudioSession* session_;
  BudgetSlider* slider_;
  BudgetScale* scale_;
  QLabel* readout_;
  QLabel* ends_;
  QLineEdit* entry_;
  QComboBox* kind_;
  QLabel* hint_;
  bool hint_is_error_ = false;
};

}  // namespace lamina::studio
