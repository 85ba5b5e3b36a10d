// SPDX-License-Identifier: GPL-3.0-or-later
// lamina-studio: command line, then the window or a picture of it.
#include <QApplication>
#include <QCommandLineParser>
#include <QCoreApplication>
#include <QFile>
#include <QTemporaryDir>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/status.h"
#include "engine/model/checkpoint.h"
#include "engine/project/project.h"
#include "engine/table/table.h"
#include "widgets/models/document.h"
#include "widgets/models/text.h"
#include "widgets/window/error_dialog.h"
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

// A file as the command line names it: in bytes that may be no text.
struct Input {
  std::filesystem::path path;  // "" = none
  QString name;

  bool is_text() const { return lamina::studio::toPath(name) == path; }
};

Input inputOf(const QStringList& files, const QStringList& arguments, char** argv) {
  if (files.isEmpty()) return {};
  return {std::filesystem::path(argv[arguments.indexOf(files.front(), 1)]), files.front()};
}

bool isJsonList(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path);
  char first = 0;
  return file >> first && first == '[';  // behind white space
}

// Whether the file can be opened: with the engine's own error, whose kind is the exit code.
Status checkInput(const Input& input) {
  using lamina::studio::FileKind;
  if (input.path.empty()) return Status::ok();
  // No model begins like this, whatever its name.
  if (isJsonList(input.path)) return lamina::read_table(input.path).status();
  switch (lamina::studio::fileKind(input.name)) {
    case FileKind::kTable:
      return lamina::read_table(input.path).status();
    case FileKind::kProject:
      return lamina::Project::open(input.path).status();
    case FileKind::kModel:
      break;
  }
  auto checkpoint = lamina::Checkpoint::open(input.path);
  return checkpoint ? (*checkpoint)->require_complete() : checkpoint.status();
}

// A link with a name that is text to a file whose name is not.
Status linkTo(Input& input, const QTemporaryDir& scratch) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::absolute(input.path, error);
  input.path =
      lamina::studio::toPath(scratch.path()) / lamina::printable(input.path.filename().string());
  input.name = lamina::studio::toQString(input.path);
  std::filesystem::create_symlink(target, input.path, error);
  if (!error) return Status::ok();
  return Status::runtime("cannot create a link: " + error.message(), input.path.string(),
                         "check the free space of the temporary folder");
}

Status takeScreenshot(const CommandLine& line, Input input) {
  const QTemporaryDir scratch;
  if (!scratch.isValid()) {
    return Status::runtime("cannot create a temporary folder", scratch.path().toStdString(),
                           "check the free space of the temporary folder");
  }
  lamina::studio::ScreenshotOptions options;
  LAMINA_ASSIGN_OR_RETURN(options.size, lamina::studio::parseSize(line.parser.value(line.size)));
  if (!input.is_text()) LAMINA_RETURN_IF_ERROR(linkTo(input, scratch));
  LAMINA_RETURN_IF_ERROR(checkInput(input));
  options.input = input.name;
  options.budget = line.parser.value(line.budget);
  // Written by the engine: whole or not at all, and with one line about what went wrong.
  options.output = scratch.filePath(QStringLiteral("picture.png"));
  LAMINA_RETURN_IF_ERROR(lamina::studio::renderScreenshot(options));
  LAMINA_ASSIGN_OR_RETURN(const std::string picture,
                          lamina::read_text_file(lamina::studio::toPath(options.output)));
  return lamina::write_text_file(lamina::studio::toPath(line.parser.value(line.screenshot)),
                                 picture);
}

int runScreenshot(const CommandLine& line, const Input& input) {
  const Status status = takeScreenshot(line, input);
  return status.is_ok() ? 0 : fail(status);
}

int runWindow(QApplication& application, const Input& input) {
  lamina::studio::MainWindow window(lamina::studio::WindowOptions::standard());
  window.show();
  // Projects and the list of recent files keep names as text.
  Status status = input.is_text() ? Status::ok()
                                  : Status::bad_input("the name is not UTF-8", input.path.string(),
                                                      "rename the file; lamina opens it as it is");
  if (status.is_ok() && isJsonList(input.path)) status = checkInput(input);
  if (!status.is_ok()) {
    lamina::studio::ErrorDialog::show(QCoreApplication::translate("lamina", "Cannot open the file"),
                                      lamina::studio::toQString(status.message()), &window);
  } else if (!input.name.isEmpty()) {
    window.open(input.name);
  }
  return application.exec();
}

int printWords(const QString& text) {
  if (std::fputs(qPrintable(text), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return fail(
      Status::runtime("cannot write the output", "standard output", "check the pipe or the disk"));
}

}  // namespace

int main(int argc, char** argv) {
  lamina::end_on_lost_mapping("lamina-studio");
  QCoreApplication::setApplicationName(QStringLiteral("lamina-studio"));
  QCoreApplication::setOrganizationName(QStringLiteral("lamina"));
  QCoreApplication::setApplicationVersion(QStringLiteral(LAMINA_VERSION));
  QStringList arguments;
  for (int i = 0; i < argc; ++i) arguments << QFile::decodeName(argv[i]);

  CommandLine line;
  const bool parsed = line.parser.parse(arguments);
  // Words about the program need no display.
  if (parsed && (line.parser.isSet(line.help) || line.parser.isSet(line.version))) {
    const QCoreApplication application(argc, argv);
    const QString text = line.parser.isSet(line.help)
                             ? line.parser.helpText()
                             : QStringLiteral("lamina-studio " LAMINA_VERSION "\n");
    return printWords(text);
  }
  const QStringList files = line.parser.positionalArguments();
  const auto theme = lamina::studio::themeFromName(line.parser.value(line.theme));
  if (!parsed) {
    return fail(Status::usage(line.parser.errorText().toStdString(), "lamina-studio",
                              "see lamina-studio --help"));
  }
  if (files.size() > 1) {
    return fail(Status::usage("more than one file", files[1].toStdString(), "name one"));
  }
  if (!theme) {
    return fail(Status::usage("unknown theme",
                              "--theme " + line.parser.value(line.theme).toStdString(),
                              "use system, light or dark"));
  }

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
  const Input input = inputOf(files, arguments, argv);
  return picture ? runScreenshot(line, input) : runWindow(application, input);
}
