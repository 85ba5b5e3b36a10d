// SPDX-License-Identifier: GPL-3.0-or-later
// The frontier plot with its title and a legend whose check boxes hide curves. Shows what the
// session's frontier job has for the present problem, never curves of an earlier one.
#pragma once

#include <QWidget>
#include <vector>

#include "widgets/plots/frontier_plot.h"

class QCheckBox;

namespace lamina::studio {

class PlanEditor;
class StudioSession;

class FrontierView : public QWidget {
  Q_OBJECT
 public:
  explicit FrontierView(PlanEditor* editor, QWidget* parent = nullptr);

  FrontierPlot* plot() const { return plot_; }
  // Names of hidden curves; kept in the settings.
  QStringList hiddenSeries() const;
  void setHiddenSeries(const QStringList& names);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showCurves();
  void paintLegend();

  PlanEditor* editor_;
  StudioSession* session_;
  FrontierPlot* plot_;
  std::vector<QCheckBox*> legend_;  // one a series
};

}  // namespace lamina::studio
