// SPDX-License-Identifier: GPL-3.0-or-later
// A line of figures that changes while the slider moves. It reserves the widest text it has shown,
// so that a new text only repaints it and lays nothing out; it never cuts its text. Its context
// menu copies.
#pragma once

#include <QWidget>

namespace lamina::studio {

class FigureLabel : public QWidget {
  Q_OBJECT
  Q_PROPERTY(QString text READ text WRITE setText)
 public:
  // lines > 1: the text is wrapped within the width it is given, in so many lines; what does not
  // fit is in the tooltip.
  explicit FigureLabel(QWidget* parent = nullptr, int lines = 1);

  const QString& text() const { return text_; }
  void setText(const QString& text);
  // The accessible name is "caption: text".
  void setCaption(const QString& caption);
  // Room for this text from the beginning.
  void reserve(const QString& text);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void announce();

  QString text_, caption_;
  int lines_;
  int widest_ = 0;
};

}  // namespace lamina::studio
