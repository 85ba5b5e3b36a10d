// SPDX-License-Identifier: Apache-2.0
// solve
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/cli/common.h"
#include "app/cli/solve_options.h"
#include "app/cli/solve_report.h"
#include "engine/base/units.h"

namespace lamina::cli {
namespace {

struct SolveCommand {
  ProblemOptions problem;
  std::string budget, method, gpu_memory, model, weights_bytes, plan_out;
  std::int64_t context = 0, concurrency = 1;
  bool from_memory = false, has_weights = false, has_plan_out = false, explain = false;
};

// The sizes of --model, which must be the table's, else those of the project's checkpoint, with the
// weights of --weights-bytes where it is given.
Result<ModelSizes> model_sizes(const Invocation& inv, const SolveCommand& o, const Setup& setup) {
  if (!o.model.empty()) {
    LAMINA_ASSIGN_OR_RETURN(auto checkpoint, open_complete(o.model));
    LAMINA_ASSIGN_OR_RETURN(const ModelId id, checkpoint->model_id(inv.context));
    LAMINA_RETURN_IF_ERROR(check_same_model(setup.problem.table(), id));
    if (checkpoint->config().kv != setup.problem.table().geometry.layers) {
      return Status::bad_input("the table's layers are not the model's", o.model,
                               "give the model that the table was calibrated on");
    }
    return model_sizes_from_info(info_json(*checkpoint, ""), o.model);
  }
  ModelSizes sizes;
  if (!setup.info_json.empty()) {
    LAMINA_ASSIGN_OR_RETURN(sizes, model_sizes_from_info(setup.info_json, o.problem.project));
  } else if (!o.has_weights) {
    return Status::usage("the size of the model's weights is not known", "--gpu-memory",
                         "add --model MODEL or --weights-bytes 15GB");
  }
  if (o.has_weights) {
    LAMINA_ASSIGN_OR_RETURN(sizes.weight_bytes, parse_bytes(o.weights_bytes, "--weights-bytes"));
  }
  return sizes;
}

// Sets report.budget, and report.memory where the budget follows from GPU memory.
Status take_budget(const Invocation& inv, const SolveCommand& o, const Setup& setup,
                   const Method& method, SolveReport& report) {
  const Problem& problem = setup.problem;
  if (!o.from_memory) {
    LAMINA_ASSIGN_OR_RETURN(report.budget, parse_budget(o.budget, problem.full_bytes()));
    return Status::ok();
  }
  if (!problem.table().bytes.empty()) {
    return Status::usage("the table lists bytes of another cache, at one length", "--gpu-memory",
                         "give a --budget in those bytes");
  }
  MemoryReport memory;
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t gpu, parse_bytes(o.gpu_memory, "--gpu-memory"));
  memory.request = {gpu, o.context, o.concurrency};
  LAMINA_ASSIGN_OR_RETURN(memory.model, model_sizes(inv, o, setup));
  LAMINA_ASSIGN_OR_RETURN(memory.budget,
                          memory_budget(memory.model, problem.table().geometry, memory.request));
  LAMINA_ASSIGN_OR_RETURN(
      report.budget, budget_for_peak(problem, method, memory.budget.per_request, inv.context.stop));
  report.memory = memory;
  return Status::ok();
}

// What the plan makes of the GPU's memory.
Status look_back(const Problem& problem, const Plan& plan, MemoryReport& memory) {
  const Geometry& geometry = problem.table().geometry;
  const StorageOptions storage = problem.table().storage();
  LAMINA_ASSIGN_OR_RETURN(memory.most_requests,
                          most_requests(memory.model, geometry, plan.layers, plan.evict_every,
                                        storage, memory.request.gpu_bytes, memory.request.context));
  const std::int64_t longest =
      std::max(memory.model.context_length > 0 ? memory.model.context_length : kMaxTokens,
               memory.request.context);
  LAMINA_ASSIGN_OR_RETURN(
      memory.longest_context,
      longest_context(memory.model, geometry, plan.layers, plan.evict_every, storage,
                      memory.request.gpu_bytes, memory.request.concurrency, longest));
  return Status::ok();
}

// Every method at this budget; those that are impossible for so few layers are left out.
Result<std::vector<Rival>> rivals(const Problem& problem, const Solution& chosen,
                                  std::int64_t budget, const std::stop_token& stop) {
  std::vector<Method> methods = all_methods();
  if (std::find(methods.begin(), methods.end(), chosen.method) == methods.end()) {
    methods.push_back(chosen.method);
  }
  std::vector<Rival> out;
  for (const Method& method : methods) {
    Result<Solution> solved =
        method == chosen.method ? Result<Solution>(chosen) : problem.solve(method, budget, stop);
    if (solved) {
      out.push_back({method, std::move(*solved)});
    } else if (solved.status().kind() == ErrorKind::kRefused) {
      out.push_back({method, std::nullopt});
    } else if (solved.status().kind() != ErrorKind::kUsage) {
      return solved.status();
    }
  }
  return out;
}

Status fill_report(const SolveCommand& o, const Setup& setup, const std::stop_token& stop,
                   SolveReport& report) {
  const Problem& problem = setup.problem;
  LAMINA_ASSIGN_OR_RETURN(report.plan,
                          make_plan(problem, report.solution, report.budget, setup.table_sha256));
  if (report.memory) LAMINA_RETURN_IF_ERROR(look_back(problem, report.plan, *report.memory));
  LAMINA_ASSIGN_OR_RETURN(report.rivals, rivals(problem, report.solution, report.budget, stop));
  if (routes_by_layer(report.solution.method.family)) {
    LAMINA_ASSIGN_OR_RETURN(
        report.headroom, check_headroom(problem, report.solution, report.budget, o.context, stop));
  }
  if (o.explain) {
    LAMINA_ASSIGN_OR_RETURN(report.explanation, explain(problem, report.solution, report.budget));
  }
  return Status::ok();
}

Status run_solve(const Invocation& inv, SolveCommand& o) {
  if (o.has_plan_out) {
    LAMINA_RETURN_IF_ERROR(
        check_output("--plan-out", o.plan_out,
                     {o.problem.project, o.problem.table, o.problem.targets_file, o.model}));
  }
  if (o.from_memory) o.problem.t_cache = o.context;
  LAMINA_ASSIGN_OR_RETURN(const Setup setup, set_up(o.problem, inv.context.stop));
  LAMINA_ASSIGN_OR_RETURN(const Method method,
                          choose_method(o.method, setup.problem.options().limits));
  SolveReport report;
  LAMINA_RETURN_IF_ERROR(take_budget(inv, o, setup, method, report));
  LAMINA_ASSIGN_OR_RETURN(report.solution,
                          setup.problem.solve(method, report.budget, inv.context.stop));
  LAMINA_RETURN_IF_ERROR(fill_report(o, setup, inv.context.stop, report));
  if (inv.context.stop_requested()) return Status::cancelled();
  if (o.has_plan_out) LAMINA_RETURN_IF_ERROR(write_plan(report.plan, o.plan_out));
  if (inv.common.json) return print_json(report_json(setup.problem, report));
  std::string out = report_text(setup.problem, report);
  if (o.has_plan_out) out += fmt::format("\nplan written to {}\n", o.plan_out);
  return print_text(out);
}

}  // namespace

void add_solve_command(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("solve", "Which layer gets which recipe under a budget");
  auto o = std::make_shared<SolveCommand>();
  auto* t_cache = add_problem_options(*command, o->problem);
  auto* budget = command->add_option_group("budget");
  budget->add_option("--budget", o->budget, "136MB, 130MiB, 142606336, 14x or 25%");
  auto* gpu = budget->add_option("--gpu-memory", o->gpu_memory,
                                 "24GiB: what weights and activations leave for the caches of "
                                 "--concurrency requests of --context tokens (estimates)");
  budget->require_option(1);
  auto* context = command->add_option("--context", o->context, "Tokens of one request")
                      ->check(CLI::Range(std::int64_t{1}, kMaxTokens));
  gpu->needs(context)->excludes(t_cache);
  command->add_option("--concurrency", o->concurrency, "Requests at a time; default 1")
      ->check(CLI::Range(std::int64_t{1}, kMaxTokens))
      ->needs(gpu);
  auto* model = command->add_option("--model", o->model, "The model, for the size of its weights");
  model->needs(gpu);
  command->add_option("--weights-bytes", o->weights_bytes, "15GB: what the weights take on the GPU")
      ->needs(gpu)
      ->excludes(model);
  std::string methods;
  for (const Method& method : all_methods()) methods += ", " + to_string(method);
  command->add_option("--method", o->method,
                      "Default greedy, or what --target can run; one of " + methods.substr(2));
  command->add_flag("--explain", o->explain, "Why each layer's next upgrade was not taken");
  command->add_option("--plan-out", o->plan_out, "Write the plan as JSON");
  command->callback([&inv, o, command] {
    o->from_memory = command->count("--gpu-memory") > 0;
    o->has_weights = command->count("--weights-bytes") > 0;
    o->has_plan_out = command->count("--plan-out") > 0;
    inv.run = [&inv, o] { return run_solve(inv, *o); };
  });
}

}  // namespace lamina::cli
