// SPDX-License-Identifier: GPL-3.0-or-later
// Error against bytes, both on log axes: one curve a method, the bound that no plan beats, the plan
// on screen as a ring that follows the slider. Predictions are hollow, measurements filled. An
// error of exactly 0 has no logarithm: such points lie on a line of their own, labelled 0, at the
// lower edge. Hovering a point tells its plan; a click, or Enter after moving with the arrow keys,
// asks for its budget.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "widgets/models/frontier_job.h"
#include "widgets/models/plan_state.h"
#include "widgets/plots/frontier_series.h"
#include "widgets/plots/screen_plot.h"

namespace lamina::studio {

// A plan that was run, not predicted.
struct MeasuredPoint {
  double bytes = 0;
  double error = 0;  // of the objective shown
  QString text;      // what was measured, for the tooltip
};

// A point of a curve: index into frontierSeries() and into its points.
struct CurvePoint {
  int series = -1;
  int index = -1;
  bool isValid() const { return series >= 0 && index >= 0; }
  bool operator==(const CurvePoint&) const = default;
};

class FrontierPlot : public ScreenPlot {
  Q_OBJECT
 public:
  explicit FrontierPlot(QWidget* parent = nullptr);

  // Null: nothing is known. `status` is shown in the middle or, over curves, at the top: "computing
  // ...", an error, what to do first.
  void setCurves(std::shared_ptr<const FrontierSet> curves, const QString& status);
  // Null takes the ring away. A plan of another problem than the curves' is not drawn.
  void setPlan(std::shared_ptr<const PlanState> plan);
  void setMeasured(std::vector<MeasuredPoint> points);
  void setSeriesVisible(int series, bool visible);

  const FrontierSet* curves() const { return curves_.get(); }
  const QString& status() const { return status_; }
  const std::vector<MeasuredPoint>& measured() const { return measured_; }
  // Null where the series has no curve (yet).
  const std::vector<FrontierPoint>* points(int series) const;
  bool isSeriesVisible(int series) const;

  // The nearest point of a visible curve within reach of the mouse.
  CurvePoint pointAt(const QPointF& position) const;
  CurvePoint cursor() const { return cursor_; }
  QString pointText(const CurvePoint& point) const;
  // In widget coordinates, as of the last layout; errors of 0 lie on the zero line.
  QPointF pixelOf(double bytes, double error) const;
  // Where the ring is; none without a plan of these curves.
  std::optional<QPointF> ringAt() const;
  // The budget's x; none as above.
  std::optional<double> budgetPixel() const;
  // Labels now on the axes, for tests: "bytes", "ratio", "error".
  QStringList tickLabels(const QString& axis) const;

  QSize minimumSizeHint() const override { return {300, 150}; }
  QSize sizeHint() const override { return {700, 240}; }

 signals:
  void budgetPicked(std::int64_t bytes);

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void buildLayout();
  void applyPalette();
  void refill();
  void fitRange();
  void fitLabels();
  double logError(double error) const;
  bool ringFits() const;
  void moveCursor(CurvePoint point);
  void stepAlong(int step);
  void stepAcross(int step);
  CurvePoint firstPoint() const;

  std::shared_ptr<const FrontierSet> curves_;
  std::shared_ptr<const PlanState> plan_;
  std::vector<MeasuredPoint> measured_;
  QString status_;
  std::vector<QCPGraph*> graphs_;  // one a series; owned by the plot
  CurvePoint cursor_;              // hovered, or moved to by keys
  double floor_ = -3;              // log10 of where an error of 0 is drawn
  bool has_zero_ = false;
};

}  // namespace lamina::studio
