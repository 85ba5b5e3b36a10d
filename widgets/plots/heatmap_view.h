// SPDX-License-Identifier: GPL-3.0-or-later
// The heatmap with its title, legend and the line that spells out the cell under the cursor.
#pragma once

#include <QWidget>

#include "widgets/plots/heatmap_plot.h"

class QLabel;

namespace lamina::studio {

class HeatmapLegend;

class HeatmapView : public QWidget {
  Q_OBJECT
 public:
  explicit HeatmapView(HeatmapModel* model, QWidget* parent = nullptr);

  HeatmapPlot* plot() const { return plot_; }
  // How the table was made, behind the title: "prompt probe of 27 tokens, scorer triattention".
  void setOrigin(const QString& text);

 private:
  void updateReadout();

  HeatmapModel* model_;
  HeatmapPlot* plot_;
  QLabel* origin_;
  QLabel* readout_;
};

}  // namespace lamina::studio
