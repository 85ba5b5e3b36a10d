// SPDX-License-Identifier: Apache-2.0
// `lamina`: the product without a window. Wiring only; the work is in engine/.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <new>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "app/cli/common.h"
#include "engine/base/file.h"

namespace {

using lamina::ErrorKind;
using lamina::Status;

int report(const Status& status) {
  lamina::cli::finish_progress();
  if (status.is_ok()) return 0;
  fmt::print(stderr, "lamina: error: {}\n", status.message());
  return status.exit_code();
}

// Turns the first SIGINT or SIGTERM into a stop request and the second into an immediate end.
// REQUIRES that the signals are blocked in every thread, so that only this one receives them.
void watch_signals(std::stop_source stop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  int signal = 0;
  sigwait(&signals, &signal);
  stop.request_stop();
  sigwait(&signals, &signal);
  _exit(static_cast<int>(ErrorKind::kCancelled));
}

void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Status check_common(const lamina::cli::CommonOptions& common) {
  if (common.device.rfind("cuda", 0) == 0) {
    return Status::runtime("this build has no CUDA backend", "--device " + common.device,
                           "use --device cpu");
  }
  if (common.device != "cpu") {
    return Status::usage("unknown device", "--device " + common.device, "use --device cpu");
  }
  return Status::ok();
}

// The library's words as WHAT (WHERE): WHAT TO DO.
Status usage_fault(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "lamina";
  for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  const std::string advice = fmt::format("run {} --help", command);
  const std::string text = error.what();
  const auto starts = [&](std::string_view words) { return text.rfind(words, 0) == 0; };
  const std::size_t colon = text.find(": "), space = text.find(' ');
  if (starts("The following argument")) {
    return Status::usage("not expected there", text.substr(colon + 2), advice);
  }
  if (starts("Exactly 1 option from [") && text.find(']') != std::string::npos) {
    const std::size_t open = text.find('[') + 1;
    return Status::usage("exactly one of these is required",
                         text.substr(open, text.find(']') - open), advice);
  }
  std::string what = text, where = command;
  if (colon != std::string::npos && colon + 1 == space) {  // "--top: Value x not in range"
    where = text.substr(0, colon);
    what = text.substr(colon + 2);
  } else if (text.substr(space) == " is required" ||
             starts("--")) {  // "--ids excludes --text-file"
    where = text.substr(0, space);
    what = text.substr(space + 1);
  }
  what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  return Status::usage(what, where, advice);
}

bool is_command(const CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; })
              .empty();
}

int run(int argc, char** argv) {
  CLI::App app{"Lamina: which layer of a language model gets which KV-cache compression"};
  app.name("lamina");
  app.set_version_flag("--version", LAMINA_VERSION);
  app.require_subcommand(1);
  lamina::cli::Invocation invocation;
  app.add_flag("--json", invocation.common.json, "Print one JSON document on standard output");
  app.add_flag("--quiet", invocation.common.quiet, "No progress on standard error");
  app.add_option("--device", invocation.common.device, "cpu (default)");
  app.add_option("--threads", invocation.common.threads, "Threads; 0 = all cores")
      ->check(CLI::Range(0, 1024));
  lamina::cli::add_model_commands(app, invocation);
  lamina::cli::add_calibrate_command(app, invocation);
  lamina::cli::add_solve_command(app, invocation);
  lamina::cli::add_frontier_command(app, invocation);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();

  if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
    return report(Status::usage("unknown command", argv[1], "run lamina --help"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    return report(lamina::cli::print_text(text.str()));
  } catch (const CLI::ParseError& error) {
    return report(usage_fault(app, error));
  }

  std::stop_source stop;
  std::thread(watch_signals, stop).detach();
  invocation.context.stop = stop.get_token();
  invocation.context.threads = invocation.common.threads;
  if (!invocation.common.quiet) invocation.context.on_progress = lamina::cli::progress_printer();
  Status status = check_common(invocation.common);
  return report(status.is_ok() ? invocation.run() : status);
}

}  // namespace

int main(int argc, char** argv) {
  block_signals();
  lamina::end_on_lost_mapping("lamina");
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return report(
        Status::runtime("out of memory", "lamina", "close other programs or use a smaller input"));
  } catch (const std::exception& error) {
    return report(Status::runtime(error.what(), "lamina", "this is a fault of Lamina; report it"));
  }
}
