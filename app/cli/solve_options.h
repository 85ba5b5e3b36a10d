// SPDX-License-Identifier: Apache-2.0
// What `solve` and `frontier` share: where the table comes from, what is minimised, in which bytes,
// and what is ruled out.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/solve/solve.h"

namespace lamina::cli {

struct ProblemOptions {
  std::string project, table, objective = "S", bytes = "actual", target, targets_file;
  std::vector<std::string> pins, forbid;
  std::int64_t t_cache = 0;  // 0: the table's
  double robust_z = 0;
};

// Registers the options; `options` must outlive the command. Returns that of --t-cache.
CLI::Option* add_problem_options(CLI::App& command, ProblemOptions& options);

struct Setup {
  Problem problem;
  std::string table_sha256;
  std::string info_json;  // of the project's checkpoint; empty for a table file
};
// Reads the table and makes the problem. Errors: those of the files, options and limits.
Result<Setup> set_up(const ProblemOptions& options, std::stop_token stop);

// The method of this name; where it is empty, greedy, or for a target of one recipe, or one with
// other edges, what that target can run. Errors: kUsage.
Result<Method> choose_method(const std::string& name, const Limits& limits);

// "24GiB", "80GB" or whole bytes. Errors: kUsage naming `option`.
Result<std::int64_t> parse_bytes(const std::string& text, const std::string& option);

}  // namespace lamina::cli
