// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/lp_frontier.h"

#include <algorithm>
#include <queue>

namespace lamina {
namespace {

using Segment = LpFrontier::Segment;

// The hull edge that leaves a choice: the largest fall per cost among all dearer choices, of equals
// the nearest. to < 0: the choice is the layer's last.
Segment edge_from(const ChoiceTable& table, int layer, int from) {
  Segment best;
  best.to = -1;
  const Choice& at = table.choices[from];
  for (int to = from + 1; to < table.begin[layer + 1]; ++to) {
    const Choice& next = table.choices[to];
    const std::int64_t cost = next.cost - at.cost;
    const double ratio = (at.value - next.value) / static_cast<double>(cost);
    // Of falls so small that the quotient is 0 the nearest stays.
    if (best.to < 0 || ratio > best.ratio) best = {ratio, layer, from, to, cost};
  }
  return best;
}

struct LessSteep {
  bool operator()(const Segment& a, const Segment& b) const {
    return a.ratio < b.ratio || (a.ratio == b.ratio && a.layer > b.layer);
  }
};

}  // namespace

LpFrontier::LpFrontier(const ChoiceTable& table) : table_(&table) {
  // Every layer offers its next edge only, so that rounding cannot put a layer's edges out of
  // order.
  std::priority_queue<Segment, std::vector<Segment>, LessSteep> queue;
  auto offer = [&](int layer, int from) {
    const Segment edge = edge_from(table, layer, from);
    if (edge.to >= 0) queue.push(edge);
  };
  const int layers = table.layers();
  std::vector<int> count(static_cast<std::size_t>(layers), 0);
  for (int l = 0; l < layers; ++l) offer(l, table.begin[l]);
  while (!queue.empty()) {
    const Segment edge = queue.top();
    queue.pop();
    segments_.push_back(edge);
    ++count[edge.layer];
    offer(edge.layer, edge.to);
  }

  cost_.push_back(table.cheapest());
  for (const Segment& edge : segments_) cost_.push_back(cost_.back() + edge.cost);
  layer_begin_.push_back(0);
  for (int n : count) layer_begin_.push_back(layer_begin_.back() + n);
  layer_position_.resize(segments_.size());
  layer_choice_.resize(segments_.size());
  std::vector<int> at(layer_begin_.begin(), layer_begin_.end() - 1);
  for (std::size_t k = 0; k < segments_.size(); ++k) {
    const int slot = at[segments_[k].layer]++;
    layer_position_[slot] = static_cast<int>(k);
    layer_choice_[slot] = segments_[k].to;
  }
  // From the best plan backwards, so that small errors keep their digits.
  value_.resize(segments_.size() + 1);
  const std::vector<int> best = plan(segments_.size());
  for (int choice : best) value_.back() += table.choices[choice].value;
  for (std::size_t k = segments_.size(); k-- > 0;) {
    const Segment& edge = segments_[k];
    value_[k] = value_[k + 1] + (table.choices[edge.from].value - table.choices[edge.to].value);
  }
}

std::size_t LpFrontier::fitting(std::int64_t budget) const {
  return static_cast<std::size_t>(std::upper_bound(cost_.begin(), cost_.end(), budget) -
                                  cost_.begin()) -
         1;
}

double LpFrontier::lower_bound(std::int64_t budget) const {
  const std::size_t k = fitting(budget);
  if (k == segments_.size()) return value_[k];
  const double bound = value_[k] - segments_[k].ratio * static_cast<double>(budget - cost_[k]);
  return std::max(bound, value_[k + 1]);
}

std::vector<int> LpFrontier::plan(std::size_t k) const {
  std::vector<int> out(table_->begin.begin(), table_->begin.end() - 1);
  for (int l = 0; l < table_->layers(); ++l) {
    const auto first = layer_position_.begin() + layer_begin_[l];
    const auto last = layer_position_.begin() + layer_begin_[l + 1];
    const auto taken = std::lower_bound(first, last, static_cast<int>(k));
    if (taken != first) out[l] = layer_choice_[taken - layer_position_.begin() - 1];
  }
  return out;
}

}  // namespace lamina
