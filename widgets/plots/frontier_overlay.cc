// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/frontier_overlay.h"

#include "widgets/plots/color_map.h"

namespace lamina::studio {
namespace {

constexpr double kRing = 6.5;

}  // namespace

FrontierOverlay::FrontierOverlay(FrontierPlot* plot)
    : QCPLayerable(plot, QStringLiteral("overlay")), plot_(plot) {}

void FrontierOverlay::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  applyAntialiasingHint(painter, true, QCP::aeOther);
}

QRect FrontierOverlay::clipRect() const { return plot_->axisRect()->rect().adjusted(-8, -8, 8, 8); }

void FrontierOverlay::draw(QCPPainter* painter) {
  drawMeasured(painter);
  drawPlan(painter);
  drawCursor(painter);
  drawStatus(painter);
}

void FrontierOverlay::drawMeasured(QCPPainter* painter) const {
  const QColor ink = plot_->palette().color(QPalette::WindowText);
  painter->setPen(QPen(plot_->palette().color(QPalette::Window), 1.0));
  painter->setBrush(ink);
  for (const MeasuredPoint& point : plot_->measured()) {
    painter->drawEllipse(plot_->pixelOf(point.bytes, point.error), 4.5, 4.5);
  }
}

void FrontierOverlay::drawPlan(QCPPainter* painter) const {
  const QRect area = plot_->axisRect()->rect();
  const QColor color = plot_->palette().color(QPalette::Highlight);
  if (const auto x = plot_->budgetPixel()) {
    painter->setAntialiasing(false);
    painter->setPen(QPen(color, 1.0, Qt::DashLine));
    painter->drawLine(QLineF(*x, area.top(), *x, area.bottom()));
    painter->setAntialiasing(true);
  }
  const auto ring = plot_->ringAt();
  if (!ring) return;
  painter->setBrush(Qt::NoBrush);
  painter->setPen(QPen(plot_->palette().color(QPalette::Window), 5.0));
  painter->drawEllipse(*ring, kRing, kRing);
  painter->setPen(QPen(color, 2.5));
  painter->drawEllipse(*ring, kRing, kRing);
}

void FrontierOverlay::drawCursor(QCPPainter* painter) const {
  const QColor color = plot_->palette().color(QPalette::WindowText);
  painter->setBrush(Qt::NoBrush);
  const CurvePoint cursor = plot_->cursor();
  if (const auto* points = plot_->points(cursor.series); points && cursor.isValid()) {
    const Solution& solution = (*points)[static_cast<std::size_t>(cursor.index)].solution;
    const QPointF at = plot_->pixelOf(solution.used_bytes, solution.predicted);
    painter->setPen(QPen(color, 1.5));
    painter->drawRect(QRectF(at.x() - 6, at.y() - 6, 12, 12));
  }
  if (plot_->hasFocus()) {
    painter->setPen(QPen(plot_->palette().color(QPalette::Highlight), 2.0));
    painter->drawRect(QRectF(plot_->axisRect()->rect()).adjusted(-2, -2, 2, 2));
  }
}

void FrontierOverlay::drawStatus(QCPPainter* painter) const {
  if (plot_->status().isEmpty()) return;
  const QRect area = plot_->axisRect()->rect().adjusted(6, 4, -6, -4);
  const bool over_curves = plot_->curves() != nullptr;
  const int flags = over_curves ? Qt::AlignRight | Qt::AlignTop | Qt::TextWordWrap
                                : Qt::AlignCenter | Qt::TextWordWrap;
  painter->setFont(plot_->font());
  QRect box = painter->fontMetrics().boundingRect(area, flags, plot_->status());
  painter->fillRect(box.adjusted(-4, -2, 4, 2), plot_->palette().color(QPalette::Window));
  painter->setPen(mutedTextColor(plot_->palette()));
  painter->drawText(area, flags, plot_->status());
}

}  // namespace lamina::studio
