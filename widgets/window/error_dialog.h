// SPDX-License-Identifier: GPL-3.0-or-later
// An error as the engine words it, in a dialog whose text can be selected and copied. Deletes
// itself.
#pragma once

#include <QDialog>

namespace lamina::studio {

class ErrorDialog : public QDialog {
  Q_OBJECT
 public:
  ErrorDialog(const QString& title, const QString& message, QWidget* parent = nullptr);

  // Window-modal, returns at once.
  static ErrorDialog* show(const QString& title, const QString& message, QWidget* parent);

  const QString& message() const { return message_; }

 private:
  QString message_;
};

}  // namespace lamina::studio
