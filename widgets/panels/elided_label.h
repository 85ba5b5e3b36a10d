// SPDX-License-Identifier: GPL-3.0-or-later
// A one-line label that shortens its text with "…" instead of widening its window or being cut off.
#pragma once

#include <QLabel>

namespace lamina::studio {

class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ElidedLabel(QWidget* parent = nullptr, Qt::TextElideMode mode = Qt::ElideRight);

  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Qt::TextElideMode mode_;
};

}  // namespace lamina::studio
