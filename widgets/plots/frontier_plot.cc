// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/frontier_plot.h"

#include <QAccessible>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "widgets/models/text.h"
#include "widgets/plots/color_map.h"
#include "widgets/plots/frontier_overlay.h"

namespace lamina::studio {
namespace {

constexpr double kReach = 12;  // pixels
constexpr int kMarkersACurve = 14;
constexpr double kPadDecades = 0.04;

// The longest of the texts that fits along the axis; true where that is another one.
bool setLabel(QCPAxis* axis, int pixels, const QStringList& texts) {
  const QFontMetrics metrics(axis->labelFont());
  QString chosen = texts.back();
  for (const QString& text : texts) {
    if (metrics.horizontalAdvance(text) > pixels) continue;
    chosen = text;
    break;
  }
  if (axis->label() == chosen) return false;
  axis->setLabel(chosen);
  return true;
}

}  // namespace

FrontierPlot::FrontierPlot(QWidget* parent) : ScreenPlot(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(tr("Frontier: predicted error against bytes"));
  setAccessibleDescription(
      tr("Left and Right move along a curve, Up and Down to another one, Enter sets the budget of "
         "the point"));
  setWhatsThis(accessibleDescription());
  buildLayout();
  new FrontierOverlay(this);
  applyPalette();
  connect(this, &QCustomPlot::afterLayout, this, &FrontierPlot::fitLabels);
  refill();
}

void FrontierPlot::buildLayout() {
  axisRect()->setupFullAxesBox(false);
  for (QCPAxis* axis : {xAxis, xAxis2, yAxis}) {
    axis->setVisible(true);
    axis->setTicker(QSharedPointer<QCPAxisTickerText>(new QCPAxisTickerText));
    axis->setTickLabels(true);
    axis->setTickLength(0, 3);
    axis->setSubTicks(false);
  }
  xAxis2->grid()->setVisible(false);
  yAxis2->setVisible(false);
  // The first series is the last to be drawn, over all others.
  graphs_.resize(frontierSeries().size());
  for (std::size_t i = frontierSeries().size(); i-- > 0;) {
    QCPGraph* graph = addGraph(xAxis, yAxis);
    graph->setLineStyle(frontierSeries()[i].steps ? QCPGraph::lsStepLeft : QCPGraph::lsLine);
    graph->setAdaptiveSampling(false);
    graph->setSelectable(QCP::stNone);
    graphs_[i] = graph;
  }
}

void FrontierPlot::applyPalette() {
  const QColor text = palette().color(QPalette::WindowText);
  const QColor window = palette().color(QPalette::Window);
  const QColor line = blend(window, text, 0.5);
  setBackground(QBrush(window));
  QFont tick_font = font();
  if (tick_font.pointSizeF() > 0)
    tick_font.setPointSizeF(std::max(7.0, tick_font.pointSizeF() - 1));
  for (QCPAxis* axis : {xAxis, xAxis2, yAxis}) {
    axis->setTickLabelColor(text);
    axis->setLabelColor(text);
    axis->setTickPen(QPen(line));
    axis->setBasePen(QPen(line));
    axis->setTickLabelFont(tick_font);
    axis->setLabelFont(font());
    axis->grid()->setPen(QPen(blend(window, text, 0.12), 1.0));
    axis->grid()->setZeroLinePen(Qt::NoPen);
  }
  for (std::size_t i = 0; i < graphs_.size(); ++i) {
    graphs_[i]->setPen(seriesPen(frontierSeries()[i], palette()));
    graphs_[i]->setScatterStyle(seriesScatter(frontierSeries()[i], palette(), 6));
  }
  replotSoon();
}

const std::vector<FrontierPoint>* FrontierPlot::points(int series) const {
  const auto& all = frontierSeries();
  if (!curves_ || series < 0 || series >= static_cast<int>(all.size())) return nullptr;
  const SeriesStyle& style = all[static_cast<std::size_t>(series)];
  if (style.is_bound) return nullptr;
  for (const FrontierCurve& curve : curves_->curves) {
    if (curve.method == style.method) return curve.points.empty() ? nullptr : &curve.points;
  }
  return nullptr;
}

bool FrontierPlot::isSeriesVisible(int series) const {
  return graphs_[static_cast<std::size_t>(series)]->visible();
}

void FrontierPlot::setSeriesVisible(int series, bool visible) {
  graphs_[static_cast<std::size_t>(series)]->setVisible(visible);
  if (!visible && cursor_.series == series) cursor_ = {};
  replotSoon();
}

void FrontierPlot::setCurves(std::shared_ptr<const FrontierSet> curves, const QString& status) {
  status_ = status;
  if (curves == curves_) return replotOverlaySoon();
  curves_ = std::move(curves);
  const auto* known = points(cursor_.series);
  if (!known || cursor_.index >= static_cast<int>(known->size())) cursor_ = {};
  refill();
}

void FrontierPlot::setPlan(std::shared_ptr<const PlanState> plan) {
  plan_ = std::move(plan);
  replotOverlaySoon();
}

void FrontierPlot::setMeasured(std::vector<MeasuredPoint> points) {
  measured_ = std::move(points);
  fitRange();
  replotSoon();
}

double FrontierPlot::logError(double error) const { return error > 0 ? std::log10(error) : floor_; }

// The range of everything known; exact zeros get a line below the smallest positive error.
void FrontierPlot::fitRange() {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  has_zero_ = false;
  const auto take = [&](double error) {
    if (error <= 0) {
      has_zero_ = true;
      return;
    }
    low = std::min(low, std::log10(error));
    high = std::max(high, std::log10(error));
  };
  if (curves_) {
    for (const FrontierCurve& curve : curves_->curves) {
      for (const FrontierPoint& point : curve.points) take(point.solution.predicted);
    }
    for (const BoundPoint& point : curves_->bound) take(point.error);
  }
  for (const MeasuredPoint& point : measured_) take(point.error);
  if (low > high) low = -3, high = 0;
  if (high - low < 0.5) low -= 0.25, high += 0.25;
  const double pad = 0.04 * (high - low);
  floor_ = has_zero_ ? low - 0.1 * (high - low) : low;
  yAxis->setRange(floor_ - pad, high + pad);
  if (!curves_) return;
  const double small = std::log10(std::max(1.0, curves_->smallest_bytes));
  const double full = std::log10(std::max(1.0, curves_->full_bytes));
  xAxis->setRange(std::min(small, full) - kPadDecades, std::max(small, full) + kPadDecades);
  xAxis2->setRange(xAxis->range());
}

void FrontierPlot::refill() {
  fitRange();
  for (std::size_t i = 0; i < graphs_.size(); ++i) {
    auto container = QSharedPointer<QCPGraphDataContainer>::create();
    const auto add = [&](double bytes, double error) {
      if (bytes > 0) container->add(QCPGraphData(std::log10(bytes), logError(error)));
    };
    if (const auto* known = points(static_cast<int>(i))) {
      for (const FrontierPoint& point : *known) {
        add(point.solution.used_bytes, point.solution.predicted);
      }
    } else if (frontierSeries()[i].is_bound && curves_) {
      for (const BoundPoint& point : curves_->bound) add(point.bytes, point.error);
    }
    graphs_[i]->setScatterSkip(std::max(0, container->size() / kMarkersACurve - 1));
    graphs_[i]->setData(container);
  }
  const bool known = curves_ != nullptr;
  for (QCPAxis* axis : {xAxis, xAxis2, yAxis}) {
    axis->setTicks(known);
    axis->grid()->setVisible(known && axis != xAxis2);
  }
  xAxis2->setLabel({});
  replotSoon();
}

// Runs after every layout, when the plot's size is known.
void FrontierPlot::fitLabels() {
  if (!curves_) return;
  const QFontMetrics metrics(xAxis->tickLabelFont());
  const QRect area = axisRect()->rect();
  const double widest = metrics.horizontalAdvance(QStringLiteral("00000"));
  std::vector<Tick> bytes = logTicks(xAxis->range().lower - 6, xAxis->range().upper - 6,
                                     static_cast<int>(area.width() / (1.6 * widest)));
  for (Tick& tick : bytes) tick.position += 6;
  std::vector<Tick> ratios;
  double free_from = -1;
  for (const double ratio : {100., 50., 28., 20., 14., 10., 7., 5., 4., 3., 2., 1.5, 1.}) {
    const double at = std::log10(curves_->full_bytes / ratio);
    const double pixel = xAxis->coordToPixel(at);
    if (!xAxis->range().contains(at) || pixel < free_from) continue;
    ratios.push_back({at, QStringLiteral("%1x").arg(QString::number(ratio, 'g', 3))});
    free_from = pixel + 1.3 * widest;
  }
  const double low = has_zero_ ? floor_ + 0.06 * yAxis->range().size() : yAxis->range().lower;
  std::vector<Tick> errors = logTicks(low, yAxis->range().upper,
                                      static_cast<int>(area.height() / (1.6 * metrics.height())));
  if (has_zero_) errors.push_back({floor_, QStringLiteral("0")});
  const QString symbol = objectiveSymbol(curves_->objective);
  const QString kind = bytesKindText(curves_->kind);
  const bool changed =
      setTicks(xAxis, bytes) | setTicks(xAxis2, ratios) | setTicks(yAxis, errors) |
      setLabel(
          xAxis, area.width(),
          {tr("MB of one request's cache (%1)").arg(kind), tr("MB (%1)").arg(kind), tr("MB")}) |
      setLabel(
          yAxis, area.height(),
          {tr("Predicted error, sum of %1").arg(symbol), tr("Predicted %1").arg(symbol), symbol});
  if (changed) replotSoon();
}

QStringList FrontierPlot::tickLabels(const QString& axis) const {
  if (axis == QLatin1String("bytes")) return labelsOf(xAxis);
  if (axis == QLatin1String("ratio")) return labelsOf(xAxis2);
  return axis == QLatin1String("error") ? labelsOf(yAxis) : QStringList();
}

QPointF FrontierPlot::pixelOf(double bytes, double error) const {
  return {xAxis->coordToPixel(std::log10(std::max(1.0, bytes))),
          yAxis->coordToPixel(logError(error))};
}

bool FrontierPlot::ringFits() const {
  return plan_ && curves_ && plan_->generation == curves_->generation;
}

std::optional<QPointF> FrontierPlot::ringAt() const {
  if (!ringFits()) return std::nullopt;
  return pixelOf(plan_->solution.used_bytes, plan_->solution.predicted);
}

std::optional<double> FrontierPlot::budgetPixel() const {
  if (!ringFits()) return std::nullopt;
  return xAxis->coordToPixel(std::log10(static_cast<double>(plan_->budget)));
}

CurvePoint FrontierPlot::pointAt(const QPointF& position) const {
  CurvePoint nearest;
  double best = kReach * kReach;
  for (int series = 0; series < static_cast<int>(graphs_.size()); ++series) {
    const auto* known = points(series);
    if (!known || !isSeriesVisible(series)) continue;
    for (std::size_t i = 0; i < known->size(); ++i) {
      const Solution& solution = (*known)[i].solution;
      const QPointF away = pixelOf(solution.used_bytes, solution.predicted) - position;
      const double distance = QPointF::dotProduct(away, away);
      if (distance >= best) continue;
      best = distance;
      nearest = {series, static_cast<int>(i)};
    }
  }
  return nearest;
}

QString FrontierPlot::pointText(const CurvePoint& point) const {
  const auto* known = points(point.series);
  if (!known || !point.isValid()) return {};
  const Solution& solution = (*known)[static_cast<std::size_t>(point.index)].solution;
  return tr("%1\n%2\npredicted error %3 (sum of %4)\n%5")
      .arg(methodText(solution.method), budgetText(solution.used_bytes, curves_->full_bytes),
           errorText(solution.predicted), objectiveSymbol(curves_->objective),
           mixText(solution.layers));
}

void FrontierPlot::moveCursor(CurvePoint point) {
  if (point == cursor_) return;
  cursor_ = point;
  if (cursor_.isValid()) {
    setAccessibleDescription(pointText(cursor_).replace(QLatin1Char('\n'), QStringLiteral(", ")));
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
  }
  replotOverlaySoon();
}

CurvePoint FrontierPlot::firstPoint() const {
  for (int series = 0; series < static_cast<int>(graphs_.size()); ++series) {
    if (points(series) && isSeriesVisible(series)) return {series, 0};
  }
  return {};
}

void FrontierPlot::stepAlong(int step) {
  const auto* known = points(cursor_.series);
  if (!known) return moveCursor(firstPoint());
  moveCursor(
      {cursor_.series, std::clamp(cursor_.index + step, 0, static_cast<int>(known->size()) - 1)});
}

// To the point of the next curve that lies nearest in bytes.
void FrontierPlot::stepAcross(int step) {
  const auto* known = points(cursor_.series);
  if (!known) return moveCursor(firstPoint());
  const double bytes = (*known)[static_cast<std::size_t>(cursor_.index)].solution.used_bytes;
  const int count = static_cast<int>(graphs_.size());
  for (int i = 1; i < count; ++i) {
    const int series = (cursor_.series + step * i + count * count) % count;
    const auto* other = points(series);
    if (!other || !isSeriesVisible(series)) continue;
    const auto nearest = std::min_element(
        other->begin(), other->end(), [bytes](const FrontierPoint& a, const FrontierPoint& b) {
          return std::abs(a.solution.used_bytes - bytes) < std::abs(b.solution.used_bytes - bytes);
        });
    return moveCursor({series, static_cast<int>(nearest - other->begin())});
  }
}

bool FrontierPlot::event(QEvent* event) {
  // The tooltip is shown as the mouse moves.
  if (event->type() == QEvent::ToolTip) return true;
  return ScreenPlot::event(event);
}

void FrontierPlot::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return stepAlong(-1);
    case Qt::Key_Right:
      return stepAlong(1);
    case Qt::Key_Up:
      return stepAcross(-1);
    case Qt::Key_Down:
      return stepAcross(1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (const auto* known = points(cursor_.series)) {
        emit budgetPicked((*known)[static_cast<std::size_t>(cursor_.index)].budget);
      }
      return;
    default:
      ScreenPlot::keyPressEvent(event);
  }
}

void FrontierPlot::mouseMoveEvent(QMouseEvent* event) {
  ScreenPlot::mouseMoveEvent(event);
  const QPointF position = event->position();
  for (const MeasuredPoint& point : measured_) {
    const QPointF away = pixelOf(point.bytes, point.error) - position;
    if (QPointF::dotProduct(away, away) >= kReach * kReach) continue;
    moveCursor({});
    QToolTip::showText(
        event->globalPosition().toPoint(),
        tr("%1\n%2\nmeasured %3").arg(point.text, mbText(point.bytes), errorText(point.error)),
        this);
    return;
  }
  moveCursor(pointAt(position));
  if (cursor_.isValid()) {
    QToolTip::showText(event->globalPosition().toPoint(), pointText(cursor_), this);
  } else {
    QToolTip::hideText();
  }
  if (cursor_.isValid()) {
    setCursor(Qt::PointingHandCursor);
  } else {
    unsetCursor();
  }
}

void FrontierPlot::mousePressEvent(QMouseEvent* event) {
  ScreenPlot::mousePressEvent(event);
  if (event->button() != Qt::LeftButton) return;
  const CurvePoint point = pointAt(event->position());
  if (const auto* known = points(point.series)) {
    emit budgetPicked((*known)[static_cast<std::size_t>(point.index)].budget);
  }
}

void FrontierPlot::leaveEvent(QEvent* event) {
  ScreenPlot::leaveEvent(event);
  moveCursor({});
}

void FrontierPlot::focusInEvent(QFocusEvent* event) {
  ScreenPlot::focusInEvent(event);
  replotOverlaySoon();
}

void FrontierPlot::focusOutEvent(QFocusEvent* event) {
  ScreenPlot::focusOutEvent(event);
  replotOverlaySoon();
}

void FrontierPlot::changeEvent(QEvent* event) {
  ScreenPlot::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyPalette();
}

}  // namespace lamina::studio
