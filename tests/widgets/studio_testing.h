// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by the studio's tests: tables to show, files to open, and a check that a widget tree can
// be read by a screen reader and fits its window.
#pragma once

#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "engine/table/table.h"
#include "widgets/models/studio_session.h"
#include "widgets/models/text.h"

namespace lamina::studio::testing {

// Values fall with keep and bits, differ by layer, span five decades; the last recipe is exactly 0.
inline SensitivityTable syntheticTable(int layers) {
  SensitivityTable table;
  table.model = ModelId{"Synthetic", "llama", std::string(64, 'a')};
  table.grid = ConfigGrid::default_grid();
  table.geometry.t_cache = 4096;
  for (int layer = 0; layer < layers; ++layer) {
    table.geometry.layers.push_back({.kv_heads = 4, .head_dim = 64, .window = 0});
    std::vector<double> row;
    for (int config = 0; config < table.grid.size(); ++config) {
      const LayerConfig c = table.grid.at(config);
      const double weight = 1.0 + 0.7 * std::sin(1.0 + layer);
      row.push_back(
          weight * ((1 - c.keep) * (1 - c.keep) + (16 - c.k_bits) * 1e-2 + (16 - c.v_bits) * 1e-5));
    }
    table.values.push_back(row);
  }
  return table;
}

// tests/data/seed_table.json: 28 layers, nominal full cache 1835.0 MB.
inline SensitivityTable seedTable() {
  QFile file(QStringLiteral(LAMINA_TEST_DATA "/seed_table.json"));
  if (!file.open(QIODevice::ReadOnly)) qFatal("tests/data/seed_table.json cannot be read");
  const QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
  SensitivityTable table;
  table.grid = ConfigGrid::default_grid();
  table.geometry.t_cache = json["T"].toInt();
  for (const QJsonValue& row : json["S"].toArray()) {
    table.geometry.layers.push_back(
        {.kv_heads = json["Hkv"].toInt(), .head_dim = json["d"].toInt(), .window = 0});
    std::vector<double> values;
    for (const QJsonValue& cell : row.toArray()) values.push_back(cell.toDouble());
    table.values.push_back(values);
  }
  return table;
}

inline QString writeTable(const QTemporaryDir& dir, const QString& name,
                          const SensitivityTable& table) {
  const QString path = dir.filePath(name);
  const Status status = write_table(table, toPath(path));
  if (!status.is_ok()) qFatal("%s", status.message().c_str());
  return path;
}

// Opens and waits until the job is over.
inline void openAndWait(StudioSession& session, const QString& path) {
  QSignalSpy finished(&session.jobs(), &JobRunner::finished);
  session.open(path);
  QTRY_VERIFY_WITH_TIMEOUT(finished.count() > 0, 60000);
}

// Every control that takes focus has a name for screen readers: its own text or an accessible name.
inline QStringList namelessControls(QWidget* root) {
  QStringList nameless;
  for (QWidget* widget : root->findChildren<QWidget*>()) {
    if (widget->focusPolicy() == Qt::NoFocus || !widget->accessibleName().isEmpty()) continue;
    const auto* button = qobject_cast<QAbstractButton*>(widget);
    const auto* label = qobject_cast<QLabel*>(widget);
    if ((button && !button->text().isEmpty()) || (label && !label->text().isEmpty())) continue;
    const bool control = button || label || qobject_cast<QComboBox*>(widget) ||
                         qobject_cast<QLineEdit*>(widget) || qobject_cast<QSlider*>(widget);
    const bool inside_control = qobject_cast<QComboBox*>(widget->parentWidget()) ||
                                qobject_cast<QAbstractSpinBox*>(widget->parentWidget());
    if (control && !inside_control)
      nameless << widget->metaObject()->className() + widget->objectName();
  }
  return nameless;
}

// Visible labels and buttons whose text does not fit.
inline QStringList cutOffTexts(QWidget* root) {
  QStringList cut;
  for (QWidget* widget : root->findChildren<QWidget*>()) {
    if (!widget->isVisible()) continue;
    const QRect inside = QRect(widget->mapTo(root, QPoint()), widget->size());
    const auto* label = qobject_cast<QLabel*>(widget);
    const auto* button = qobject_cast<QAbstractButton*>(widget);
    if (widget->inherits("lamina::studio::FigureLabel") &&
        widget->sizePolicy().horizontalPolicy() != QSizePolicy::Ignored &&
        widget->width() < widget->sizeHint().width()) {
      cut << widget->property("text").toString();
    }
    if (!label && !button) continue;
    const QString text = label ? label->text() : button->text();
    const bool clips = label
                           ? !label->wordWrap() &&
                                 widget->sizePolicy().horizontalPolicy() != QSizePolicy::Ignored &&
                                 label->sizeHint().width() > label->width()
                           : button->sizeHint().width() > button->width() + 24;
    if (!text.isEmpty() && (clips || !root->rect().contains(inside))) cut << text;
  }
  return cut;
}

}  // namespace lamina::studio::testing
