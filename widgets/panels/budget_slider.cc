// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/budget_slider.h"

#include <QPainter>
#include <QSignalBlocker>
#include <QStyle>
#include <QStyleOptionSlider>
#include <algorithm>
#include <cmath>

#include "widgets/models/text.h"
#include "widgets/plots/color_map.h"

namespace lamina::studio {

BudgetSlider::BudgetSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
  setRange(0, kSteps);
  setSingleStep(5);
  setPageStep(100);
  setAccessibleName(tr("Memory budget"));
  setToolTip(tr("Drag, or use the arrow and page keys: the plan is solved again at every move"));
  connect(this, &QSlider::valueChanged, this, [this](int position) {
    bytes_ = bytesAt(position);
    emit bytesMoved(bytes_);
  });
}

void BudgetSlider::setByteRange(std::int64_t smallest, std::int64_t full) {
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
  int free_to = width() + 1;
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
