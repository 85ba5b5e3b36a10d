// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/greedy.h"

#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

namespace lamina {
namespace {

struct Step {
  double ratio = 0;
  int layer = 0;
  int axis = 0;  // 0 keep, 1 K, 2 V
  int from = 0;
  int to = 0;
  std::int64_t cost = 0;

  // The queue's order: the largest ratio last, of equals the first in the order layer, keep, K, V.
  bool operator<(const Step& other) const {
    return std::tie(ratio, other.layer, other.axis) < std::tie(other.ratio, layer, axis);
  }
};

// One place up on one axis; -1 at its end.
int raised(const ConfigGrid& grid, int config, int axis) {
  int i[3] = {grid.keep_i(config), grid.k_i(config), grid.v_i(config)};
  const std::size_t sizes[3] = {grid.keep.size(), grid.k_bits.size(), grid.v_bits.size()};
  if (static_cast<std::size_t>(++i[axis]) >= sizes[axis]) return -1;
  return grid.index(i[0], i[1], i[2]);
}

}  // namespace

std::vector<int> solve_greedy(const std::vector<std::vector<double>>& values,
                              const ConfigGrid& grid, const CostTable& costs,
                              std::int64_t budget_units, std::int64_t unit,
                              std::vector<int> start) {
  std::vector<int> configs = std::move(start);
  std::int64_t used = 0;
  for (int l = 0; l < costs.layers; ++l) used += costs.at(l, configs[l]);

  std::priority_queue<Step> queue;
  auto offer = [&](int layer) {
    const int from = configs[layer];
    for (int axis = 0; axis < 3; ++axis) {
      const int to = raised(grid, from, axis);
      if (to < 0) continue;
      const double gain = values[layer][from] - values[layer][to];
      if (!(gain > 0)) continue;
      const std::int64_t cost = costs.at(layer, to) - costs.at(layer, from);
      const double ratio = cost > 0 ? gain / static_cast<double>(cost / unit)
                                    : std::numeric_limits<double>::infinity();
      queue.push({ratio, layer, axis, from, to, cost});
    }
  };
  for (int l = 0; l < costs.layers; ++l) offer(l);

  std::vector<Step> unaffordable;  // they fit again only after a step that frees bytes
  while (!queue.empty()) {
    Step step = queue.top();
    queue.pop();
    if (configs[step.layer] != step.from) continue;  // the layer has moved on
    if (step.cost > budget_units - used) {
      unaffordable.push_back(step);
      continue;
    }
    configs[step.layer] = step.to;
    used += step.cost;
    if (step.cost < 0) {
      for (const Step& again : unaffordable) queue.push(again);
      unaffordable.clear();
    }
    offer(step.layer);
  }
  return configs;
}

}  // namespace lamina
