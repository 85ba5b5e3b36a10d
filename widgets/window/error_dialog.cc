// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/window/error_dialog.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QVBoxLayout>

namespace lamina::studio {

ErrorDialog::ErrorDialog(const QString& title, const QString& message, QWidget* parent)
    : QDialog(parent), message_(message) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(title);
  auto* icon = new QLabel(this);
  const int size = style()->pixelMetric(QStyle::PM_MessageBoxIconSize, nullptr, this);
  icon->setPixmap(style()->standardIcon(QStyle::SP_MessageBoxWarning, nullptr, this).pixmap(size));
  auto* heading = new QLabel(title, this);
  heading->setTextFormat(Qt::PlainText);
  QFont bold = font();
  bold.setBold(true);
  heading->setFont(bold);
  auto* text = new QLabel(message, this);
  text->setObjectName(QStringLiteral("errorText"));
  text->setTextFormat(Qt::PlainText);
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  text->setFocusPolicy(Qt::StrongFocus);
  text->setAccessibleName(tr("Error message"));
  text->setMinimumWidth(420);

  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  auto* copy = buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole);
  copy->setObjectName(QStringLiteral("copyError"));
  connect(copy, &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(message_); });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

  buttons->button(QDialogButtonBox::Close)->setDefault(true);
  buttons->button(QDialogButtonBox::Close)->setFocus();

  auto* words = new QVBoxLayout;
  words->addWidget(heading);
  words->addWidget(text, 1);
  auto* body = new QHBoxLayout;
  body->addWidget(icon, 0, Qt::AlignTop);
  body->addSpacing(8);
  body->addLayout(words, 1);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(body, 1);
  layout->addWidget(buttons);
}

ErrorDialog* ErrorDialog::show(const QString& title, const QString& message, QWidget* parent) {
  auto* dialog = new ErrorDialog(title, message, parent);
  dialog->open();
  return dialog;
}

}  // namespace lamina::studio
