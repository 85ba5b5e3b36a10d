// SPDX-License-Identifier: GPL-3.0-or-later
// lamina-studio: command line, then the window or a picture of it.
#include <QApplication>
#include <QCommandLineParser>
#include <QCoreApplication>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/status.h"
#include "widgets/models/text.h"
#include "widgets/window/main_window.h"
#include "widgets/window/screenshot.h"
#include "widgets/window/theme.h"

namespace {

using lamina::Status;
using lamina::studio::Theme;

constexpr char kFailure[] = "lamina-studio: error: ";

int fail(const Status& status) {
  std::fprintf(stderr, "%s%s\n", kFailure, status.message().c_str());
  return status.exit_code();
}

struct CommandLine {
  QCommandLineParser parser;
  QCommandLineOption help = parser.addHelpOption();
  QCommandLineOption version = parser.addVersionOption();
  QCommandLineOption screenshot{
      QStringLiteral("screenshot"),
      QStringLiteral("Write a picture of the window to OUT.png and exit."),
      QStringLiteral("OUT.png")};
  QCommandLineOption size{QStringLiteral("size"), QStringLiteral("Window size of the picture."),
                          QStringLiteral("WxH"), QStringLiteral("1280x800")};
  QCommandLineOption budget{QStringLiteral("budget"),
                            QStringLiteral("Budget shown in the picture: 14x, 136MB, 25%."),
                            QStringLiteral("B")};
  QCommandLineOption theme{QStringLiteral("theme"), QStringLiteral("system, light or dark."),
                           QStringLiteral("T"), QStringLiteral("system")};

  CommandLine() {
    parser.setApplicationDescription(
        QStringLiteral("Lamina Studio: per-layer KV-cache compression, seen and steered."));
    parser.addPositionalArgument(
        QStringLiteral("FILE"),
        QStringLiteral("A model (.gguf file or folder), a .lamina project or a "
                       "table in JSON."),
        QStringLiteral("[FILE]"));
    parser.addOptions({screenshot, size, budget, theme});
  }
};

// The offscreen platform remarks on every window that it has no window manager; the rest is passed
// on.
void passMessage(QtMsgType type, const QMessageLogContext& context, const QString& message) {
  if (message == QLatin1String("This plugin does not support propagateSizeHints()")) return;
  std::fprintf(stderr, "%s\n", qPrintable(qFormatLogMessage(type, context, message)));
}

int runScreenshot(const CommandLine& line, const QString& input) {
  lamina::studio::ScreenshotOptions options;
  options.input = input;
  options.output = line.parser.value(line.screenshot);
  options.budget = line.parser.value(line.budget);
  auto size = lamina::studio::parseSize(line.parser.value(line.size));
  if (!size) return fail(size.status());
  options.size = *size;
  const Status status = lamina::studio::renderScreenshot(options);
  return status.is_ok() ? 0 : fail(status);
}

int runWindow(QApplication& application, const QString& input) {
  lamina::studio::MainWindow window(lamina::studio::WindowOptions::standard());
  window.show();
  if (!input.isEmpty()) window.open(input);
  return application.exec();
}

}  // namespace

int main(int argc, char** argv) {
  lamina::end_on_lost_mapping("lamina-studio");
  QCoreApplication::setApplicationName(QStringLiteral("lamina-studio"));
  QCoreApplication::setOrganizationName(QStringLiteral("lamina"));
  QCoreApplication::setApplicationVersion(QStringLiteral(LAMINA_VERSION));
  QStringList arguments;
  for (int i = 0; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);

  CommandLine line;
  const bool parsed = line.parser.parse(arguments);
  // Words about the program need no display.
  if (parsed && (line.parser.isSet(line.help) || line.parser.isSet(line.version))) {
    const QCoreApplication application(argc, argv);
    const QString text = line.parser.isSet(line.help)
                             ? line.parser.helpText()
                             : QStringLiteral("lamina-studio " LAMINA_VERSION "\n");
    std::fputs(qPrintable(text), stdout);
    return 0;
  }
  const QStringList files = line.parser.positionalArguments();
  const auto theme = lamina::studio::themeFromName(line.parser.value(line.theme));
  if (!parsed) return fail(Status::usage(line.parser.errorText().toStdString(), {}, "see --help"));
  if (files.size() > 1) return fail(Status::usage("more than one file", {}, "see --help"));
  if (!theme) return fail(Status::usage("unknown theme", {}, "use system, light or dark"));

  const bool picture = line.parser.isSet(line.screenshot);
  std::vector<char*> words(argv, argv + argc);
  std::string platform_option = "-platform", platform = "offscreen";
  if (picture) {
    words.insert(words.begin() + 1, {platform_option.data(), platform.data()});
    qInstallMessageHandler(passMessage);
  }
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  QApplication application(count, words.data());
  // Pictures look the same on every desktop.
  const bool plain_picture = picture && *theme == Theme::kSystem;
  lamina::studio::applyTheme(application, plain_picture ? Theme::kLight : *theme);
  const QString input = files.isEmpty() ? QString() : files.front();
  return picture ? runScreenshot(line, input) : runWindow(application, input);
}
