// SPDX-License-Identifier: GPL-3.0-or-later
// A slider over bytes on a logarithmic scale, and the scale of ratios (1x, 2x, 4x ...) under it.
// The ends are exactly the smallest feasible budget and the full cache. It can snap to the corners
// of the frontier, where a budget buys the most.
#pragma once

#include <QSlider>
#include <QTimer>
#include <QWidget>
#include <cstdint>
#include <vector>

namespace lamina::studio {

class BudgetSlider : public QSlider {
  Q_OBJECT
 public:
  explicit BudgetSlider(QWidget* parent = nullptr);

  // REQUIRES 0 < smallest <= full.
  void setByteRange(std::int64_t smallest, std::int64_t full);
  // Ascending.
  void setCorners(std::vector<std::int64_t> corners);
  const std::vector<std::int64_t>& corners() const { return corners_; }
  // Moves the handle to the nearest position without a signal; the bytes stay exactly these.
  void setBytes(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }
  std::int64_t smallest() const { return smallest_; }
  std::int64_t full() const { return full_; }

  // Every move ends on a corner. Shift while dragging turns it over.
  void setSnapping(bool snapping) { snapping_ = snapping; }
  bool isSnapping() const { return snapping_; }
  // The corner nearest on the slider's scale; `bytes` where there is none.
  std::int64_t nearestCorner(std::int64_t bytes) const;

  // The x of a number of bytes in widget coordinates.
  int pixelOf(double bytes) const;

 signals:
  // The user moved the handle.
  void bytesMoved(std::int64_t bytes);
  // A drag, a held key or a turn of the wheel: everything between belongs together.
  void gestureBegan();
  void gestureEnded();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  static constexpr int kSteps = 2000;
  std::int64_t bytesAt(int position) const;
  int positionOf(double bytes) const;
  void move(int position);
  // To the corner `count` places up or down from the present bytes.
  void stepCorners(int count);
  void begin();
  void end();

  std::int64_t smallest_ = 1;
  std::int64_t full_ = 1;
  std::int64_t bytes_ = 1;
  std::vector<std::int64_t> corners_;
  bool snapping_ = false;
  bool shift_ = false;  // while the mouse drags
  bool in_gesture_ = false;
  QTimer wheel_rest_;  // ends the gesture of a turning wheel
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
