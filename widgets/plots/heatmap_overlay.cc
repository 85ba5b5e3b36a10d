// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/heatmap_overlay.h"

#include <algorithm>

namespace lamina::studio {

void drawChosenOutline(QPainter* painter, const QRectF& cell) {
  // Cells of many layers are only a few pixels high: the outline then lies on their edge.
  const double inset = cell.height() >= 8 && cell.width() >= 8 ? 1.0 : 0.0;
  const QRectF rect = cell.adjusted(inset, inset, -inset, -inset);
  const bool small = cell.height() < 8;
  painter->setBrush(Qt::NoBrush);
  painter->setPen(QPen(Qt::black, small ? 2.0 : 3.5, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  painter->drawRect(rect);
  painter->setPen(QPen(Qt::white, small ? 1.0 : 1.5, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  painter->drawRect(rect);
}

void drawMissing(QPainter* painter, const QRectF& cell, const QPalette& palette) {
  painter->fillRect(cell, QBrush(hatchColor(palette), Qt::BDiagPattern));
}

HeatmapMarks::HeatmapMarks(HeatmapPlot* plot)
    : QCPLayerable(plot, QStringLiteral("main")), plot_(plot) {}

void HeatmapMarks::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  applyAntialiasingHint(painter, false, QCP::aeOther);
}

QRect HeatmapMarks::clipRect() const { return plot_->axisRect()->rect(); }

void HeatmapMarks::draw(QCPPainter* painter) {
  if (plot_->heatmapModel().layers() == 0) return;
  drawStates(painter);
  drawSeparators(painter);
}

HeatmapOverlay::HeatmapOverlay(HeatmapPlot* plot)
    : QCPLayerable(plot, QStringLiteral("overlay")), plot_(plot) {}

void HeatmapOverlay::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  applyAntialiasingHint(painter, false, QCP::aeOther);
}

QRect HeatmapOverlay::clipRect() const { return plot_->axisRect()->rect().adjusted(-4, -4, 4, 4); }

void HeatmapOverlay::draw(QCPPainter* painter) {
  if (plot_->heatmapModel().layers() == 0) return;
  drawChosen(painter);
  drawCursor(painter);
}

void HeatmapMarks::drawStates(QCPPainter* painter) const {
  const HeatmapModel& model = plot_->heatmapModel();
  const QFontMetrics metrics(painter->font());
  painter->setPen(Qt::black);
  for (int layer = 0; layer < model.layers(); ++layer) {
    for (int config = 0; config < model.configs(); ++config) {
      const CellState state = model.state(layer, config);
      if (state == CellState::kPositive) continue;
      const QRectF cell = plot_->cellRect(layer, config);
      if (state == CellState::kMissing) {
        drawMissing(painter, cell, plot_->palette());
      } else if (cell.height() >= metrics.height() - 2 &&
                 cell.width() > metrics.horizontalAdvance(QLatin1Char('0')) + 3) {
        painter->drawText(cell, Qt::AlignCenter, QStringLiteral("0"));
      }
    }
  }
}

void HeatmapMarks::drawSeparators(QCPPainter* painter) const {
  const ConfigGrid& grid = plot_->heatmapModel().grid();
  const int v_count = static_cast<int>(grid.v_bits.size());
  const int block = v_count * static_cast<int>(grid.k_bits.size());
  const QRect area = plot_->axisRect()->rect();
  const QColor color = plot_->palette().color(QPalette::Window);
  const double cell = plot_->cellRect(0, 0).width();
  for (int config = v_count; config < grid.size(); config += v_count) {
    const bool keep_block = config % block == 0;
    if (!keep_block && (v_count == 1 || cell < 5)) continue;
    painter->setPen(QPen(color, keep_block ? 3.0 : 1.0));
    const double x = plot_->cellRect(0, config).left();
    painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  }
}

void HeatmapOverlay::drawChosen(QCPPainter* painter) const {
  const HeatmapModel& model = plot_->heatmapModel();
  for (int layer = 0; layer < model.layers(); ++layer) {
    const int config = model.chosen(layer);
    if (config >= 0) drawChosenOutline(painter, plot_->cellRect(layer, config));
  }
}

void HeatmapOverlay::drawCursor(QCPPainter* painter) const {
  const Cell cursor = plot_->cursor();
  const bool focused = plot_->hasFocus();
  if (!cursor.isValid() && !focused) return;
  // Without a cursor the focus is shown around all cells; the first arrow key sets one.
  const QRectF around = cursor.isValid() ? plot_->cellRect(cursor.layer, cursor.config)
                                         : QRectF(plot_->axisRect()->rect());
  const QColor color =
      focused ? plot_->palette().color(QPalette::Highlight) : mutedTextColor(plot_->palette());
  const QRectF frame = around.adjusted(-2, -2, 2, 2);
  painter->setBrush(Qt::NoBrush);
  if (cursor.isValid()) {
    painter->setPen(QPen(Qt::white, 4.0));
    painter->drawRect(frame);
  }
  painter->setPen(QPen(color, 2.0));
  painter->drawRect(frame);
}

}  // namespace lamina::studio
