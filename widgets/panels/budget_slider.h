// SPDX-License-Identifier: GPL-3.0-or-later
// A slider over bytes on a logarithmic scale, and the scale of ratios (1x, 2x, 4x ...) under it.
// The ends are exactly the smallest feasible budget and the full cache.
#pragma once

#include <QSlider>
#include <QWidget>
#include <cstdint>

namespace lamina::studio {

class BudgetSlider : public QSlider {
  Q_OBJECT
 public:
  explicit BudgetSlider(QWidget* parent = nullptr);

  // REQUIRES 0 < smallest <= full.
  void setByteRange(std::int64_t smallest, std::int64_t full);
  // Moves the handle to the nearest position without a signal; the bytes stay exactly these.
  void setBytes(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }
  std::int64_t smallest() const { return smallest_; }
  std::int64_t full() const { return full_; }

  // The x of a number of bytes in widget coordinates.
  int pixelOf(double bytes) const;

 signals:
  // The user moved the handle.
  void bytesMoved(std::int64_t bytes);

 private:
  static constexpr int kSteps = 2000;
  std::int64_t bytesAt(int position) const;
  int positionOf(double bytes) const;

  std::int64_t smallest_ = 1;
  std::int64_t full_ = 1;
  std::int64_t bytes_ = 1;
};

class BudgetScale : public QWidget {
  Q_OBJECT
 public:
  explicit BudgetScale(BudgetSlider* slider, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  BudgetSlider* slider_;
};

}  // namespace lamina::studio
