// SPDX-License-Identifier: Apache-2.0
#include "app/cli/solve_options.h"

#include <fmt/format.h>

#include "app/cli/common.h"
#include "engine/base/units.h"
#include "engine/project/project.h"

namespace lamina::cli {
namespace {

struct Source {
  SensitivityTable table;
  std::string info_json;
};

Result<Source> load_source(const ProblemOptions& o, const std::stop_token& stop) {
  Source out;
  if (o.project.empty()) {
    LAMINA_ASSIGN_OR_RETURN(out.table, read_table(o.table));
    return out;
  }
  LAMINA_ASSIGN_OR_RETURN(auto project, Project::open(o.project, stop));
  LAMINA_ASSIGN_OR_RETURN(auto newest, project->newest_table());
  if (!newest) {
    return Status::bad_input("the project has no complete table", o.project,
                             "run lamina calibrate first");
  }
  LAMINA_ASSIGN_OR_RETURN(out.table, project->table(newest->id));
  LAMINA_ASSIGN_OR_RETURN(const auto checkpoints, project->checkpoints());
  for (const CheckpointRecord& record : checkpoints) {
    if (record.id == newest->checkpoint_id) out.info_json = record.info_json;
  }
  return out;
}

Result<Limits> parse_limits(const ProblemOptions& o, const ConfigGrid& grid) {
  Limits limits;
  for (const std::string& text : o.pins) {
    const Result<std::vector<Pin>> pins = parse_pin(text, grid);
    if (!pins) return at_option(pins.status(), "--pin");
    limits.pins.insert(limits.pins.end(), pins->begin(), pins->end());
  }
  for (const std::string& text : o.forbid) {
    const Result<ForbidRule> rule = parse_forbid(text);
    if (!rule) return at_option(rule.status(), "--forbid");
    limits.forbid.push_back(*rule);
  }
  if (o.target.empty()) return limits;
  std::vector<Target> own;
  if (!o.targets_file.empty()) {
    LAMINA_ASSIGN_OR_RETURN(own, read_targets(o.targets_file));
  }
  const Result<Target> target =
      o.targets_file.empty() ? find_target(o.target) : find_target(o.target, own);
  if (!target) return at_option(target.status(), "--target");
  limits.target = *target;
  return limits;
}

std::string target_names() {
  std::string names;
  for (const Target& target : builtin_targets()) {
    names += (names.empty() ? "" : ", ") + target.name;
  }
  return names;
}

}  // namespace

CLI::Option* add_problem_options(CLI::App& command, ProblemOptions& o) {
  auto* source = command.add_option_group("source");
  source->add_option("--project", o.project, "Project file; its newest complete table is used");
  source->add_option("--table", o.table, "Table JSON");
  source->require_option(1);
  auto* t_cache =
      command
          .add_option("--t-cache", o.t_cache, "Tokens the cache is sized for; default the table's")
          ->check(CLI::Range(std::int64_t{1}, kMaxTokens));
  command.add_option("--objective", o.objective,
                     "S (default), S2, weighted, propagated or kl, where the table has them");
  command.add_option("--robust", o.robust_z,
                     "Count every cell as itself plus this many of its standard errors");
  command.add_option("--bytes", o.bytes, "actual (default) or nominal");
  command
      .add_option("--pin", o.pins,
                  "LAYERS=RECIPE, e.g. 3=53, 0-3=0.5/8/4 (keep/K/V) or 0,29=full; repeatable")
      ->allow_extra_args(false);
  command
      .add_option("--forbid", o.forbid,
                  "[LAYERS:]AXIS OP VALUE, e.g. k=4, v<8 or 0:keep<0.5; repeatable")
      ->allow_extra_args(false);
  auto* target = command.add_option("--target", o.target,
                                    "Only what this serving stack can run: " + target_names());
  command.add_option("--targets-file", o.targets_file, "Targets of your own (JSON) for --target")
      ->needs(target);
  return t_cache;
}

Result<Setup> set_up(const ProblemOptions& o, std::stop_token stop) {
  SolveOptions options;
  const Result<BytesKind> bytes = parse_bytes_kind(o.bytes);
  if (!bytes) return at_option(bytes.status(), "--bytes");
  options.bytes = *bytes;
  const Result<Objective> objective = parse_objective(o.objective);
  if (!objective) return at_option(objective.status(), "--objective");
  options.objective = *objective;
  options.t_cache = o.t_cache;
  options.robust_z = o.robust_z;
  options.max_states = std::int64_t{1} << 23;  // 0.2 s and 0.4 GB; nobody drags a slider here
  LAMINA_ASSIGN_OR_RETURN(Source source, load_source(o, stop));
  LAMINA_ASSIGN_OR_RETURN(options.limits, parse_limits(o, source.table.grid));
  LAMINA_ASSIGN_OR_RETURN(Problem problem, Problem::make(source.table, options, std::move(stop)));
  return Setup{std::move(problem), table_sha256(source.table), std::move(source.info_json)};
}

Result<Method> choose_method(const std::string& name, const Limits& limits) {
  if (!name.empty()) {
    Result<Method> method = parse_method(name);
    if (!method) return at_option(method.status(), "--method");
    return method;
  }
  return fitting_method(methods::kGreedy, limits.target);
}

Result<std::int64_t> parse_bytes(const std::string& text, const std::string& option) {
  // Shares of nothing are nothing, so 14x and 25% are refused like other words.
  Result<std::int64_t> bytes = parse_budget(text, 0);
  if (bytes) return bytes;
  return Status::usage(fmt::format("'{}' is not a number of bytes", text), option,
                       "write 24GiB, 80GB or 25769803776");
}

}  // namespace lamina::cli
