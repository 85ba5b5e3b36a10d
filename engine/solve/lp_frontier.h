// SPDX-License-Identifier: Apache-2.0
// The linear relaxation of the multiple-choice knapsack at every budget at once: the segments of
// all layers' lower convex hulls in the order of their slope (Sinha and Zoltners, "The
// multiple-choice knapsack problem", Operations Research 27, 1979). Internal to the room. Const and
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/solve/choices.h"

namespace lamina {

class LpFrontier {
 public:
  // One edge of one layer's hull: the step from a choice to a dearer, better one.
  struct Segment {
    double ratio = 0;  // fall of the value per unit of cost, > 0
    int layer = 0;
    int from = 0, to = 0;   // indices into ChoiceTable::choices
    std::int64_t cost = 0;  // of the step, > 0
  };

  // REQUIRES no empty layer; `table` must outlive the frontier.
  explicit LpFrontier(const ChoiceTable& table);

  const ChoiceTable& table() const { return *table_; }
  // All segments, steepest first; of equals the earlier layer first.
  std::span<const Segment> segments() const { return segments_; }
  // Cost and value of the plan that has taken the first k segments, k = 0..segments().size().
  std::int64_t cost(std::size_t k) const { return cost_[k]; }
  double value(std::size_t k) const { return value_[k]; }

  // How many segments fit a budget: the largest k with cost(k) <= budget. REQUIRES
  // budget >= cost(0). O(log segments).
  std::size_t fitting(std::int64_t budget) const;
  // No allocation within the budget has a smaller value. REQUIRES as above.
  double lower_bound(std::int64_t budget) const;
  // The choice of every layer after k segments, as indices into ChoiceTable::choices.
  std::vector<int> plan(std::size_t k) const;

 private:
  const ChoiceTable* table_;
  std::vector<Segment> segments_;
  std::vector<std::int64_t> cost_;   // (segments + 1)
  std::vector<double> value_;        // (segments + 1)
  std::vector<int> layer_begin_;     // (layers + 1) into the two below
  std::vector<int> layer_position_;  // positions of a layer's segments in segments_, ascending
  std::vector<int> layer_choice_;    // where each of them leads
};

}  // namespace lamina
