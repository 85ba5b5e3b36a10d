// SPDX-License-Identifier: GPL-3.0-or-later
// The plan in a dozen lines: bytes, ratio, predicted error, and how it stands against one recipe
// for all layers. Every figure is of the one PlanState it was given.
#pragma once

#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QGridLayout;
class QLabel;

namespace lamina::studio {

class SummaryPanel : public QWidget {
  Q_OBJECT
 public:
  explicit SummaryPanel(QWidget* parent = nullptr);

 public slots:
  void showPlan(const std::shared_ptr<const lamina::studio::PlanState>& plan);

 private:
  QLabel* addRow(QGridLayout* layout, const char* object_name, const QString& caption,
                 const QString& help);

  QLabel* budget_;
  QLabel* used_;
  QLabel* peak_;
  QLabel* full_;
  QLabel* predicted_;
  QLabel* distinct_;
  QLabel* uniform_;
  QLabel* against_;
  QLabel* method_;
};

}  // namespace lamina::studio
