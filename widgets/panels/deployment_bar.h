// SPDX-License-Identifier: GPL-3.0-or-later
// Where the plan is to run: the serving stack, the GPU's memory and the context length, and what
// weights and activations leave of it. The memory figures are estimates and say so.
#pragma once

#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace lamina::studio {

class PlanEditor;

class DeploymentBar : public QWidget {
  Q_OBJECT
 public:
  explicit DeploymentBar(PlanEditor* editor, QWidget* parent = nullptr);

  // As typed; kept in the settings.
  QString gpuMemory() const;
  void setGpuMemory(const QString& text);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void build();
  void showPlan(const std::shared_ptr<const PlanState>& plan);
  void showCapacity(const PlanState& plan);
  void applyTarget(int index);
  void applyMemory();
  void applyContext();
  void showNote(const QString& text, bool is_error);

  PlanEditor* editor_;
  StudioSession* session_;
  QComboBox* target_;
  QLineEdit* memory_;
  QSpinBox* context_;
  QLabel* note_;
  bool palette_changed_ = false;
};

}  // namespace lamina::studio
