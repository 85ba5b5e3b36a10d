// SPDX-License-Identifier: Apache-2.0
// Which layer gets which recipe under one memory budget (spec section 7). Plain C++; a Problem is
// const and thread-safe; a solve takes microseconds to milliseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/plan.h"
#include "engine/solve/limits.h"
#include "engine/solve/method.h"
#include "engine/solve/objective.h"
#include "engine/table/bytes.h"
#include "engine/table/table.h"

namespace lamina {

struct SolveOptions {
  BytesKind bytes = BytesKind::kActual;
  std::int64_t t_cache = 0;  // > 0 replaces the table's
  Objective objective = Objective::kS;
  double robust_z = 0;  // > 0: every cell x counts as x + robust_z * its standard error
  Limits limits{};
  // Partial plans an exact search may look at before it gives up (Solution::proven); each costs
  // about 20 ns and 24 bytes. Real tables need thousands.
  std::int64_t max_states = std::int64_t{1} << 22;
};

struct Solution {
  Method method;
  std::vector<int> configs;         // index of the grid, per layer; empty for a keep off the grid
  std::vector<LayerConfig> layers;  // the recipes by value, per layer
  double predicted = 0;             // sum of the objective's cells; interpolated off the grid
  std::int64_t used_units = 0;      // of the cost table
  double used_bytes = 0;
  // No plan on the grid within the limits and the budget is predicted below it (LP relaxation). A
  // keep off the grid is interpolated and can lie below by a rounding of tokens or bytes; the bound
  // given with it is then its own prediction.
  double lower_bound = 0;
  // false: an exact search gave up (SolveOptions::max_states); the optimum lies between lower_bound
  // and predicted.
  bool proven = true;
  double seconds = 0;
};

// A table with the exact costs of its cells; made once, solved at many budgets.
class Problem {
 public:
  // Errors: kBadInput (NaN or negative values, mismatched shapes, what the objective needs is
  // missing, limits that leave a layer without a choice), kCancelled.
  static Result<Problem> make(const SensitivityTable& table, const SolveOptions& options = {},
                              std::stop_token stop = {});

  const SensitivityTable& table() const;
  const SolveOptions& options() const;
  const CostTable& costs() const;
  // Cells of the objective, (layers, configs).
  const std::vector<std::vector<double>>& cells() const;
  // (layers, configs), 1 = within the limits.
  const std::vector<std::uint8_t>& allowed() const;
  bool allowed(int layer, int config) const {
    return allowed()[static_cast<std::size_t>(layer) * costs().configs + config] != 0;
  }
  std::int64_t full_bytes() const;      // of the uncompressed cache, rounded up
  std::int64_t smallest_bytes() const;  // of the cheapest allocation within the limits, rounded up

  // `budget` in bytes of the problem's kind.
  // - greedy starts every layer at its first allowed configuration, or, where that allocation does
  //   not fit and positions or padding make others cheaper, at each layer's cheapest; a step goes
  //   to the next allowed value of one axis.
  // - exact is the optimum over all allowed configurations, up to the rounding of its sum.
  // - pinned layers keep their recipe in every family; the other layers follow the family.
  // Errors: kRefused for a budget below the family's smallest, naming that figure, for a family
  // that the target's shape rules out, or that the limits leave empty; kUsage for edges with N < 1
  // or more than half of the layers; kCancelled.
  Result<Solution> solve(const Method& method, std::int64_t budget,
                         std::stop_token stop = {}) const;

  // The bound of Solution::lower_bound alone. Errors: kRefused.
  Result<double> lower_bound(std::int64_t budget) const;

  // The corners of the LP frontier, cheapest first: plans that no other plan of at most their bytes
  // beats. The bytes of each, rounded up, ascending; where a slider may snap to.
  std::vector<std::int64_t> corner_bytes() const;

  // Every plan within the limits of a family with one recipe (1d, 2d_uniform, edges:N).
  std::vector<std::vector<int>> members(const Method& method) const;

  double predicted(const std::vector<int>& configs) const;
  std::int64_t used_units(const std::vector<int>& configs) const;

  struct State;  // engine/solve/problem_state.h

 private:
  explicit Problem(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Whether a target of this shape can run plans of the family; anything where there is no target.
bool shape_allows(const std::optional<Target>& target, Family family);
// `wanted` where the target's shape allows it, else what the target runs: edges:2 or 2d_uniform.
Method fitting_method(const Method& wanted, const std::optional<Target>& target);

// The plan of a solution: recipes, budget with used, full and peak, solver, calibration.
// table_sha256 (engine/table/table.h) identifies the table. REQUIRES a solution of this problem.
// Errors: kBadInput where the table's scorer or quantiser has no rule for actual bytes (they give
// the peak).
Result<Plan> make_plan(const Problem& problem, const Solution& solution, std::int64_t budget,
                       const std::string& table_sha256);

}  // namespace lamina
