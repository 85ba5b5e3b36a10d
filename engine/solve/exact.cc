// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

namespace lamina {
namespace {

// Of a sum of values, relative to their magnitudes: nearer plans count as equal.
constexpr double kRounding = 1e-15;

struct Step {
  double ratio = 0;
  int layer = 0;
  int from = 0, to = 0;

  // The queue's order: the steepest last, of equals the first layer.
  bool operator<(const Step& other) const {
    return ratio < other.ratio || (ratio == other.ratio && layer > other.layer);
  }
};

// The best step of a layer that costs at most `room`.
Step best_step(const ChoiceTable& table, int layer, int from, std::int64_t room) {
  Step best{0, layer, from, from};
  const Choice& at = table.choices[from];
  for (int to = from + 1; to < table.begin[layer + 1]; ++to) {
    const std::int64_t cost = table.choices[to].cost - at.cost;
    if (cost > room) break;
    const double ratio = (at.value - table.choices[to].value) / static_cast<double>(cost);
    if (best.to == from || ratio > best.ratio) best = {ratio, layer, from, to};
  }
  return best;
}

// A choice that may be part of a better plan, relative to the LP's choice of its layer.
struct Candidate {
  std::int64_t cost = 0;
  double value = 0;
  int choice = 0;
};

struct OpenLayer {
  int layer = 0;
  std::vector<Candidate> candidates;  // ascending cost, falling value
};

// A partial plan relative to the LP's plan.
struct Partial {
  std::int64_t cost = 0;
  double value = 0;
  int parent = 0;  // in the list of one layer fewer
  int candidate = 0;
};

using List = std::vector<Partial>;  // ascending cost, strictly falling value

// What is at least lost, beyond the LP bound, by completing a partial plan with open layers: the LP
// of those layers in reduced costs, a convex function of the room that is left.
class Completion {
 public:
  Completion(double price, double limit) : price_(price), limit_(limit) {}

  void clear() {
    up_.assign(1, {0, 0, 0});
    down_.assign(1, {0, 0, 0});
  }
  // Upgrades by falling, downgrades by rising slope; what lies beyond the limit is not needed.
  void add_up(std::int64_t cost, double ratio) {
    add(up_, static_cast<double>(cost), std::max(0.0, price_ - ratio));
  }
  void add_down(std::int64_t cost, double ratio) {
    add(down_, static_cast<double>(cost), std::max(0.0, ratio - price_));
  }
  // REQUIRES calls with falling `room` after rewind().
  void rewind() { at_up_ = up_.size() - 1, at_down_ = 0; }
  double loss(std::int64_t room) {
    const double x = static_cast<double>(room);
    if (room >= 0) {
      while (at_up_ > 0 && up_[at_up_].x > x) --at_up_;
      const Knee& knee = up_[at_up_];
      const double slope = at_up_ + 1 < up_.size() ? up_[at_up_ + 1].slope : price_;
      return knee.loss + slope * (x - knee.x);
    }
    while (at_down_ + 1 < down_.size() && down_[at_down_ + 1].x < -x) ++at_down_;
    if (at_down_ + 1 == down_.size()) {
      return std::numeric_limits<double>::infinity();
    }
    const Knee& knee = down_[at_down_];
    return knee.loss + down_[at_down_ + 1].slope * (-x - knee.x);
  }

 private:
  struct Knee {
    double x = 0;      // room from the LP's plan
    double loss = 0;   // at x
    double slope = 0;  // of the piece that ends here
  };
  void add(std::vector<Knee>& knees, double cost, double slope) {
    const Knee& last = knees.back();
    if (last.loss > limit_) return;
    knees.push_back({last.x + cost, last.loss + slope * cost, slope});
  }

  double price_, limit_;
  std::vector<Knee> up_, down_;
  std::size_t at_up_ = 0, at_down_ = 0;
};

class Search {
 public:
  Search(const LpFrontier& lp, std::int64_t budget, std::stop_token stop, std::int64_t max_states)
      : lp_(lp), stop_(std::move(stop)), max_states_(max_states) {
    taken_ = lp.fitting(budget);
    base_ = lp.plan(taken_);
    room_ = budget - lp.cost(taken_);
    if (taken_ < lp.segments().size()) price_ = lp.segments()[taken_].ratio;
  }

  ExactResult run(std::vector<int> incumbent) {
    best_ = std::move(incumbent);
    best_value_ = 0;
    const std::vector<Choice>& all = lp_.table().choices;
    for (std::size_t l = 0; l < best_.size(); ++l) {
      best_value_ += all[best_[l]].value - all[base_[l]].value;
    }
    ExactResult result;
    result.proven = improve(256) || improve(4096) || improve(0);
    result.choices = best_;
    result.states = states_;
    return result;
  }

 private:
  // What a plan loses against the LP bound, from its value relative to the LP's plan.
  double excess(double value) const { return value + price_ * static_cast<double>(room_); }
  double reduced(std::int64_t cost, double value) const {
    return value + price_ * static_cast<double>(cost);
  }

  // Layers with more than one candidate, dealt to two halves. Room that no sum of the candidates'
  // costs can use is given up.
  void open_layers(double limit) {
    halves_[0].clear();
    halves_[1].clear();
    std::vector<OpenLayer> open;
    std::int64_t common = 0;
    double magnitude = lp_.value(taken_);
    const ChoiceTable& table = lp_.table();
    is_open_.assign(static_cast<std::size_t>(table.layers()), false);
    for (int l = 0; l < table.layers(); ++l) {
      const Choice& at = table.choices[base_[l]];
      OpenLayer layer{l, {}};
      double largest = 0;
      for (int c = table.begin[l]; c < table.begin[l + 1]; ++c) {
        const Choice& choice = table.choices[c];
        const Candidate candidate{choice.cost - at.cost, choice.value - at.value, c};
        if (c == base_[l] || reduced(candidate.cost, candidate.value) < limit) {
          layer.candidates.push_back(candidate);
          common = std::gcd(common, candidate.cost);
          largest = std::max(largest, choice.value);
        }
      }
      magnitude += largest;
      if (layer.candidates.size() > 1) open.push_back(std::move(layer));
    }
    if (common > 0) room_ -= room_ % common;
    tolerance_ = kRounding * magnitude;
    std::stable_sort(open.begin(), open.end(), [](const OpenLayer& a, const OpenLayer& b) {
      return a.candidates.size() > b.candidates.size();
    });
    for (std::size_t i = 0; i < open.size(); ++i) {
      halves_[(i + 1) / 2 % 2].push_back(std::move(open[i]));
    }
    // The smaller layers first: lists stay short for longer.
    for (std::vector<OpenLayer>& half : halves_) std::reverse(half.begin(), half.end());
  }

  // The LP of the layers that are still to come.
  void fill_completion(Completion& completion) const {
    completion.clear();
    const auto segments = lp_.segments();
    for (std::size_t k = taken_; k < segments.size(); ++k) {
      if (is_open_[segments[k].layer]) completion.add_up(segments[k].cost, segments[k].ratio);
    }
    for (std::size_t k = taken_; k-- > 0;) {
      if (is_open_[segments[k].layer]) {
        completion.add_down(segments[k].cost, segments[k].ratio);
      }
    }
  }

  // `from` with one more layer: sorted, without dominated and hopeless partial plans. False where
  // the search must give up.
  bool extend(const List& from, const OpenLayer& layer, double limit, Completion& completion,
              List& out) {
    out.clear();
    List merged, shifted;
    for (std::size_t c = 0; c < layer.candidates.size(); ++c) {
      const Candidate& candidate = layer.candidates[c];
      completion.rewind();
      shifted.clear();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const Partial next{from[i].cost + candidate.cost, from[i].value + candidate.value,
                           static_cast<int>(i), static_cast<int>(c)};
        const double lost = reduced(next.cost, next.value);
        if (lost >= limit) continue;
        if (lost + completion.loss(room_ - next.cost) < limit) shifted.push_back(next);
      }
      states_ += static_cast<std::int64_t>(from.size());
      merge(out, shifted, merged);
      out.swap(merged);
      if (states_ > max_states_ || stop_.stop_requested()) return false;
    }
    return true;
  }

  static void merge(const List& a, const List& b, List& out) {
    out.clear();
    double least = std::numeric_limits<double>::infinity();
    std::size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
      const bool take_a =
          j == b.size() || (i < a.size() && (a[i].cost < b[j].cost ||
                                             (a[i].cost == b[j].cost && a[i].value <= b[j].value)));
      const Partial& next = take_a ? a[i++] : b[j++];
      if (next.value < least) {
        out.push_back(next);
        least = next.value;
      }
    }
  }

  // Looks at every plan that beats the best one found; width > 0 keeps only so many partial plans a
  // layer, the most promising. True where the best plan is then proven the optimum.
  bool improve(std::size_t width) {
    open_layers(excess(best_value_));
    const double limit = excess(best_value_) - tolerance_;
    if (limit <= 0) return true;
    Completion completion(price_, limit);
    std::vector<List> lists[2];
    bool complete = true;
    for (int h : {0, 1}) {
      for (const std::vector<OpenLayer>& half : halves_) {
        for (const OpenLayer& layer : half) is_open_[layer.layer] = true;
      }
      lists[h].assign(1, List(1));
      for (const OpenLayer& layer : halves_[h]) {
        is_open_[layer.layer] = false;
        fill_completion(completion);
        List next;
        if (!extend(lists[h].back(), layer, limit, completion, next)) return false;
        if (width > 0 && next.size() > width) {
          narrow_list(next, width, completion);
          complete = false;
        }
        if (next.empty()) return complete;  // nothing can beat the best plan
        lists[h].push_back(std::move(next));
      }
    }
    join(lists);
    return complete || excess(best_value_) <= tolerance_;
  }

  // Keeps the most promising of each stretch of the list, so that all costs stay reachable.
  void narrow_list(List& list, std::size_t width, Completion& completion) {
    completion.rewind();
    List kept;
    kept.reserve(width);
    std::size_t begin = 0;
    for (std::size_t k = 1; k <= width; ++k) {
      const std::size_t end = list.size() * k / width;
      double least = std::numeric_limits<double>::infinity();
      std::size_t best = begin;
      for (std::size_t i = begin; i < end; ++i) {
        const double lost =
            reduced(list[i].cost, list[i].value) + completion.loss(room_ - list[i].cost);
        if (lost < least) {
          least = lost;
          best = i;
        }
      }
      kept.push_back(list[best]);
      begin = end;
    }
    list.swap(kept);
  }

  // The best pair of partial plans that fits.
  void join(const std::vector<List> (&lists)[2]) {
    const List& a = lists[0].back();
    const List& b = lists[1].back();
    std::size_t j = b.size();
    int best_a = -1, best_b = -1;
    for (std::size_t i = 0; i < a.size(); ++i) {
      while (j > 0 && a[i].cost + b[j - 1].cost > room_) --j;
      if (j == 0) break;
      const double value = a[i].value + b[j - 1].value;
      if (value < best_value_) {
        best_value_ = value;
        best_a = static_cast<int>(i);
        best_b = static_cast<int>(j - 1);
      }
    }
    if (best_a < 0) return;
    best_ = base_;
    trace(lists[0], halves_[0], best_a);
    trace(lists[1], halves_[1], best_b);
  }

  void trace(const std::vector<List>& lists, const std::vector<OpenLayer>& half, int at) {
    for (std::size_t k = half.size(); k > 0; --k) {
      const Partial& partial = lists[k][at];
      best_[half[k - 1].layer] = half[k - 1].candidates[partial.candidate].choice;
      at = partial.parent;
    }
  }

  const LpFrontier& lp_;
  std::stop_token stop_;
  std::int64_t max_states_;
  std::size_t taken_ = 0;
  std::vector<int> base_;  // the LP's plan
  std::int64_t room_ = 0;  // of the budget beyond it
  double price_ = 0;       // the LP's multiplier: value per unit of cost
  double tolerance_ = 0;
  std::vector<int> best_;
  double best_value_ = 0;  // relative to base_
  std::vector<OpenLayer> halves_[2];
  std::vector<bool> is_open_;  // (layers): still to come
  std::int64_t states_ = 0;
};

}  // namespace

std::vector<int> solve_greedy_any(const LpFrontier& lp, std::int64_t budget) {
  // Up to the first step that does not fit the greedy takes the hulls' edges in the LP's order.
  const ChoiceTable& table = lp.table();
  const std::size_t taken = lp.fitting(budget);
  std::vector<int> choices = lp.plan(taken);
  std::int64_t room = budget - lp.cost(taken);
  std::priority_queue<Step> queue;
  auto offer = [&](int layer) {
    const Step step = best_step(table, layer, choices[layer], room);
    if (step.to != step.from) queue.push(step);
  };
  if (taken < lp.segments().size()) {
    for (int l = 0; l < table.layers(); ++l) offer(l);
  }
  while (!queue.empty()) {
    const Step step = queue.top();
    queue.pop();
    const std::int64_t cost = table.choices[step.to].cost - table.choices[step.from].cost;
    if (cost <= room) {
      choices[step.layer] = step.to;
      room -= cost;
    }
    offer(step.layer);
  }
  return choices;
}

ExactResult solve_exact(const LpFrontier& lp, std::int64_t budget, std::stop_token stop,
                        std::int64_t max_states) {
  Search search(lp, budget, std::move(stop), max_states);
  return search.run(solve_greedy_any(lp, budget));
}

}  // namespace lamina
