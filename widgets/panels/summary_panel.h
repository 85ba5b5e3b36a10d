// SPDX-License-Identifier: GPL-3.0-or-later
// The plan in a few lines (bytes, ratio, predicted error, how far from the bound), whether routing
// by layer buys anything here, and every method at the same budget. Every figure is of the one
// PlanState it was given.
#pragma once

#include <QWidget>
#include <memory>

#include "widgets/models/plan_state.h"

class QGridLayout;
class QTableView;

namespace lamina::studio {

class ComparisonModel;
class FigureLabel;

class SummaryPanel : public QWidget {
  Q_OBJECT
 public:
  explicit SummaryPanel(QWidget* parent = nullptr);

  ComparisonModel* comparison() const { return comparison_; }

 public slots:
  void showPlan(const std::shared_ptr<const lamina::studio::PlanState>& plan);

 private:
  FigureLabel* addRow(QGridLayout* layout, const char* object_name, const QString& caption,
                      const QString& help);
  QTableView* buildTable();

  ComparisonModel* comparison_;
  FigureLabel* predicted_;
  FigureLabel* exact_;
  FigureLabel* greedy_;
  FigureLabel* used_;
  FigureLabel* peak_;
  FigureLabel* full_;
  FigureLabel* distinct_;
  FigureLabel* headroom_;
};

}  // namespace lamina::studio
