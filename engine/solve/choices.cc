// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/choices.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace lamina {

bool ChoiceTable::has_empty_layer() const {
  return std::adjacent_find(begin.begin(), begin.end()) != begin.end();
}

std::int64_t ChoiceTable::cheapest() const {
  std::int64_t sum = 0;
  for (int l = 0; l < layers(); ++l) sum += layer(l).front().cost;
  return sum;
}

ChoiceTable pareto_choices(const std::vector<std::vector<double>>& cells, const CostTable& costs,
                           std::span<const std::uint8_t> allowed, std::int64_t unit,
                           const std::function<std::span<const int>(int)>& configs_of) {
  ChoiceTable table;
  table.begin.push_back(0);
  std::vector<Choice> row;
  for (int l = 0; l < costs.layers; ++l) {
    row.clear();
    for (int c : configs_of(l)) {
      if (!allowed[static_cast<std::size_t>(l) * costs.configs + c]) continue;
      row.push_back({costs.at(l, c) / unit, cells[l][c], c});
    }
    std::sort(row.begin(), row.end(), [](const Choice& a, const Choice& b) {
      return std::tie(a.cost, a.value, a.config) < std::tie(b.cost, b.value, b.config);
    });
    for (const Choice& choice : row) {
      const bool first = static_cast<int>(table.choices.size()) == table.begin.back();
      if (first || choice.value < table.choices.back().value) table.choices.push_back(choice);
    }
    table.begin.push_back(static_cast<int>(table.choices.size()));
  }
  return table;
}

ChoiceTable pareto_choices(const std::vector<std::vector<double>>& cells, const CostTable& costs,
                           std::span<const std::uint8_t> allowed, std::int64_t unit) {
  std::vector<int> all(static_cast<std::size_t>(costs.configs));
  std::iota(all.begin(), all.end(), 0);
  return pareto_choices(cells, costs, allowed, unit,
                        [&](int) { return std::span<const int>(all); });
}

}  // namespace lamina
