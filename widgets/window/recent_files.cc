// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/window/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace lamina::studio {
namespace {
constexpr auto kKey = "recent";
}

RecentFiles::RecentFiles(QSettings* settings, QObject* parent)
    : QObject(parent), settings_(settings) {}

QStringList RecentFiles::paths() const {
  return settings_->value(QLatin1String(kKey)).toStringList();
}

void RecentFiles::add(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  QStringList list = paths();
  list.removeAll(absolute);
  list.prepend(absolute);
  store(list.mid(0, kMax));
}

void RecentFiles::remove(const QString& path) {
  QStringList list = paths();
  list.removeAll(QFileInfo(path).absoluteFilePath());
  store(list);
}

void RecentFiles::clear() { store({}); }

void RecentFiles::store(const QStringList& list) {
  settings_->setValue(QLatin1String(kKey), list);
  emit changed();
}

}  // namespace lamina::studio
