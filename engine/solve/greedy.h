// SPDX-License-Identifier: Apache-2.0
// The greedy of spec section 7, kept apart from the bookkeeping of a problem. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/table/bytes.h"
#include "engine/table/grid.h"

namespace lamina {

// Upgrades `start` (one configuration a layer, which fits) until no step is left. A step raises one
// axis of one layer by one place, reduces that layer's sensitivity and fits the budget; the step
// with the largest reduction per extra byte is taken, the first of equals in the order layer, keep,
// K, V. A step that costs nothing (padding, or the position plane that falls away at keep 1.0)
// counts as infinitely good. O(steps log steps).
//   values (layers, configs); unit: the extra bytes are divided by it before the ratio is formed.
std::vector<int> solve_greedy(const std::vector<std::vector<double>>& values,
                              const ConfigGrid& grid, const CostTable& costs,
                              std::int64_t budget_units, std::int64_t unit, std::vector<int> start);

}  // namespace lamina
