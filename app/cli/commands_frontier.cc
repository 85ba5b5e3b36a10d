// SPDX-License-Identifier: Apache-2.0
// frontier
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/cli/common.h"
#include "app/cli/solve_options.h"
#include "app/cli/solve_report.h"
#include "engine/base/units.h"
#include "engine/solve/frontier.h"

namespace lamina::cli {
namespace {

constexpr int kMaxPoints = 4096;

struct FrontierCommand {
  ProblemOptions problem;
  std::vector<std::string> methods;
  FrontierOptions options;
};

// Those of --methods, else the ones that a plot of the trade-off shows.
Result<std::vector<Method>> choose_methods(const FrontierCommand& o, int layers) {
  std::vector<Method> out;
  for (const std::string& name : o.methods) {
    const Result<Method> method = parse_method(name);
    if (!method) return at_option(method.status(), "--methods");
    out.push_back(*method);
  }
  if (!o.methods.empty()) return out;
  out = {methods::kGreedy, methods::kExact, methods::k2dExact, methods::kUniform2d,
         methods::kUniformFree};
  if (layers >= 2 * methods::kEdges2.edge_layers) out.push_back(methods::kEdges2);
  return out;
}

OrderedJson point_json(const FrontierPoint& point) {
  const Solution& solution = point.solution;
  OrderedJson out = {{"method", to_string(solution.method)}, {"budget", point.budget},
                     {"bytes", solution.used_bytes},         {"predicted", solution.predicted},
                     {"lower_bound", solution.lower_bound},  {"proven", solution.proven}};
  add_recipes(solution, out);
  return out;
}

std::string frontier_text(const Problem& problem, const std::vector<FrontierPoint>& points) {
  const SolveOptions& options = problem.options();
  const double full = problem.costs().to_bytes(problem.costs().full());
  std::string out = fmt::format("{:<20} {:>12} {:>9} {:>12} {:>12}\n", "method", "bytes", "ratio",
                                to_string(options.objective), "bound");
  for (const FrontierPoint& point : points) {
    const Solution& solution = point.solution;
    out += fmt::format("{:<20} {:>12} {:>8.2f}x {:>12.5g} {:>12.5g}\n", to_string(solution.method),
                       format_mb(std::llround(solution.used_bytes)), full / solution.used_bytes,
                       solution.predicted, solution.lower_bound);
  }
  return out + fmt::format("{} bytes of {} (t_cache {}); {}, predicted\n", to_string(options.bytes),
                           format_mb(std::llround(full)), problem.table().geometry.t_cache,
                           describe(options.objective));
}

Status run_frontier(const Invocation& inv, const FrontierCommand& o) {
  LAMINA_ASSIGN_OR_RETURN(const Setup setup, set_up(o.problem, inv.context.stop));
  const Problem& problem = setup.problem;
  LAMINA_ASSIGN_OR_RETURN(const std::vector<Method> chosen,
                          choose_methods(o, problem.costs().layers));
  std::vector<FrontierPoint> points;
  for (const Method& method : chosen) {
    LAMINA_ASSIGN_OR_RETURN(const std::vector<FrontierPoint> of_method,
                            method_frontier(problem, method, o.options, inv.context.stop));
    points.insert(points.end(), of_method.begin(), of_method.end());
  }
  if (!inv.common.json) return print_text(frontier_text(problem, points));
  OrderedJson list = OrderedJson::array();
  for (const FrontierPoint& point : points) list.push_back(point_json(point));
  return print_json({{"objective", to_string(problem.options().objective)},
                     {"robust_z", problem.options().robust_z},
                     {"bytes_kind", to_string(problem.options().bytes)},
                     {"full", problem.costs().to_bytes(problem.costs().full())},
                     {"points", std::move(list)}});
}

}  // namespace

void add_frontier_command(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("frontier", "Predicted error against bytes, over all budgets");
  auto o = std::make_shared<FrontierCommand>();
  add_problem_options(*command, o->problem);
  command
      ->add_option("--methods", o->methods,
                   "Comma-separated; default greedy, exact, 2d:exact, both uniforms and edges:2")
      ->delimiter(',');
  command->add_option("--points", o->options.points, "Budgets a method at most; default 96")
      ->check(CLI::Range(2, kMaxPoints));
  command->callback([&inv, o] { inv.run = [&inv, o] { return run_frontier(inv, *o); }; });
}

}  // namespace lamina::cli
