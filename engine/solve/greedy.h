// SPDX-License-Identifier: Apache-2.0
// The greedy of spec section 7 for every budget: the steps it takes while all fit are worked out
// once; a query finds by binary search where the first one no longer fits, and goes on from there.
// Internal to the room. Const and thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/table/bytes.h"
#include "engine/table/grid.h"

namespace lamina {

// A step raises one axis of one layer to its next allowed place and reduces that layer's value; the
// one with the largest reduction per extra byte among those that fit is taken, the first of equals
// in the order layer, keep, K, V. A step that costs nothing (padding, or the position plane that
// falls away at keep 1.0) counts as infinitely good. Starts every layer at its first allowed
// configuration, or, where that allocation does not fit, at each layer's cheapest.
class GreedySolver {
 public:
  // values (layers, configs); allowed (layers, configs), 1 = may be used, at least one a layer;
  // unit: the extra bytes are divided by it before the ratio is formed. `values` and `costs` must
  // outlive the solver.
  GreedySolver(const std::vector<std::vector<double>>& values, const ConfigGrid& grid,
               const CostTable& costs, std::span<const std::uint8_t> allowed, std::int64_t unit);

  // Configurations per layer. REQUIRES that every layer's cheapest configuration fits the budget.
  // Microseconds.
  std::vector<int> solve(std::int64_t budget_units) const;

 private:
  struct Step {
    double ratio = 0;
    int layer = 0;
    int axis = 0;  // 0 keep, 1 K, 2 V
    int from = 0;
    int to = 0;
    std::int64_t cost = 0;

    // The queue's order: the largest ratio last, of equals the first in the order layer, keep, K,
    // V.
    bool operator<(const Step& other) const;
  };

  void find_neighbours(const ConfigGrid& grid, std::span<const std::uint8_t> allowed);
  template <class Take>
  void offer(int layer, int from, Take&& take) const;
  // Goes on from `configs` until no step is left; `record` sees every step taken.
  template <class Record>
  void run(std::vector<int>& configs, std::int64_t used, std::int64_t budget,
           Record&& record) const;
  std::vector<int> path_configs(std::size_t steps) const;

  const std::vector<std::vector<double>>& values_;
  const CostTable& costs_;
  std::int64_t unit_ = 1;
  std::vector<std::array<int, 3>> next_;  // (layers, configs): one place up on each axis, -1 = end
  std::vector<int> start_, cheapest_;     // (layers)
  std::int64_t start_units_ = 0, cheapest_units_ = 0;
  std::vector<Step> path_;               // from start_, without a budget
  std::vector<std::int64_t> path_used_;  // after each step
  std::vector<std::int64_t> path_peak_;  // the most that any step up to this one used
  std::vector<std::vector<int>> marks_;  // configs after every kMarkEvery steps
};

}  // namespace lamina
