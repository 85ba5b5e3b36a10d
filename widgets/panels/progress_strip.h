// SPDX-License-Identifier: GPL-3.0-or-later
// The running job: what it is, how far, how fast, how long still, and a button that stops it.
// Hidden while nothing runs, and for jobs that are over
// at once.
#pragma once

#include <QFrame>

#include "widgets/models/job_runner.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QTimer;

namespace lamina::studio {

class ProgressStrip : public QFrame {
  Q_OBJECT
 public:
  explicit ProgressStrip(JobRunner* jobs, QWidget* parent = nullptr);

 private:
  void start(const QString& title);
  void report(const Progress& progress);

  QLabel* title_;
  QProgressBar* bar_;
  QLabel* detail_;
  QPushButton* cancel_;
  QTimer* delay_;
};

// "12 of 30 layers · 8.3 layers/s · 0:03 left"
QString progressText(const Progress& progress);

}  // namespace lamina::studio
