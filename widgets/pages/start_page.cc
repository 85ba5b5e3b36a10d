// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/pages/start_page.h"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

namespace lamina::studio {

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  auto* title = new QLabel(tr("Lamina Studio"), this);
  QFont large = font();
  large.setBold(true);
  if (large.pointSizeF() > 0) large.setPointSizeF(large.pointSizeF() * 2);
  title->setFont(large);
  auto* purpose = new QLabel(
      tr("Measures how much each layer of a language model suffers when its KV cache is "
         "compressed, and "
         "finds for any memory budget how many tokens and bits every layer should keep."),
      this);
  purpose->setWordWrap(true);

  auto* file = new QPushButton(tr("Open model file…"), this);
  auto* folder = new QPushButton(tr("Open model folder…"), this);
  auto* project = new QPushButton(tr("Open project or table…"), this);
  file->setToolTip(tr("A GGUF file"));
  folder->setToolTip(tr("A Hugging Face folder with config.json and safetensors files"));
  project->setToolTip(tr("A .lamina project, or a sensitivity table in JSON"));
  file->setDefault(true);
  auto* buttons = new QHBoxLayout;
  for (QPushButton* button : {file, folder, project}) {
    button->setMinimumSize(button->sizeHint() + QSize(24, 8));
    buttons->addWidget(button);
  }
  buttons->addStretch(1);
  auto* drop = new QLabel(tr("You can also drop a file or folder on this window."), this);

  recent_title_ = new QLabel(tr("<b>Recent</b>"), this);
  recent_ = new QListWidget(this);
  recent_->setObjectName(QStringLiteral("recentList"));
  recent_->setAccessibleName(tr("Recent files"));
  recent_->setTextElideMode(Qt::ElideMiddle);
  recent_->setMaximumHeight(12 * (fontMetrics().height() + 6));
  recent_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);

  auto* column = new QVBoxLayout;
  column->addStretch(1);
  column->addWidget(title);
  column->addWidget(purpose);
  column->addSpacing(12);
  column->addLayout(buttons);
  column->addWidget(drop);
  column->addSpacing(16);
  column->addWidget(recent_title_);
  column->addWidget(recent_, 4);
  column->addStretch(1);
  auto* page = new QHBoxLayout(this);
  page->addStretch(1);
  page->addLayout(column, 6);
  page->addStretch(1);

  connect(file, &QPushButton::clicked, this, &StartPage::openModelFileRequested);
  connect(folder, &QPushButton::clicked, this, &StartPage::openModelFolderRequested);
  connect(project, &QPushButton::clicked, this, &StartPage::openProjectRequested);
  connect(recent_, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
    emit openRequested(item->data(Qt::UserRole).toString());
  });
  setRecent({});
}

void StartPage::setRecent(const QStringList& paths) {
  recent_->clear();
  for (const QString& path : paths) {
    const QFileInfo info(path);
    auto* item = new QListWidgetItem(
        QStringLiteral("%1   —   %2")
            .arg(info.fileName(), QDir::toNativeSeparators(info.absolutePath())));
    item->setData(Qt::UserRole, path);
    item->setToolTip(path);
    recent_->addItem(item);
  }
  recent_->setVisible(!paths.isEmpty());
  recent_title_->setVisible(!paths.isEmpty());
}

}  // namespace lamina::studio
