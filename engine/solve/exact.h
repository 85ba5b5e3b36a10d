// SPDX-License-Identifier: Apache-2.0
// The multiple-choice knapsack solved with a step to any dearer choice (greedy_any) and exactly.
// Internal to the room. Pure.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/solve/lp_frontier.h"

namespace lamina {

// The greedy whose step may go to any dearer choice of one layer: the largest fall per cost among
// those that fit, of equals the first layer, then the cheaper choice; from every layer's cheapest
// until no step is left. Returns the choice of every layer (indices into ChoiceTable::choices).
// REQUIRES budget >= lp.cost(0).
std::vector<int> solve_greedy_any(const LpFrontier& lp, std::int64_t budget);

struct ExactResult {
  std::vector<int> choices;  // per layer, indices into ChoiceTable::choices
  bool proven = true;        // false: stopped or ran out of states; the best plan found
  std::int64_t states = 0;   // partial plans looked at
};

// The optimum in whole units of cost. Lagrangian reduced costs at the LP's multiplier fix most
// choices; what is left is solved by Pareto-list dynamic programming over two halves of the layers,
// every partial plan bounded by the LP of the layers still open (Pisinger, "A minimal algorithm for
// the multiple-choice knapsack problem", EJOR 83, 1995, for the core idea; Horowitz and Sahni, JACM
// 21, 1974, for joining two halves). Values are sums of doubles: optimal up to their rounding.
// max_states bounds memory and time. REQUIRES budget >= lp.cost(0).
ExactResult solve_exact(const LpFrontier& lp, std::int64_t budget, std::stop_token stop = {},
                        std::int64_t max_states = std::int64_t{1} << 22);

}  // namespace lamina
