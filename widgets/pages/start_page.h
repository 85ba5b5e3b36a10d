// SPDX-License-Identifier: GPL-3.0-or-later
// What the studio shows before anything is open: what it does, how to open a model, and recent
// files.
#pragma once

#include <QStringList>
#include <QWidget>

class QLabel;
class QListWidget;

namespace lamina::studio {

class StartPage : public QWidget {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent = nullptr);

  void setRecent(const QStringList& paths);

 signals:
  void openModelFileRequested();
  void openModelFolderRequested();
  void openProjectRequested();
  void openRequested(const QString& path);

 private:
  QListWidget* recent_;
  QLabel* recent_title_;
};

}  // namespace lamina::studio
