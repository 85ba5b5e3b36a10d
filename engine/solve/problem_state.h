// SPDX-License-Identifier: Apache-2.0
// What a Problem holds, shared by the files that solve it. Internal to the room. Const and
// thread-safe after make().
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/solve/choices.h"
#include "engine/solve/exact.h"
#include "engine/solve/greedy.h"
#include "engine/solve/lp_frontier.h"
#include "engine/solve/solve.h"

namespace lamina {

// A knapsack over some of the recipes, ready to be solved at any budget.
struct Knapsack {
  std::vector<int> configs;  // those looked at; empty: all. Pinned layers look at their own
  ChoiceTable choices;
  std::optional<LpFrontier> lp;  // of `choices`; empty where a layer has no choice

  // REQUIRES lp.
  std::int64_t cheapest() const { return lp->cost(0); }
};

struct Problem::State {
  SensitivityTable table;
  SolveOptions options;
  CostTable costs;
  std::vector<std::vector<double>> cells;
  std::vector<std::uint8_t> allowed;  // (layers, configs)
  std::vector<bool> pinned;           // (layers)
  // What the greedies and the LP divide bytes by before they form ratios: nominal bytes by the
  // largest common factor of all cells, so that the length of the cache cannot decide a tie by
  // rounding; actual by 1.
  std::int64_t unit = 1;
  std::unique_ptr<const Knapsack> whole;
  std::optional<GreedySolver> greedy;  // of `whole`

  // One knapsack a keep (2d) or a pair of bits (evict_hetero), with a choice for every layer;
  // pinned layers keep their recipe. Built on first use.
  const std::vector<std::unique_ptr<const Knapsack>>& parts(Family family) const;
  // Every plan of a family with one recipe (1d, 2d_uniform, edges:N) within the limits; pinned
  // layers keep their recipe.
  std::vector<std::vector<int>> members(const Method& method) const;

  std::unique_ptr<const Knapsack> knapsack(std::vector<int> configs) const;
  // The greedy of a part, made for one query.
  std::vector<int> greedy_of(const Knapsack& part, std::int64_t budget_units) const;
  double predicted(const std::vector<int>& configs) const;
  std::int64_t used_units(const std::vector<int>& configs) const;
  std::int64_t budget_units(std::int64_t budget) const { return costs.budget_units(budget) / unit; }

 private:
  mutable std::once_flag parts_once_[2];
  mutable std::vector<std::unique_ptr<const Knapsack>> parts_[2];
};

// A plan of a family at a budget, or why there is none.
struct FamilyPlan {
  std::vector<int> configs;  // empty: none fits
  bool proven = true;
  std::int64_t smallest_units =
      -1;  // of the family, in units of the cost table; -1: no plan at all
};

FamilyPlan solve_whole(const Problem::State& state, Search search, std::int64_t budget,
                       std::stop_token stop);
FamilyPlan solve_parts(const Problem::State& state, const Method& method, std::int64_t budget,
                       std::stop_token stop);
FamilyPlan solve_members(const Problem::State& state, const Method& method, std::int64_t budget);

// 2d_uniform_free: for every pair of bits the largest keep (in millionths) that fits, its error
// interpolated between the grid's keeps; the pair with the lowest error wins. A pair whose keep is
// below the grid's smallest is left out; one that reaches keep 1.0 may use less than the budget.
// Errors: kRefused.
Result<Solution> solve_uniform_free(const Problem::State& state, std::int64_t budget);

// "131072000 bytes (131.1 MB)"
std::string spell_bytes(std::int64_t bytes);
Status infeasible(const CostTable& costs, const Method& method, std::int64_t budget,
                  std::int64_t smallest_units);

}  // namespace lamina
