// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/greedy.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace lamina {
namespace {

constexpr std::size_t kMarkEvery = 64;

}  // namespace

bool GreedySolver::Step::operator<(const Step& other) const {
  return std::tie(ratio, other.layer, other.axis) < std::tie(other.ratio, layer, axis);
}

GreedySolver::GreedySolver(const std::vector<std::vector<double>>& values, const ConfigGrid& grid,
                           const CostTable& costs, std::span<const std::uint8_t> allowed,
                           std::int64_t unit)
    : values_(values), costs_(costs), unit_(unit) {
  for (int l = 0; l < costs.layers; ++l) {
    int first = -1, cheapest = -1;
    for (int c = 0; c < costs.configs; ++c) {
      if (!allowed[static_cast<std::size_t>(l) * costs.configs + c]) continue;
      if (first < 0) first = c;
      if (cheapest < 0 || costs.at(l, c) < costs.at(l, cheapest)) cheapest = c;
    }
    start_.push_back(first);
    cheapest_.push_back(cheapest);
    start_units_ += costs.at(l, first);
    cheapest_units_ += costs.at(l, cheapest);
  }
  find_neighbours(grid, allowed);
  std::vector<int> configs = start_;
  std::int64_t used = start_units_;
  std::int64_t peak = used;
  run(configs, used, std::numeric_limits<std::int64_t>::max(), [&](const Step& step) {
    if (path_.size() % kMarkEvery == 0) {
      marks_.push_back(marks_.empty() ? start_ : path_configs(path_.size()));
    }
    path_.push_back(step);
    used += step.cost;
    peak = std::max(peak, used);
    path_used_.push_back(used);
    path_peak_.push_back(peak);
  });
}

void GreedySolver::find_neighbours(const ConfigGrid& grid, std::span<const std::uint8_t> allowed) {
  const std::size_t sizes[3] = {grid.keep.size(), grid.k_bits.size(), grid.v_bits.size()};
  const int strides[3] = {static_cast<int>(sizes[1] * sizes[2]), static_cast<int>(sizes[2]), 1};
  next_.resize(allowed.size(), {-1, -1, -1});
  for (int l = 0; l < costs_.layers; ++l) {
    const std::size_t row = static_cast<std::size_t>(l) * costs_.configs;
    for (int c = costs_.configs - 1; c >= 0; --c) {  // the places above are known already
      const int places[3] = {grid.keep_i(c), grid.k_i(c), grid.v_i(c)};
      for (int axis = 0; axis < 3; ++axis) {
        if (places[axis] + 1 == static_cast<int>(sizes[axis])) continue;
        const int above = c + strides[axis];
        next_[row + c][axis] = allowed[row + above] ? above : next_[row + above][axis];
      }
    }
  }
}

template <class Take>
void GreedySolver::offer(int layer, int from, Take&& take) const {
  const std::size_t row = static_cast<std::size_t>(layer) * costs_.configs;
  for (int axis = 0; axis < 3; ++axis) {
    const int to = next_[row + from][axis];
    if (to < 0) continue;
    const double gain = values_[layer][from] - values_[layer][to];
    if (!(gain > 0)) continue;
    const std::int64_t cost = costs_.units[row + to] - costs_.units[row + from];
    const double ratio = cost > 0 ? gain / static_cast<double>(cost / unit_)
                                  : std::numeric_limits<double>::infinity();
    take(Step{ratio, layer, axis, from, to, cost});
  }
}

template <class Record>
void GreedySolver::run(std::vector<int>& configs, std::int64_t used, std::int64_t budget,
                       Record&& record) const {
  std::priority_queue<Step> queue;
  std::vector<Step> unaffordable;  // they fit again only after a step that frees bytes
  auto add = [&](const Step& step) {
    if (step.cost > budget - used) {
      unaffordable.push_back(step);
    } else {
      queue.push(step);
    }
  };
  for (int l = 0; l < costs_.layers; ++l) offer(l, configs[l], add);
  while (!queue.empty()) {
    const Step step = queue.top();
    queue.pop();
    if (configs[step.layer] != step.from) continue;  // the layer has moved on
    if (step.cost > budget - used) {
      unaffordable.push_back(step);
      continue;
    }
    configs[step.layer] = step.to;
    used += step.cost;
    record(step);
    if (step.cost < 0) {
      const std::vector<Step> again = std::move(unaffordable);
      unaffordable.clear();
      for (const Step& other : again) add(other);
    }
    offer(step.layer, step.to, add);
  }
}

std::vector<int> GreedySolver::path_configs(std::size_t steps) const {
  std::vector<int> configs = steps == 0 ? start_ : marks_[(steps - 1) / kMarkEvery];
  const std::size_t from = steps == 0 ? 0 : (steps - 1) / kMarkEvery * kMarkEvery;
  for (std::size_t k = from; k < steps; ++k) configs[path_[k].layer] = path_[k].to;
  return configs;
}

std::vector<int> GreedySolver::solve(std::int64_t budget_units) const {
  auto nothing = [](const Step&) {};
  if (start_units_ > budget_units) {
    std::vector<int> configs = cheapest_;
    run(configs, cheapest_units_, budget_units, nothing);
    return configs;
  }
  const std::size_t steps = static_cast<std::size_t>(
      std::upper_bound(path_peak_.begin(), path_peak_.end(), budget_units) - path_peak_.begin());
  std::vector<int> configs = path_configs(steps);
  if (steps < path_.size()) {
    run(configs, steps == 0 ? start_units_ : path_used_[steps - 1], budget_units, nothing);
  }
  return configs;
}

}  // namespace lamina
