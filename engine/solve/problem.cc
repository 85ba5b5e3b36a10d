// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/base/integer.h"
#include "engine/base/units.h"
#include "engine/solve/problem_state.h"

namespace lamina {
namespace {

std::int64_t bytes_up(const CostTable& costs, std::int64_t units) {
  return static_cast<std::int64_t>(ceil_div(units, costs.denominator));
}

// The table's own bytes in place of the computed ones; the uncompressed layer is its dearest
// recipe.
Status take_listed_bytes(const SensitivityTable& table, std::int64_t t_cache, CostTable& costs) {
  if (t_cache != 0 && t_cache != table.geometry.t_cache) {
    return Status::bad_input(fmt::format("the table lists its bytes for t_cache {}, not {}",
                                         table.geometry.t_cache, t_cache),
                             "sensitivity table", "leave t_cache as it is, or use nominal bytes");
  }
  for (int l = 0; l < costs.layers; ++l) {
    const std::vector<std::int64_t>& row = table.bytes[l];
    std::copy(row.begin(), row.end(), costs.units.begin() + std::ptrdiff_t{l} * costs.configs);
    costs.full_units[l] = row[static_cast<std::size_t>(table.grid.full_index())];
  }
  return Status::ok();
}

Status check_sum(const std::vector<std::vector<double>>& cells) {
  double worst = 0;
  for (const std::vector<double>& row : cells) {
    worst += *std::max_element(row.begin(), row.end());
  }
  if (std::isfinite(worst)) return Status::ok();
  return Status::bad_input("the sensitivities are too large to add up", "sensitivity table",
                           "the table is damaged; calibrate again");
}

Status check_shape(const Problem::State& state, const Method& method) {
  if (method.family == Family::kEdges &&
      (method.edge_layers < 1 || 2 * method.edge_layers > state.costs.layers)) {
    return Status::usage(
        fmt::format("{} does not fit {} layers", to_string(method), state.costs.layers), "method",
        fmt::format("use edges:1 to edges:{}", state.costs.layers / 2));
  }
  const auto& target = state.options.limits.target;
  if (shape_allows(target, method.family)) return Status::ok();
  const bool edges = target->shape == PlanShape::kEdges;
  return Status::refused(
      fmt::format("{} cannot run a plan of {}", target->title, to_string(method)),
      fmt::format("target {}", target->name),
      fmt::format("it has one recipe for all layers{}: use 2d_uniform{}",
                  edges ? " but the first and last" : "", edges ? " or edges:N" : ""));
}

}  // namespace

bool shape_allows(const std::optional<Target>& target, Family family) {
  if (!target || target->shape == PlanShape::kPerLayer) return true;
  if (family == Family::kEdges) return target->shape == PlanShape::kEdges;
  return family == Family::kUniform || family == Family::kUniformFree || family == Family::k1d;
}

Method fitting_method(const Method& wanted, const std::optional<Target>& target) {
  if (shape_allows(target, wanted.family)) return wanted;
  return target->shape == PlanShape::kEdges ? methods::kEdges2 : methods::kUniform2d;
}

std::string spell_bytes(std::int64_t bytes) {
  return fmt::format("{} bytes ({})", bytes, format_mb(bytes));
}

Status infeasible(const CostTable& costs, const Method& method, std::int64_t budget,
                  std::int64_t smallest_units) {
  return Status::refused(fmt::format("no plan fits {}", spell_bytes(budget)),
                         fmt::format("{}, {} bytes", to_string(method), to_string(costs.kind)),
                         fmt::format("the smallest feasible budget is {}",
                                     spell_bytes(bytes_up(costs, smallest_units))));
}

std::unique_ptr<const Knapsack> Problem::State::knapsack(std::vector<int> configs) const {
  auto out = std::make_unique<Knapsack>();
  out->configs = std::move(configs);
  std::vector<int> all(static_cast<std::size_t>(costs.configs));
  std::iota(all.begin(), all.end(), 0);
  out->choices = pareto_choices(cells, costs, allowed, unit, [&](int l) {
    return std::span<const int>(pinned[l] || out->configs.empty() ? all : out->configs);
  });
  if (!out->choices.has_empty_layer()) out->lp.emplace(out->choices);
  return out;
}

std::vector<int> Problem::State::greedy_of(const Knapsack& part, std::int64_t budget_units) const {
  std::vector<std::uint8_t> mask(allowed.size(), 0);
  for (int l = 0; l < costs.layers; ++l) {
    const std::size_t row = static_cast<std::size_t>(l) * costs.configs;
    if (pinned[l]) {
      std::copy_n(allowed.begin() + static_cast<std::ptrdiff_t>(row), costs.configs,
                  mask.begin() + static_cast<std::ptrdiff_t>(row));
    } else {
      for (int c : part.configs) mask[row + c] = allowed[row + c];
    }
  }
  return GreedySolver(cells, table.grid, costs, mask, unit).solve(budget_units);
}

double Problem::State::predicted(const std::vector<int>& configs) const {
  double sum = 0;
  for (std::size_t l = 0; l < configs.size(); ++l) sum += cells[l][configs[l]];
  return sum;
}

std::int64_t Problem::State::used_units(const std::vector<int>& configs) const {
  std::int64_t sum = 0;
  for (int l = 0; l < costs.layers; ++l) sum += costs.at(l, configs[l]);
  return sum;
}

Result<Problem> Problem::make(const SensitivityTable& table, const SolveOptions& options,
                              std::stop_token stop) {
  LAMINA_RETURN_IF_ERROR(table.validate("sensitivity table"));
  auto state = std::make_shared<State>();
  state->options = options;
  LAMINA_ASSIGN_OR_RETURN(state->cells,
                          objective_cells(table, options.objective, options.robust_z));
  LAMINA_RETURN_IF_ERROR(check_sum(state->cells));
  state->table = table;
  if (options.t_cache != 0) state->table.geometry.t_cache = options.t_cache;
  LAMINA_ASSIGN_OR_RETURN(state->costs, make_cost_table(state->table.geometry, table.grid,
                                                        options.bytes, table.storage()));
  if (options.bytes == BytesKind::kActual && !table.bytes.empty()) {
    LAMINA_RETURN_IF_ERROR(take_listed_bytes(table, options.t_cache, state->costs));
  }
  if (options.bytes == BytesKind::kNominal) {
    state->unit = 0;
    for (std::int64_t units : state->costs.units) state->unit = std::gcd(state->unit, units);
  }
  LAMINA_ASSIGN_OR_RETURN(state->allowed,
                          allowed_configs(options.limits, state->costs.layers, table.grid));
  state->pinned.assign(static_cast<std::size_t>(state->costs.layers), false);
  for (const Pin& pin : options.limits.pins) {
    for (int l = pin.layers.first; l <= pin.layers.last; ++l) state->pinned[l] = true;
  }
  if (stop.stop_requested()) return Status::cancelled();
  state->whole = state->knapsack({});
  state->greedy.emplace(state->cells, table.grid, state->costs, state->allowed, state->unit);
  if (stop.stop_requested()) return Status::cancelled();
  return Problem(std::move(state));
}

const SensitivityTable& Problem::table() const { return state_->table; }
const SolveOptions& Problem::options() const { return state_->options; }
const CostTable& Problem::costs() const { return state_->costs; }
const std::vector<std::vector<double>>& Problem::cells() const { return state_->cells; }
const std::vector<std::uint8_t>& Problem::allowed() const { return state_->allowed; }

std::int64_t Problem::full_bytes() const { return bytes_up(costs(), costs().full()); }

std::int64_t Problem::smallest_bytes() const {
  return bytes_up(costs(), state_->whole->cheapest() * state_->unit);
}

Result<double> Problem::lower_bound(std::int64_t budget) const {
  const std::int64_t room = state_->budget_units(budget);
  if (room < state_->whole->cheapest()) {
    return infeasible(costs(), methods::kLp, budget, state_->whole->cheapest() * state_->unit);
  }
  return state_->whole->lp->lower_bound(room);
}

std::vector<std::int64_t> Problem::corner_bytes() const {
  std::vector<std::int64_t> out;
  for (std::size_t k = 0; k <= state_->whole->lp->segments().size(); ++k) {
    const std::int64_t bytes = bytes_up(costs(), state_->whole->lp->cost(k) * state_->unit);
    if (out.empty() || bytes > out.back()) out.push_back(bytes);
  }
  return out;
}

Result<Solution> Problem::solve(const Method& method, std::int64_t budget,
                                std::stop_token stop) const {
  const auto start = std::chrono::steady_clock::now();
  LAMINA_RETURN_IF_ERROR(check_shape(*state_, method));
  Solution solution;
  if (method.family == Family::kUniformFree) {
    LAMINA_ASSIGN_OR_RETURN(solution, solve_uniform_free(*state_, budget));
  } else {
    FamilyPlan plan;
    switch (method.family) {
      case Family::kHetero:
        plan = solve_whole(*state_, method.search, budget, stop);
        break;
      case Family::k2d:
      case Family::kEvictHetero:
        plan = solve_parts(*state_, method, budget, stop);
        break;
      default:
        plan = solve_members(*state_, method, budget);
    }
    if (stop.stop_requested()) return Status::cancelled();
    if (plan.smallest_units < 0) {
      return Status::refused("the limits and the grid leave this method no plan", to_string(method),
                             "forbid less, or use exact");
    }
    if (plan.configs.empty()) return infeasible(costs(), method, budget, plan.smallest_units);
    solution.method = method;
    solution.proven = plan.proven;
    for (int config : plan.configs) solution.layers.push_back(table().grid.at(config));
    solution.predicted = predicted(plan.configs);
    solution.used_units = used_units(plan.configs);
    solution.configs = std::move(plan.configs);
  }
  solution.used_bytes = costs().to_bytes(solution.used_units);
  LAMINA_ASSIGN_OR_RETURN(const double bound, lower_bound(budget));
  solution.lower_bound = std::min(bound, solution.predicted);
  solution.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return solution;
}

std::vector<std::vector<int>> Problem::members(const Method& method) const {
  return state_->members(method);
}

double Problem::predicted(const std::vector<int>& configs) const {
  return state_->predicted(configs);
}

std::int64_t Problem::used_units(const std::vector<int>& configs) const {
  return state_->used_units(configs);
}

}  // namespace lamina
