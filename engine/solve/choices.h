// SPDX-License-Identifier: Apache-2.0
// A multiple-choice knapsack without what can never be chosen: per layer the Pareto set of its
// allowed recipes. Internal to the room. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/table/bytes.h"

namespace lamina {

// One recipe of one layer.
struct Choice {
  std::int64_t cost = 0;  // in the solver's unit
  double value = 0;       // cell of the objective
  int config = 0;         // index of the grid
};

// Layer after layer, each by ascending cost and strictly falling value.
struct ChoiceTable {
  std::vector<Choice> choices;
  std::vector<int> begin;  // (layers + 1): where each layer begins

  int layers() const { return static_cast<int>(begin.size()) - 1; }
  std::span<const Choice> layer(int l) const {
    return {choices.data() + begin[l], static_cast<std::size_t>(begin[l + 1] - begin[l])};
  }
  bool has_empty_layer() const;
  // Of the cheapest choices; REQUIRES no empty layer.
  std::int64_t cheapest() const;
};

// configs_of(l): the configurations of a layer that are looked at, ascending. allowed: (layers,
// configs), 1 = may be chosen. `unit` divides the costs; REQUIRES that it divides
// all of them exactly. Of configurations with equal cost and value the first stays.
ChoiceTable pareto_choices(const std::vector<std::vector<double>>& cells, const CostTable& costs,
                           std::span<const std::uint8_t> allowed, std::int64_t unit,
                           const std::function<std::span<const int>(int)>& configs_of);
// As above with every configuration.
ChoiceTable pareto_choices(const std::vector<std::vector<double>>& cells, const CostTable& costs,
                           std::span<const std::uint8_t> allowed, std::int64_t unit);

}  // namespace lamina
