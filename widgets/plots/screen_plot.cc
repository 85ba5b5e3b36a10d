// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/screen_plot.h"

#include <QTimer>
#include <QWindow>
#include <utility>

namespace lamina::studio {

ScreenPlot::ScreenPlot(QWidget* parent) : QCustomPlot(parent) {}

// A plot that was never laid out has no surface to paint on; it is painted when it is shown.
void ScreenPlot::replotSoon() {
  if (isVisible()) replot(rpQueuedReplot);
}

void ScreenPlot::replotOverlaySoon() {
  if (!isVisible() || std::exchange(overlay_pending_, true)) return;
  QTimer::singleShot(0, this, [this] {
    overlay_pending_ = false;
    layer(QStringLiteral("overlay"))->replot();
  });
}

void ScreenPlot::showEvent(QShowEvent* event) {
  QCustomPlot::showEvent(event);
  if (QWindow* handle = window()->windowHandle()) {
    connect(handle, &QWindow::screenChanged, this, &ScreenPlot::followScreen, Qt::UniqueConnection);
  }
  followScreen();
}

// While its page is hidden the plot may have no area at all, on which nothing can be painted.
void ScreenPlot::resizeEvent(QResizeEvent* event) {
  if (!event->size().isEmpty()) QCustomPlot::resizeEvent(event);
}

void ScreenPlot::followScreen() {
  if (bufferDevicePixelRatio() != devicePixelRatioF())
    setBufferDevicePixelRatio(devicePixelRatioF());
  replotSoon();
}

bool ScreenPlot::setTicks(QCPAxis* axis, const std::vector<Tick>& ticks) {
  QMap<double, QString> labels;
  for (const Tick& tick : ticks) labels.insert(tick.position, tick.label);
  auto ticker = qSharedPointerDynamicCast<QCPAxisTickerText>(axis->ticker());
  if (ticker->ticks() == labels) return false;
  ticker->setTicks(labels);
  return true;
}

QStringList ScreenPlot::labelsOf(QCPAxis* axis) {
  return qSharedPointerDynamicCast<QCPAxisTickerText>(axis->ticker())->ticks().values();
}

}  // namespace lamina::studio
