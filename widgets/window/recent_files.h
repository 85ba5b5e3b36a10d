// SPDX-License-Identifier: GPL-3.0-or-later
// The list of files opened last, newest first, in the settings.
#pragma once

#include <QObject>
#include <QStringList>

class QSettings;

namespace lamina::studio {

class RecentFiles : public QObject {
  Q_OBJECT
 public:
  // settings must outlive this object.
  explicit RecentFiles(QSettings* settings, QObject* parent = nullptr);

  static constexpr int kMax = 10;
  QStringList paths() const;
  void add(const QString& path);
  void remove(const QString& path);
  void clear();

 signals:
  void changed();

 private:
  void store(const QStringList& paths);

  QSettings* settings_;
};

}  // namespace lamina::studio
