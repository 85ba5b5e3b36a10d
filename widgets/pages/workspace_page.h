// SPDX-License-Identifier: GPL-3.0-or-later
// The main page: model bar, heatmap beside plan table and summary, budget along the
// bottom. Shows a StudioSession, which must outlive it; holds no numbers of its own.
#pragma once

#include <QByteArray>
#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QSplitter;
class QStackedWidget;
class QTableView;

namespace lamina::studio {

class BudgetBar;
class HeatmapModel;
class HeatmapView;
class ModelBar;
class PlanTableModel;

class WorkspacePage : public QWidget {
  Q_OBJECT
 public:
  explicit WorkspacePage(StudioSession* session, QWidget* parent = nullptr);

  HeatmapView* heatmap() const { return heatmap_; }
  ModelBar* modelBar() const { return model_bar_; }
  HeatmapModel* heatmapModel() const { return cells_; }
  PlanTableModel* planModel() const { return plan_rows_; }

  QByteArray saveLayout() const;
  // False for anything but the result of saveLayout(); the layout is then the default one.
  bool restoreLayout(const QByteArray& state);
  void restoreDefaultLayout();

 private:
  QWidget* buildPlanSide();
  void showTable();
  void showRow(int layer);
  void showPlan(const std::shared_ptr<const PlanState>& plan);
  QString originText() const;

  StudioSession* session_;
  HeatmapModel* cells_;
  PlanTableModel* plan_rows_;
  ModelBar* model_bar_;
  HeatmapView* heatmap_;
  QTableView* plan_table_;
  QStackedWidget* plan_pages_;  // what to do first, or the table
  QSplitter* columns_;
  QSplitter* plan_side_;
};

}  // namespace lamina::studio
