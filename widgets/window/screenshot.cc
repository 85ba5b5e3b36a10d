// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/window/screenshot.h"

#include <QCoreApplication>
#include <QEventLoop>
#include <QPixmap>
#include <QRegularExpression>
#include <QTemporaryDir>

#include "widgets/models/text.h"
#include "widgets/window/main_window.h"

namespace lamina::studio {
namespace {

// Errors arrive as a signal with the engine's line; here that line is the result.
Status openAndWait(MainWindow& window, const QString& path) {
  QString error;
  QEventLoop loop;
  StudioSession* session = window.session();
  QObject::disconnect(session, &StudioSession::failed, &window, nullptr);
  QObject::connect(session, &StudioSession::failed, &loop,
                   [&error](const QString&, const QString& message) { error = message; });
  QObject::connect(&session->jobs(), &JobRunner::finished, &loop, &QEventLoop::quit);
  session->open(path);
  loop.exec();
  if (!error.isEmpty()) return Status::bad_input(error.toStdString());
  return Status::ok();
}

// The curves are part of the picture.
void waitForFrontier(MainWindow& window) {
  FrontierJob& frontier = window.session()->frontier();
  if (!frontier.isComputing()) return;
  QEventLoop loop;
  QObject::connect(&frontier, &FrontierJob::changed, &loop, [&] {
    if (!frontier.isComputing()) loop.quit();
  });
  loop.exec();
}

// Layout, queued replots and the labels that depend on them need some turns of the event loop.
void settle() {
  for (int i = 0; i < 10; ++i) {
    QCoreApplication::sendPostedEvents();
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
  }
}

}  // namespace

Result<QSize> parseSize(const QString& text) {
  static const QRegularExpression pattern(QStringLiteral("^([0-9]{3,4})x([0-9]{3,4})$"));
  const QRegularExpressionMatch match = pattern.match(text);
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  const bool in_range =
      size.width() >= 320 && size.height() >= 320 && size.width() <= 8192 && size.height() <= 8192;
  if (!match.hasMatch() || !in_range) {
    return Status::usage("not a window size", text.toStdString(), "write it like 1280x800");
  }
  return size;
}

Status renderScreenshot(const ScreenshotOptions& options) {
  QTemporaryDir scratch;
  if (!scratch.isValid()) {
    return Status::runtime("cannot create a temporary folder", scratch.path().toStdString(),
                           "check the free space of the temporary folder");
  }
  MainWindow window({scratch.filePath(QStringLiteral("studio.ini")),
                     scratch.filePath(QStringLiteral("projects"))});
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.resize(options.size);
  window.show();
  if (!options.input.isEmpty()) LAMINA_RETURN_IF_ERROR(openAndWait(window, options.input));
  if (!options.budget.isEmpty()) {
    LAMINA_RETURN_IF_ERROR(window.session()->setBudgetText(options.budget));
  }
  waitForFrontier(window);
  settle();
  if (!window.grab().save(options.output, "PNG")) {
    return Status::runtime("cannot write the picture", options.output.toStdString(),
                           "check the folder and its permissions");
  }
  return Status::ok();
}

}  // namespace lamina::studio
