// SPDX-License-Identifier: GPL-3.0-or-later
// The top of the workspace: which model, its shape and what its cache costs, and the start of a
// calibration.
#pragma once

#include <QWidget>

#include "widgets/models/studio_session.h"

class QComboBox;
class QLabel;
class QPushButton;

namespace lamina::studio {

class ModelBar : public QWidget {
  Q_OBJECT
 public:
  explicit ModelBar(StudioSession* session, QWidget* parent = nullptr);

  QString scorer() const;
  void setScorer(const QString& scorer);

 public slots:
  void startCalibration();

 private:
  void refresh();

  StudioSession* session_;
  QLabel* name_;
  QLabel* facts_;
  QComboBox* scorer_;
  QPushButton* calibrate_;
};

// "llama · 30 layers · 3 KV heads x 64 · 23.0 kB of K and V per token"
QString modelFacts(const ModelSummary& model);

}  // namespace lamina::studio
