// SPDX-License-Identifier: GPL-3.0-or-later
// What lies over the heatmap's colours. The marks stay as long as the table: hatching of cells that
// were not measured, a 0 in exact zeros, separators between blocks. The overlay moves with the
// slider and has a paint buffer of its own: the outline of chosen cells and the cell cursor. Both
// are owned by their plot.
#pragma once

#include <qcustomplot.h>

#include "widgets/plots/heatmap_plot.h"

namespace lamina::studio {

class HeatmapMarks : public QCPLayerable {
  Q_OBJECT
 public:
  explicit HeatmapMarks(HeatmapPlot* plot);

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  QRect clipRect() const override;
  void draw(QCPPainter* painter) override;

 private:
  void drawStates(QCPPainter* painter) const;
  void drawSeparators(QCPPainter* painter) const;

  HeatmapPlot* plot_;
};

class HeatmapOverlay : public QCPLayerable {
  Q_OBJECT
 public:
  explicit HeatmapOverlay(HeatmapPlot* plot);

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  QRect clipRect() const override;
  void draw(QCPPainter* painter) override;

 private:
  void drawChosen(QCPPainter* painter) const;
  void drawCursor(QCPPainter* painter) const;

  HeatmapPlot* plot_;
};

// The outline of a chosen cell: black within white, so that it stands out of every colour. Also
// drawn by the legend.
void drawChosenOutline(QPainter* painter, const QRectF& cell);
// The hatching of a cell that was not measured.
void drawMissing(QPainter* painter, const QRectF& cell, const QPalette& palette);

}  // namespace lamina::studio
