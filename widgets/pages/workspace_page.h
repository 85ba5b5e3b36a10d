// SPDX-License-Identifier: GPL-3.0-or-later
// The main page: model and deployment on top, heatmap over frontier beside plan table and summary,
// budget along the bottom. Shows an editor's session, which must outlive it; holds no numbers of
// its own.
#pragma once

#include <QByteArray>
#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QSplitter;

namespace lamina::studio {

class DeploymentBar;
class FrontierView;
class HeatmapModel;
class HeatmapView;
class ModelBar;
class PlanEditor;
class PlanTableModel;
class PlanView;

class WorkspacePage : public QWidget {
  Q_OBJECT
 public:
  explicit WorkspacePage(PlanEditor* editor, QWidget* parent = nullptr);

  HeatmapView* heatmap() const { return heatmap_; }
  FrontierView* frontier() const { return frontier_; }
  ModelBar* modelBar() const { return model_bar_; }
  DeploymentBar* deploymentBar() const { return deployment_bar_; }
  PlanView* planView() const { return plan_view_; }
  HeatmapModel* heatmapModel() const { return cells_; }
  PlanTableModel* planModel() const;

  QByteArray saveLayout() const;
  // False for anything but the result of saveLayout(); the layout is then the default one.
  bool restoreLayout(const QByteArray& state);
  void restoreDefaultLayout();

 private:
  QWidget* buildPlanSide();
  void followCursor();
  void showTable();
  void showRow(int layer);
  void showPlan(const std::shared_ptr<const PlanState>& plan);
  QString originText() const;

  PlanEditor* editor_;
  StudioSession* session_;
  HeatmapModel* cells_;
  ModelBar* model_bar_;
  DeploymentBar* deployment_bar_;
  HeatmapView* heatmap_;
  FrontierView* frontier_;
  PlanView* plan_view_;
  std::uint64_t generation_ = 0;  // of the problem whose costs the heatmap has
  QSplitter* plots_;
  QSplitter* columns_;
  QSplitter* plan_side_;
};

}  // namespace lamina::studio
