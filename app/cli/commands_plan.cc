// SPDX-License-Identifier: Apache-2.0
// calibrate and solve.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "app/cli/common.h"
#include "engine/base/file.h"
#include "engine/base/units.h"
#include "engine/calibrate/job.h"
#include "engine/project/project.h"
#include "engine/solve/solve.h"

namespace lamina::cli {
namespace {

// -----------------------------------------------------------------------------------------
// calibrate

struct CalibrateCommand {
  std::string model, project, table_out, ids, text_file, stats_ids, quantizer, survivors = "shared";
  bool has_ids = false, has_stats_ids = false, has_table_out = false;
  CalibrationOptions options;
};

std::string table_summary(const SensitivityTable& table) {
  std::string out =
      fmt::format("{:>5}  {:>8} {:>8} {:>8} {:>8}   relative error S of the attention output\n",
                  "layer", "cheapest", "K4", "V4", "evicted");
  const ConfigGrid& grid = table.grid;
  int full = grid.full_index();
  int kf = grid.k_i(full), vf = grid.v_i(full), ef = grid.keep_i(full);
  for (int l = 0; l < table.layers(); ++l) {
    const auto& row = table.values[l];
    out += fmt::format("{:>5}  {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f}\n", l, row[0],
                       row[grid.index(ef, 0, vf)], row[grid.index(ef, kf, 0)],
                       row[grid.index(0, kf, vf)]);
  }
  return out + fmt::format("cheapest = {}; K4, V4, evicted = only that axis at its cheapest\n",
                           to_string(grid.at(0)));
}

// "Q" for both, or "k=Q,v=Q" in any order.
Result<QuantizerNames> parse_quantizer(const std::string& text) {
  QuantizerNames names;
  if (text.find('=') == std::string::npos) return QuantizerNames{text, text};
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    if (part.rfind("k=", 0) == 0) {
      names.k = part.substr(2);
    } else if (part.rfind("v=", 0) == 0) {
      names.v = part.substr(2);
    } else {
      return Status::usage(fmt::format("'{}' is not a quantiser", text), "--quantizer",
                           "write asym-g32 or k=asym-g32,v=asym-g32");
    }
    begin = end + 1;
  }
  return names;
}

// Fills the probe's ids and the statistics' ids from the command's options.
Status take_ids(const Model& model, const JobContext& context, CalibrateCommand& o) {
  if (o.has_ids) {
    LAMINA_ASSIGN_OR_RETURN(o.options.ids, parse_ids("--ids", o.ids));
  } else if (!o.text_file.empty()) {
    if (!model.tokenizer()) return model.tokenizer_status();
    LAMINA_ASSIGN_OR_RETURN(std::string text, read_text_file(o.text_file, kMaxTokenizerText));
    LAMINA_ASSIGN_OR_RETURN(o.options.ids, model.tokenizer()->encode(text, false, context.stop));
  }
  if (o.has_stats_ids) {
    LAMINA_ASSIGN_OR_RETURN(o.options.statistics_ids, parse_ids("--stats-ids", o.stats_ids));
  }
  // An empty list in the options would ask for the built-in text.
  const bool own_text = o.has_ids || !o.text_file.empty();
  if (own_text && o.options.ids.empty()) return empty_prompt(o.has_ids ? "--ids" : "--text-file");
  if (o.has_stats_ids && o.options.statistics_ids.empty()) return empty_prompt("--stats-ids");
  return Status::ok();
}

Status run_calibrate(const Invocation& inv, CalibrateCommand& o) {
  if (!o.quantizer.empty()) {
    LAMINA_ASSIGN_OR_RETURN(o.options.quantizer, parse_quantizer(o.quantizer));
  }
  const auto survivors = parse_survivor_mode(o.survivors);
  if (!survivors) return at_option(survivors.status(), "--survivors");
  if (*survivors != SurvivorMode::kShared) {
    return Status::usage("survivor sets per KV head are not available yet", "--survivors",
                         "use shared");
  }
  if (o.has_table_out) {
    LAMINA_RETURN_IF_ERROR(check_output("--table-out", o.table_out, {o.project, o.model}));
  }
  LAMINA_ASSIGN_OR_RETURN(auto checkpoint, open_complete(o.model));
  // A project that cannot be used is refused before the long work.
  std::error_code error;
  if (std::filesystem::exists(o.project, error)) {
    LAMINA_RETURN_IF_ERROR(Project::open_or_create(o.project, inv.context.stop).status());
  }
  LAMINA_ASSIGN_OR_RETURN(ModelId id, checkpoint->model_id(inv.context));
  LAMINA_ASSIGN_OR_RETURN(auto model, Model::load(checkpoint, inv.context));
  LAMINA_RETURN_IF_ERROR(take_ids(*model, inv.context, o));
  LAMINA_ASSIGN_OR_RETURN(
      auto job,
      calibrate_into_project(*model, id, o.options, std::filesystem::path(o.project), inv.context));
  if (!o.table_out.empty()) LAMINA_RETURN_IF_ERROR(write_table(job.table, o.table_out));
  if (inv.common.json) {
    return print_json({{"project", o.project},
                       {"table_id", job.table_id},
                       {"layers", job.table.layers()},
                       {"configs", job.table.grid.size()},
                       {"resumed_layers", job.resumed_layers},
                       {"values", job.table.values},
                       {"table_sha256", table_sha256(job.table)},
                       {"seconds", job.seconds}});
  }
  std::string out = table_summary(job.table);
  if (job.resumed_layers > 0) {
    out += fmt::format("{} layers were taken over from an interrupted calibration\n",
                       job.resumed_layers);
  }
  return print_text(out + fmt::format("stored in {}\n", o.project));
}

void add_calibrate(CLI::App& app, Invocation& inv) {
  auto* command =
      app.add_subcommand("calibrate", "Measure every layer's sensitivity to every recipe");
  auto o = std::make_shared<CalibrateCommand>();
  command->add_option("model", o->model, "GGUF file or Hugging Face folder")->required();
  command->add_option("--project", o->project, "Project file (*.lamina), made where it is missing")
      ->required();
  command->add_option("--scorer", o->options.scorer,
                      "streaming, keydiff or triattention (default)");
  command->add_option("--probe", o->options.probe, "prompt (default)");
  command->add_option("--quantizer", o->quantizer, "asym-g32 (default), or k=Q,v=Q");
  command->add_option("--survivors", o->survivors, "shared (default): one set per layer");
  auto* ids = command->add_option("--ids", o->ids, "The probe's token ids: 1,2,3 or @FILE");
  command->add_option("--text-file", o->text_file, "A file with the probe's text")->excludes(ids);
  command->add_option("--stats-ids", o->stats_ids,
                      "Token ids of the text for the scorer's statistics");
  command
      ->add_option("--t-cache", o->options.t_cache,
                   "Tokens the cache is sized for; default the model's context")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--table-out", o->table_out, "Also write the table as JSON");
  command->callback([&inv, o, command] {
    o->has_ids = command->count("--ids") > 0;
    o->has_stats_ids = command->count("--stats-ids") > 0;
    o->has_table_out = command->count("--table-out") > 0;
    inv.run = [&inv, o] { return run_calibrate(inv, *o); };
  });
}

// ---------------------------------------------------------------------------------------------
// solve

struct SolveCommand {
  std::string project, table, budget, method = "greedy", objective = "S", bytes = "actual",
                                      plan_out;
  std::int64_t t_cache = 0;
  bool has_plan_out = false;
};

Result<SensitivityTable> load_table(const std::string& project_path,
                                    const std::string& table_path) {
  if (project_path.empty()) return read_table(table_path);
  LAMINA_ASSIGN_OR_RETURN(auto project, Project::open(project_path));
  LAMINA_ASSIGN_OR_RETURN(auto newest, project->newest_table());
  if (!newest) {
    return Status::bad_input("the project has no complete table", project_path,
                             "run lamina calibrate first");
  }
  return project->table(newest->id);
}

std::string plan_text(const Problem& problem, const Solution& solution, const Plan& plan,
                      const std::optional<Solution>& uniform) {
  std::string out = fmt::format("{:>5}  {:>6} {:>3} {:>3} {:>12} {:>10}\n", "layer", "keep", "K",
                                "V", "bytes", "predicted");
  const CostTable& costs = problem.costs();
  for (int l = 0; l < costs.layers; ++l) {
    int c = solution.configs[l];
    LayerConfig config = problem.table().grid.at(c);
    out += fmt::format("{:>5}  {:>6} {:>3} {:>3} {:>12} {:>10.5f}\n", l, config.keep, config.k_bits,
                       config.v_bits, format_mb(std::llround(costs.to_bytes(costs.at(l, c)))),
                       problem.table().values[l][c]);
  }
  double full = costs.to_bytes(costs.full());
  const PlanBudget& budget = *plan.budget;
  out += fmt::format("\nmethod     {}, objective S (sum of relative errors, predicted)\n",
                     to_string(solution.method));
  out += fmt::format("budget     {} of {} ({} bytes, t_cache {})\n", format_mb(budget.bytes),
                     format_mb(std::llround(full)), to_string(costs.kind),
                     problem.table().geometry.t_cache);
  out += fmt::format(
      "used       {} = {:.1f} % of the budget, {:.2f}x smaller than full; peak {} (actual)\n",
      format_mb(std::llround(solution.used_bytes)),
      100 * solution.used_bytes / static_cast<double>(budget.bytes), full / solution.used_bytes,
      format_mb(budget.peak));
  out += fmt::format("predicted  {:.4f} with {} distinct recipes, solved in {:.3f} ms\n",
                     solution.predicted, plan.distinct_configs(), 1e3 * solution.seconds);
  if (!uniform) return out + "uniform    no single recipe fits this budget\n";
  out += fmt::format("uniform    {:.4f} with {} in every layer, {:.1f} % of the budget",
                     uniform->predicted, to_string(problem.table().grid.at(uniform->configs[0])),
                     100 * uniform->used_bytes / static_cast<double>(budget.bytes));
  if (uniform->predicted > 0) {
    out += fmt::format("; the plan's predicted error is {:+.1f} % of it",
                       100 * (solution.predicted / uniform->predicted - 1));
  }
  return out + "\n";
}

Status run_solve(const Invocation& inv, const SolveCommand& o) {
  LAMINA_ASSIGN_OR_RETURN(Method method, parse_method(o.method));
  LAMINA_ASSIGN_OR_RETURN(BytesKind kind, parse_bytes_kind(o.bytes));
  if (o.objective != "S") {
    return Status::usage(fmt::format("unknown objective '{}'", o.objective), "--objective",
                         "use S");
  }
  if (o.has_plan_out) {
    LAMINA_RETURN_IF_ERROR(check_output("--plan-out", o.plan_out, {o.project, o.table}));
  }
  LAMINA_ASSIGN_OR_RETURN(SensitivityTable table, load_table(o.project, o.table));
  std::string table_hash = table_sha256(table);
  LAMINA_ASSIGN_OR_RETURN(Problem problem, Problem::make(table, kind, o.t_cache));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t budget, parse_budget(o.budget, problem.full_bytes()));
  LAMINA_ASSIGN_OR_RETURN(Solution solution, problem.solve(method, budget));
  LAMINA_ASSIGN_OR_RETURN(Plan plan, make_plan(problem, solution, budget, table_hash));
  if (!o.plan_out.empty()) LAMINA_RETURN_IF_ERROR(write_plan(plan, o.plan_out));
  if (inv.common.json) {
    return print_json({{"method", to_string(method)},
                       {"objective", o.objective},
                       {"bytes", solution.used_bytes},
                       {"bytes_kind", to_string(kind)},
                       {"budget", budget},
                       {"full", problem.costs().to_bytes(problem.costs().full())},
                       {"peak", plan.budget->peak},
                       {"predicted", solution.predicted},
                       {"lower_bound", nullptr},
                       {"distinct", plan.distinct_configs()},
                       {"configs", solution.configs},
                       {"seconds", solution.seconds}});
  }
  std::optional<Solution> uniform;
  if (auto solved = problem.solve(Method::kUniform2d, budget)) uniform = *solved;
  std::string out = plan_text(problem, solution, plan, uniform);
  if (!o.plan_out.empty()) out += fmt::format("plan       written to {}\n", o.plan_out);
  return print_text(out);
}

void add_solve(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("solve", "Which layer gets which recipe under a budget");
  auto o = std::make_shared<SolveCommand>();
  auto* source = command->add_option_group("source");
  source->add_option("--project", o->project, "Project file; its newest complete table is used");
  source->add_option("--table", o->table, "Table JSON");
  source->require_option(1);
  command->add_option("--budget", o->budget, "136MB, 130MiB, 142606336, 14x or 25%")->required();
  command->add_option("--t-cache", o->t_cache, "Tokens the cache is sized for; default the table's")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--method", o->method, "greedy (default) or 2d_uniform");
  command->add_option("--objective", o->objective, "S (default)");
  command->add_option("--bytes", o->bytes, "actual (default) or nominal");
  command->add_option("--plan-out", o->plan_out, "Write the plan as JSON");
  command->callback([&inv, o, command] {
    o->has_plan_out = command->count("--plan-out") > 0;
    inv.run = [&inv, o] { return run_solve(inv, *o); };
  });
}

}  // namespace

void add_plan_commands(CLI::App& app, Invocation& invocation) {
  add_calibrate(app, invocation);
  add_solve(app, invocation);
}

}  // namespace lamina::cli
