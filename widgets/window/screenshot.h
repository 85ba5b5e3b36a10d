// SPDX-License-Identifier: GPL-3.0-or-later
// A picture of the main page without anybody watching: for the README, the quickstart and the
// tests.
#pragma once

#include <QSize>
#include <QString>

#include "engine/base/status.h"

namespace lamina::studio {

struct ScreenshotOptions {
  QString input;  // model, project or table; "" = the start page
  QString output;
  QSize size{1280, 800};
  QString budget;  // "" = the default one
};

// Opens the input in a window of its own with settings that are thrown away, waits until it is
// there, and writes the picture. REQUIRES a QApplication. Errors: those of opening, solving and
// writing.
Status renderScreenshot(const ScreenshotOptions& options);

// "1280x800"; 320..8192 a side. Errors: kUsage.
Result<QSize> parseSize(const QString& text);

}  // namespace lamina::studio
