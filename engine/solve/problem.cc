// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/base/integer.h"
#include "engine/base/units.h"
#include "engine/solve/greedy.h"
#include "engine/solve/solve.h"

namespace lamina {
namespace {

std::int64_t bytes_up(const CostTable& costs, std::int64_t units) {
  return static_cast<std::int64_t>(ceil_div(units, costs.denominator));
}

// "131072000 bytes (131.1 MB)"
std::string spell(std::int64_t bytes) {
  return fmt::format("{} bytes ({})", bytes, format_mb(bytes));
}

Status infeasible(const CostTable& costs, Method method, std::int64_t budget,
                  std::int64_t smallest_units) {
  return Status::refused(
      fmt::format("no plan fits {}", spell(budget)),
      fmt::format("{}, {} bytes", to_string(method), to_string(costs.kind)),
      fmt::format("the smallest feasible budget is {}", spell(bytes_up(costs, smallest_units))));
}

// The cheapest configuration of a layer, the first of equals.
int cheapest(const CostTable& costs, int layer) {
  int best = 0;
  for (int c = 1; c < costs.configs; ++c) {
    if (costs.at(layer, c) < costs.at(layer, best)) best = c;
  }
  return best;
}

std::int64_t sum_units(const CostTable& costs, const std::vector<int>& configs) {
  std::int64_t sum = 0;
  for (int l = 0; l < costs.layers; ++l) sum += costs.at(l, configs[l]);
  return sum;
}

double sum_values(const SensitivityTable& table, const std::vector<int>& configs) {
  double sum = 0;
  for (std::size_t l = 0; l < configs.size(); ++l) sum += table.values[l][configs[l]];
  return sum;
}

Result<std::vector<int>> run_greedy(const SensitivityTable& table, const CostTable& costs,
                                    std::int64_t budget, std::int64_t unit) {
  std::vector<int> start(static_cast<std::size_t>(costs.layers), 0);
  const std::int64_t budget_units = costs.budget_units(budget);
  if (sum_units(costs, start) > budget_units) {
    for (int l = 0; l < costs.layers; ++l) start[l] = cheapest(costs, l);
    const std::int64_t smallest = sum_units(costs, start);
    if (smallest > budget_units) return infeasible(costs, Method::kGreedy, budget, smallest);
  }
  return solve_greedy(table.values, table.grid, costs, budget_units, unit, std::move(start));
}

Result<std::vector<int>> run_uniform(const SensitivityTable& table, const CostTable& costs,
                                     std::int64_t budget) {
  const std::int64_t budget_units = costs.budget_units(budget);
  std::vector<int> best;
  double best_value = 0;
  std::int64_t smallest = 0;
  for (int c = 0; c < costs.configs; ++c) {
    std::vector<int> configs(static_cast<std::size_t>(costs.layers), c);
    const std::int64_t units = sum_units(costs, configs);
    smallest = c == 0 ? units : std::min(smallest, units);
    if (units > budget_units) continue;
    const double value = sum_values(table, configs);
    if (best.empty() || value < best_value) {
      best = std::move(configs);
      best_value = value;
    }
  }
  if (best.empty()) return infeasible(costs, Method::kUniform2d, budget, smallest);
  return best;
}

}  // namespace

std::string_view to_string(Method method) {
  return method == Method::kGreedy ? "greedy" : "2d_uniform";
}

Result<Method> parse_method(std::string_view text) {
  if (text == "greedy") return Method::kGreedy;
  if (text == "2d_uniform") return Method::kUniform2d;
  return Status::usage(fmt::format("'{}' is not a method", text), "", "use greedy or 2d_uniform");
}

Result<Problem> Problem::make(const SensitivityTable& table, BytesKind kind, std::int64_t t_cache) {
  LAMINA_RETURN_IF_ERROR(table.validate("sensitivity table"));
  double worst = 0;
  for (const std::vector<double>& row : table.values) {
    worst += *std::max_element(row.begin(), row.end());
  }
  if (!std::isfinite(worst)) {
    return Status::bad_input("the sensitivities are too large to add up", "sensitivity table",
                             "the table is damaged; calibrate again");
  }
  Problem problem;
  problem.table_ = table;
  if (t_cache != 0) problem.table_.geometry.t_cache = t_cache;
  LAMINA_ASSIGN_OR_RETURN(problem.costs_, make_cost_table(problem.table_.geometry, table.grid, kind,
                                                          problem.table_.storage()));
  if (kind == BytesKind::kNominal) {
    problem.ratio_unit_ = 0;
    for (std::int64_t units : problem.costs_.units) {
      problem.ratio_unit_ = std::gcd(problem.ratio_unit_, units);
    }
  }
  return problem;
}

std::int64_t Problem::full_bytes() const { return bytes_up(costs_, costs_.full()); }

std::int64_t Problem::smallest_bytes() const {
  std::int64_t units = 0;
  for (int l = 0; l < costs_.layers; ++l) units += costs_.at(l, cheapest(costs_, l));
  return bytes_up(costs_, units);
}

Result<Solution> Problem::solve(Method method, std::int64_t budget) const {
  const auto start = std::chrono::steady_clock::now();
  Solution solution;
  solution.method = method;
  LAMINA_ASSIGN_OR_RETURN(solution.configs, method == Method::kGreedy
                                                ? run_greedy(table_, costs_, budget, ratio_unit_)
                                                : run_uniform(table_, costs_, budget));
  solution.predicted = predicted(solution.configs);
  solution.used_units = used_units(solution.configs);
  solution.used_bytes = costs_.to_bytes(solution.used_units);
  solution.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return solution;
}

double Problem::predicted(const std::vector<int>& configs) const {
  return sum_values(table_, configs);
}

std::int64_t Problem::used_units(const std::vector<int>& configs) const {
  return sum_units(costs_, configs);
}

Result<Plan> make_plan(const Problem& problem, const Solution& solution, std::int64_t budget,
                       const std::string& table_sha256) {
  const SensitivityTable& table = problem.table();
  const StorageOptions storage = table.storage();
  Plan plan;
  if (table.model) plan.model = *table.model;
  plan.geometry = table.geometry;
  plan.scorer = storage.scorer;
  plan.survivors = storage.survivors;
  plan.quantizer = storage.quantizer;
  plan.grid = table.grid;
  for (int config : solution.configs) plan.layers.push_back(table.grid.at(config));

  // `peak` is in actual bytes whatever the budget is counted in.
  LAMINA_ASSIGN_OR_RETURN(Problem actual, Problem::make(table, BytesKind::kActual));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t slack,
                          peak_slack_bytes(plan.geometry, plan.layers, plan.evict_every, storage));
  PlanBudget spent;
  spent.bytes = budget;
  spent.kind = problem.costs().kind;
  spent.used = solution.used_bytes;
  spent.full = problem.costs().to_bytes(problem.costs().full());
  std::optional<std::int64_t> peak = narrow(Int128{actual.used_units(solution.configs)} + slack);
  if (!peak) return Status::bad_input("the plan's peak exceeds 64-bit integers", "actual bytes");
  spent.peak = *peak;
  plan.budget = spent;
  plan.solver = PlanSolver{std::string(to_string(solution.method)), "S", solution.predicted, {}};
  if (table.provenance) {
    plan.calibration =
        PlanCalibration{table.provenance->probe, table.provenance->tokens, table_sha256};
  } else {
    plan.calibration = PlanCalibration{"", 0, table_sha256};
  }
  LAMINA_RETURN_IF_ERROR(plan.validate("plan"));
  return plan;
}

}  // namespace lamina
