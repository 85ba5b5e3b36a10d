// SPDX-License-Identifier: Apache-2.0
// Which layer gets which recipe under one memory budget (spec section 7). Plain C++; const and
// thread-safe; a solve takes microseconds to milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/plan.h"
#include "engine/table/bytes.h"
#include "engine/table/table.h"

namespace lamina {

enum class Method : int { kGreedy = 0, kUniform2d = 1 };
std::string_view to_string(Method method);  // "greedy", "2d_uniform"
Result<Method> parse_method(std::string_view text);

struct Solution {
  Method method = Method::kGreedy;
  std::vector<int> configs;     // index of the grid, per layer
  double predicted = 0;         // sum of S over layers
  std::int64_t used_units = 0;  // of the cost table
  double used_bytes = 0;
  double seconds = 0;
};

// A table with the exact costs of its cells; made once, solved at many budgets.
class Problem {
 public:
  // t_cache > 0 replaces the table's. Errors: kBadInput (NaN or negative values, mismatched
  // shapes).
  static Result<Problem> make(const SensitivityTable& table, BytesKind kind,
                              std::int64_t t_cache = 0);

  const SensitivityTable& table() const { return table_; }
  const CostTable& costs() const { return costs_; }
  std::int64_t full_bytes() const;      // rounded up
  std::int64_t smallest_bytes() const;  // of the cheapest allocation, rounded up

  // Greedy starts every layer at configuration 0, or, where that allocation does not fit and
  // positions or padding make others cheaper, at each layer's cheapest. 2d_uniform is the best
  // single configuration for all layers, the first of equals. `budget` in bytes of the problem's
  // kind. Errors: kRefused for a budget below smallest_bytes(), naming that figure (for 2d_uniform:
  // its own smallest).
  Result<Solution> solve(Method method, std::int64_t budget) const;

  double predicted(const std::vector<int>& configs) const;
  std::int64_t used_units(const std::vector<int>& configs) const;

 private:
  Problem() = default;
  SensitivityTable table_;
  CostTable costs_;
  // What the greedy divides extra bytes by before it forms its ratio: nominal bytes by the largest
  // common factor of all cells, so that the length of the cache cannot decide a tie by rounding;
  // actual by 1.
  std::int64_t ratio_unit_ = 1;
};

// The plan of a solution: recipes, budget with used, full and peak, solver, calibration.
// table_sha256 (engine/table/table.h) identifies the table. REQUIRES a solution of this problem.
// Errors: kBadInput where the table's scorer or quantiser has no rule for actual bytes (they give
// the peak).
Result<Plan> make_plan(const Problem& problem, const Solution& solution, std::int64_t budget,
                       const std::string& table_sha256);

}  // namespace lamina
