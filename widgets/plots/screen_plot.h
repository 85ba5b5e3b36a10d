// SPDX-License-Identifier: GPL-3.0-or-later
// A QCustomPlot that follows its screen's scale, never paints on an empty area, and can repaint
// what moves (the buffered layer "overlay") without what stays.
#pragma once

#include <qcustomplot.h>

#include "widgets/plots/axis_labels.h"

namespace lamina::studio {

class ScreenPlot : public QCustomPlot {
  Q_OBJECT
 public:
  explicit ScreenPlot(QWidget* parent = nullptr);

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

  // Once per turn of the event loop, however often it is asked for.
  void replotSoon();
  void replotOverlaySoon();
  // False where the axis has these already.
  static bool setTicks(QCPAxis* axis, const std::vector<Tick>& ticks);
  static QStringList labelsOf(QCPAxis* axis);

 private:
  void followScreen();

  bool overlay_pending_ = false;
};

}  // namespace lamina::studio
