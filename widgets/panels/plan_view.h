// SPDX-License-Identifier: GPL-3.0-or-later
// The plan table with what steers it: the method and the objective above it, the limits below. A
// layer is pinned by its check box or by choosing another keep, K or V in its row; the context menu
// forbids values for a layer or for all. Changes go through the editor.
#pragma once

#include <QWidget>
#include <memory>

#include "widgets/models/studio_session.h"

class QComboBox;
class QLabel;
class QMenu;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lamina::studio {

class PlanEditor;
class PlanTableModel;

class PlanView : public QWidget {
  Q_OBJECT
 public:
  explicit PlanView(PlanEditor* editor, QWidget* parent = nullptr);

  PlanTableModel* model() const { return model_; }
  QTableView* table() const { return table_; }
  // What a right click on a layer's row offers. The caller owns the menu.
  std::unique_ptr<QMenu> makeLimitsMenu(int layer);

 private:
  QWidget* buildHead();
  QWidget* buildFoot();
  void buildTable();
  void showPlan(const std::shared_ptr<const PlanState>& plan);
  void showMethods();
  void showObjective(const PlanState& plan);
  void showLimits();
  void applyMethod(int index);
  void applyObjective(int index);
  void openMenu(const QPoint& position);
  void addScopeMenu(QMenu* menu, const QString& title, int scope);
  void setLimits(const Limits& limits, const QString& what);
  void check(const QString& title, const Status& status);

  PlanEditor* editor_;
  StudioSession* session_;
  PlanTableModel* model_;
  QTableView* table_;
  QStackedWidget* pages_;  // what to do first, or the table
  QComboBox* method_;
  QComboBox* objective_;
  QLabel* limits_;
  QPushButton* clear_;
  std::uint64_t generation_ = 0;  // of the problem that the combo boxes were filled for
};

}  // namespace lamina::studio
