// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/budget_slider.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QSignalBlocker>
#include <QStyle>
#include <QStyleOptionSlider>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/models/text.h"
#include "widgets/plots/color_map.h"

namespace lamina::studio {
namespace {

constexpr int kWheelRestMs = 400;
constexpr int kCornerPage = 10;

}  // namespace

BudgetSlider::BudgetSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
  setRange(0, kSteps);
  setSingleStep(5);
  setPageStep(100);
  setAccessibleName(tr("Memory budget"));
  setToolTip(
      tr("Drag, turn the wheel, or use the arrow and page keys: the plan is solved again at every "
         "move.\nShift while dragging snaps to the corners of the frontier."));
  wheel_rest_.setSingleShot(true);
  wheel_rest_.setInterval(kWheelRestMs);
  connect(&wheel_rest_, &QTimer::timeout, this, &BudgetSlider::end);
  connect(this, &QSlider::valueChanged, this, &BudgetSlider::move);
}

void BudgetSlider::move(int position) {
  const std::int64_t bytes = bytesAt(position);
  bytes_ = snapping_ != shift_ ? nearestCorner(bytes) : bytes;
  emit bytesMoved(bytes_);
}

void BudgetSlider::begin() {
  if (std::exchange(in_gesture_, true)) return;
  emit gestureBegan();
}

void BudgetSlider::end() {
  wheel_rest_.stop();
  if (std::exchange(in_gesture_, false)) emit gestureEnded();
}

void BudgetSlider::mousePressEvent(QMouseEvent* event) {
  shift_ = event->modifiers().testFlag(Qt::ShiftModifier);
  begin();
  QSlider::mousePressEvent(event);
}

void BudgetSlider::mouseMoveEvent(QMouseEvent* event) {
  shift_ = event->modifiers().testFlag(Qt::ShiftModifier);
  QSlider::mouseMoveEvent(event);
}

void BudgetSlider::mouseReleaseEvent(QMouseEvent* event) {
  QSlider::mouseReleaseEvent(event);
  shift_ = false;
  end();
}

void BudgetSlider::keyPressEvent(QKeyEvent* event) {
  begin();
  if (snapping_) {
    switch (event->key()) {
      case Qt::Key_Left:
      case Qt::Key_Down:
        return stepCorners(-1);
      case Qt::Key_Right:
      case Qt::Key_Up:
        return stepCorners(1);
      case Qt::Key_PageDown:
        return stepCorners(-kCornerPage);
      case Qt::Key_PageUp:
        return stepCorners(kCornerPage);
      default:
        break;
    }
  }
  QSlider::keyPressEvent(event);
}

void BudgetSlider::keyReleaseEvent(QKeyEvent* event) {
  QSlider::keyReleaseEvent(event);
  if (!event->isAutoRepeat()) end();
}

void BudgetSlider::focusOutEvent(QFocusEvent* event) {
  QSlider::focusOutEvent(event);
  end();
}

void BudgetSlider::wheelEvent(QWheelEvent* event) {
  begin();
  wheel_rest_.start();
  const int notches = event->angleDelta().y() / QWheelEvent::DefaultDeltasPerStep;
  if (!snapping_ || notches == 0) {
    QSlider::wheelEvent(event);
    return;
  }
  stepCorners(notches);
  event->accept();
}

void BudgetSlider::stepCorners(int count) {
  if (corners_.empty()) return;
  // The first corner above, or the last below, counts as one place.
  const auto at = count > 0 ? std::upper_bound(corners_.begin(), corners_.end(), bytes_)
                            : std::lower_bound(corners_.begin(), corners_.end(), bytes_);
  const auto last = static_cast<std::ptrdiff_t>(corners_.size()) - 1;
  const std::ptrdiff_t index = at - corners_.begin() + (count > 0 ? count - 1 : count);
  const std::int64_t next =
      corners_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(index, 0, last))];
  if (next == bytes_) return;
  setBytes(next);
  emit bytesMoved(next);
}

std::int64_t BudgetSlider::nearestCorner(std::int64_t bytes) const {
  if (corners_.empty()) return bytes;
  const auto above = std::lower_bound(corners_.begin(), corners_.end(), bytes);
  if (above == corners_.end()) return corners_.back();
  if (above == corners_.begin()) return *above;
  const std::int64_t below = *(above - 1);
  const auto ratio = [](std::int64_t high, std::int64_t low) {
    return static_cast<double>(high) / static_cast<double>(low);
  };
  return ratio(bytes, below) <= ratio(*above, bytes) ? below : *above;
}

void BudgetSlider::setCorners(std::vector<std::int64_t> corners) {
  corners_ = std::move(corners);
  update();
}

void BudgetSlider::setByteRange(std::int64_t smallest, std::int64_t full) {
  if (smallest == smallest_ && full == full_) return;
  smallest_ = smallest;
  full_ = std::max(smallest, full);
  setBytes(std::clamp(bytes_, smallest_, full_));
}

void BudgetSlider::setBytes(std::int64_t bytes) {
  bytes_ = bytes;
  {
    const QSignalBlocker blocker(this);
    setValue(positionOf(static_cast<double>(bytes)));
  }
  setAccessibleDescription(budgetText(static_cast<double>(bytes_), static_cast<double>(full_)));
  update();
}

std::int64_t BudgetSlider::bytesAt(int position) const {
  if (position <= 0) return smallest_;
  if (position >= kSteps) return full_;
  const double low = std::log(static_cast<double>(smallest_));
  const double high = std::log(static_cast<double>(full_));
  const double bytes = std::exp(low + (high - low) * position / kSteps);
  return std::clamp(static_cast<std::int64_t>(std::llround(bytes)), smallest_, full_);
}

int BudgetSlider::positionOf(double bytes) const {
  if (full_ <= smallest_) return kSteps;
  const double low = std::log(static_cast<double>(smallest_));
  const double high = std::log(static_cast<double>(full_));
  const double share = (std::log(std::max(1.0, bytes)) - low) / (high - low);
  return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kSteps));
}

int BudgetSlider::pixelOf(double bytes) const {
  QStyleOptionSlider option;
  initStyleOption(&option);
  const QRect groove =
      style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderGroove, this);
  const QRect handle =
      style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this);
  const int span = groove.width() - handle.width();
  return groove.left() + handle.width() / 2 +
         QStyle::sliderPositionFromValue(0, kSteps, positionOf(bytes), span);
}

BudgetScale::BudgetScale(BudgetSlider* slider, QWidget* parent) : QWidget(parent), slider_(slider) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize BudgetScale::sizeHint() const { return {200, fontMetrics().height() + 5}; }

void BudgetScale::paintEvent(QPaintEvent*) {
  if (slider_->full() <= slider_->smallest()) return;
  static constexpr double kRatios[] = {1, 1.5, 2, 3, 4, 6, 8, 10, 14, 20, 28, 40, 60, 80, 120, 200};
  QPainter painter(this);
  painter.setPen(mutedTextColor(palette()));
  const auto full = static_cast<double>(slider_->full());
  const int offset = slider_->mapTo(parentWidget(), QPoint()).x() - x();
  int free_to = width() + 5;
  for (const double ratio : kRatios) {
    if (full / ratio < static_cast<double>(slider_->smallest()) * 0.999) break;
    const int at = offset + slider_->pixelOf(full / ratio);
    const QString text = QStringLiteral("%1x").arg(QString::number(ratio, 'g', 4));
    const int text_width = fontMetrics().horizontalAdvance(text);
    const int left = std::clamp(at - text_width / 2, 0, width() - text_width);
    if (left + text_width + 4 > free_to) continue;
    free_to = left;
    painter.drawLine(at, 0, at, 3);
    painter.drawText(QRect(left, 4, text_width + 1, height() - 4), Qt::AlignLeft | Qt::AlignTop,
                     text);
  }
}

}  // namespace lamina::studio
