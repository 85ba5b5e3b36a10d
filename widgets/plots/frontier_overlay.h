// SPDX-License-Identifier: GPL-3.0-or-later
// What moves on the frontier plot: the plan's ring with its budget line, the cursor's point with
// the focus, measured points and the status text. Has a paint buffer of its own, so that the curves
// are not drawn again. Owned by its plot.
#pragma once

#include "widgets/plots/frontier_plot.h"

namespace lamina::studio {

class FrontierOverlay : public QCPLayerable {
  Q_OBJECT
 public:
  explicit FrontierOverlay(FrontierPlot* plot);

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  QRect clipRect() const override;
  void draw(QCPPainter* painter) override;

 private:
  void drawMeasured(QCPPainter* painter) const;
  void drawPlan(QCPPainter* painter) const;
  void drawCursor(QCPPainter* painter) const;
  void drawStatus(QCPPainter* painter) const;

  FrontierPlot* plot_;
};

}  // namespace lamina::studio
