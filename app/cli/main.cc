// SPDX-License-Identifier: Apache-2.0
// `lamina`: the product without a window. Wiring only; the work is in engine/.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <sstream>
#include <stop_token>
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
  lamina::cli::add_plan_commands(app, invocation);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();

  if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
    return report(
        Status::usage(fmt::format("unknown command '{}'", argv[1]), "", "run lamina --help"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    return report(lamina::cli::print_text(text.str()));
  } catch (const CLI::ParseError& error) {
    return report(Status::usage(error.what(), "", "run lamina --help"));
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
        Status::runtime("out of memory", "", "close other programs or use a smaller input"));
  } catch (const std::exception& error) {
    return report(Status::runtime(error.what()));
  }
}
