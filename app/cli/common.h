// SPDX-License-Identifier: Apache-2.0
// What every command of `lamina` shares: the common options, progress on standard error,
// cancellation by signals, and the one-line error.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/checkpoint.h"

namespace lamina::cli {

struct CommonOptions {
  bool json = false;
  bool quiet = false;
  std::string device = "cpu";
  int threads = 0;
};

// A command: registers its options on `app` and, when it is chosen, sets `run`.
struct Invocation {
  CommonOptions common;
  JobContext context;  // stop is requested by SIGINT or SIGTERM; progress goes to standard error
  std::function<Status()> run;
};

void add_model_commands(CLI::App& app,
                        Invocation& invocation);  // info, tokenize, forward, generate
void add_calibrate_command(CLI::App& app, Invocation& invocation);
void add_solve_command(CLI::App& app, Invocation& invocation);
void add_frontier_command(CLI::App& app, Invocation& invocation);

// "1,2,3" or "@FILE" (a JSON list). option: where the text was given, for errors: kUsage for the
// text form, kBadInput for the file.
Result<std::vector<std::int32_t>> parse_ids(const std::string& option, const std::string& text);

// The refusal of a prompt without tokens; option: where it was given.
Status empty_prompt(const std::string& option);

// The error, said to be of `option` where it names no place of its own.
Status at_option(const Status& status, const std::string& option);

// A checkpoint whose weights are all there. Errors: those of Checkpoint::open(), kBadInput for a
// file that is cut short.
Result<std::shared_ptr<const Checkpoint>> open_complete(const std::string& path);

// Checked before long work: the folder of an output file exists, the file is none of the inputs,
// and replacing it would lose nothing but another JSON document. Errors: kUsage, kRuntime.
Status check_output(const std::string& option, const std::string& path,
                    const std::vector<std::string>& inputs);

// Exactly one JSON document and a line end on standard output. Errors: kRuntime when it cannot be
// written (closed pipe, full disk).
Status print_json(const OrderedJson& document);
Status print_text(const std::string& text);

// Prints progress to standard error: one line that rewrites itself on a terminal, otherwise a line
// at most every two seconds.
std::function<void(const Progress&)> progress_printer();
// Ends the rewriting line, if one was begun.
void finish_progress();

}  // namespace lamina::cli
