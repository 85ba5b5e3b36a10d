// SPDX-License-Identifier: Apache-2.0
// The families of spec section 7 beside 2d_hetero.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/integer.h"
#include "engine/solve/problem_state.h"

namespace lamina {
namespace {

constexpr std::int64_t kKeepSteps = 1000000;  // of 2d_uniform_free's keep
constexpr int kFullBits = 16;

std::vector<int> configs_of(const Knapsack& knapsack, const std::vector<int>& choices) {
  std::vector<int> configs;
  configs.reserve(choices.size());
  for (int choice : choices) configs.push_back(knapsack.choices.choices[choice].config);
  return configs;
}

std::vector<int> search(const Problem::State& state, const Knapsack& knapsack, Search how,
                        std::int64_t budget, std::stop_token stop, bool& proven) {
  const std::int64_t room = state.budget_units(budget);
  switch (how) {
    case Search::kGreedy:
      return &knapsack == state.whole.get()
                 ? state.greedy->solve(state.costs.budget_units(budget))
                 : state.greedy_of(knapsack, state.costs.budget_units(budget));
    case Search::kGreedyAny:
      return configs_of(knapsack, solve_greedy_any(*knapsack.lp, room));
    case Search::kLp:
      return configs_of(knapsack, knapsack.lp->plan(knapsack.lp->fitting(room)));
    case Search::kExact:
      break;
  }
  const ExactResult result =
      solve_exact(*knapsack.lp, room, std::move(stop), state.options.max_states);
  proven = proven && result.proven;
  return configs_of(knapsack, result.choices);
}

// Whether every layer that is not pinned may have the configuration.
bool allowed_everywhere(const Problem::State& state, int config) {
  for (int l = 0; l < state.costs.layers; ++l) {
    if (state.pinned[l]) continue;
    if (!state.allowed[static_cast<std::size_t>(l) * state.costs.configs + config]) return false;
  }
  return true;
}

// The configuration of every pinned layer, -1 elsewhere.
std::vector<int> pinned_configs(const Problem::State& state) {
  std::vector<int> out(static_cast<std::size_t>(state.costs.layers), -1);
  for (int l = 0; l < state.costs.layers; ++l) {
    if (!state.pinned[l]) continue;
    const auto row = state.allowed.begin() + std::ptrdiff_t{l} * state.costs.configs;
    out[l] = static_cast<int>(std::find(row, row + state.costs.configs, 1) - row);
  }
  return out;
}

// Bytes of the layers that are not pinned at one recipe with any keep.
class FreeBytes {
 public:
  static Result<FreeBytes> make(const Problem::State& state) {
    FreeBytes out;
    out.kind_ = state.costs.kind;
    out.storage_ = state.table.storage();
    const Geometry& geometry = state.table.geometry;
    for (int l = 0; l < state.costs.layers; ++l) {
      if (state.pinned[l]) continue;
      const Group group{geometry.layers[l], geometry.layer_tokens(l), 1};
      auto same = std::find_if(out.groups_.begin(), out.groups_.end(), [&](const Group& other) {
        return other.layer == group.layer && other.tokens == group.tokens;
      });
      if (same == out.groups_.end()) {
        out.groups_.push_back(group);
      } else {
        ++same->count;
      }
    }
    if (!state.table.bytes.empty() && out.kind_ == BytesKind::kActual) {
      return Status::refused("the table lists its own bytes, for its grid alone", "2d_uniform_free",
                             "use 2d_uniform, or nominal bytes");
    }
    return out;
  }

  // Rounded up to whole bytes. steps: keep in millionths.
  Int128 bytes(std::int64_t steps, int k_bits, int v_bits) const {
    Int128 sum = 0;
    const LayerConfig config{static_cast<double>(steps) / kKeepSteps, k_bits, v_bits};
    for (const Group& group : groups_) {
      if (kind_ == BytesKind::kNominal) {
        sum += Int128{group.tokens} * group.layer.kv_heads * group.layer.head_dim *
               (k_bits + v_bits) * steps * group.count;
      } else {
        const auto one =
            actual_layer_bytes(group.layer, config, n_keep(config.keep, group.tokens), storage_);
        sum += Int128{one.has_value() ? *one : 0} * group.count;  // the grid's cells had a rule
      }
    }
    return kind_ == BytesKind::kNominal ? ceil_div(sum, Int128{8} * kKeepSteps) : sum;
  }

 private:
  struct Group {
    LayerGeometry layer;
    std::int64_t tokens = 0;
    int count = 0;
  };
  BytesKind kind_ = BytesKind::kActual;
  StorageOptions storage_;
  std::vector<Group> groups_;
};

// Sum of the cells of the layers that are not pinned, linear in keep between the grid's keeps.
double interpolated(const Problem::State& state, double keep, int k_i, int v_i) {
  const ConfigGrid& grid = state.table.grid;
  const auto above = std::lower_bound(grid.keep.begin(), grid.keep.end(), keep);
  const int hi = static_cast<int>(above - grid.keep.begin());
  const int lo = *above == keep ? hi : hi - 1;
  const int c_lo = grid.index(lo, k_i, v_i), c_hi = grid.index(hi, k_i, v_i);
  const double share = lo == hi ? 0 : (keep - grid.keep[lo]) / (grid.keep[hi] - grid.keep[lo]);
  double sum = 0;
  for (int l = 0; l < state.costs.layers; ++l) {
    if (state.pinned[l]) continue;
    sum += state.cells[l][c_lo] + share * (state.cells[l][c_hi] - state.cells[l][c_lo]);
  }
  return sum;
}

struct FreeKeep {
  double keep = 0;
  Int128 bytes = 0;
};

// One pair of bits with any keep that the limits allow: the grid's allowed keeps, and all keeps
// between two neighbours that are both allowed.
struct FreePair {
  const Problem::State& state;
  const FreeBytes& free;
  int k_i, v_i;
  Int128 pinned_bytes;

  const ConfigGrid& grid() const { return state.table.grid; }
  bool allowed(int keep_i) const {
    return allowed_everywhere(state, grid().index(keep_i, k_i, v_i));
  }
  // Of a keep of the grid, by the cost table.
  Int128 grid_bytes(int keep_i) const {
    const int config = grid().index(keep_i, k_i, v_i);
    Int128 units = 0;
    for (int l = 0; l < state.costs.layers; ++l) {
      if (!state.pinned[l]) units += state.costs.at(l, config);
    }
    return pinned_bytes + ceil_div(units, state.costs.denominator);
  }
  // Of all allowed keeps; -1 where there is none.
  Int128 smallest() const {
    Int128 least = -1;
    for (int i = 0; i < static_cast<int>(grid().keep.size()); ++i) {
      if (allowed(i) && (least < 0 || grid_bytes(i) < least)) least = grid_bytes(i);
    }
    return least;
  }
  // The largest keep that fits, in millionths between the grid's keeps.
  std::optional<FreeKeep> largest(std::int64_t budget) const {
    for (int i = static_cast<int>(grid().keep.size()) - 1; i >= 0; --i) {
      if (!allowed(i)) continue;
      if (grid_bytes(i) <= budget) return FreeKeep{grid().keep[i], grid_bytes(i)};
      if (i == 0 || !allowed(i - 1) || grid_bytes(i - 1) > budget) continue;
      auto bytes = [&](std::int64_t steps) {
        return pinned_bytes + free.bytes(steps, grid().k_bits[k_i], grid().v_bits[v_i]);
      };
      auto low = static_cast<std::int64_t>(std::floor(grid().keep[i - 1] * kKeepSteps));
      auto high = static_cast<std::int64_t>(std::ceil(grid().keep[i] * kKeepSteps));
      const std::int64_t least = low;
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (bytes(middle) <= budget ? low : high) = middle;
      }
      if (low > least) return FreeKeep{static_cast<double>(low) / kKeepSteps, bytes(low)};
    }
    return std::nullopt;
  }
};

}  // namespace

FamilyPlan solve_whole(const Problem::State& state, Search how, std::int64_t budget,
                       std::stop_token stop) {
  FamilyPlan plan;
  plan.smallest_units = state.whole->cheapest() * state.unit;
  if (state.whole->cheapest() > state.budget_units(budget)) return plan;
  plan.configs = search(state, *state.whole, how, budget, std::move(stop), plan.proven);
  return plan;
}

FamilyPlan solve_parts(const Problem::State& state, const Method& method, std::int64_t budget,
                       std::stop_token stop) {
  FamilyPlan plan;
  const std::int64_t room = state.budget_units(budget);
  std::vector<std::pair<double, const Knapsack*>> feasible;  // with their bounds
  for (const auto& part : state.parts(method.family)) {
    const std::int64_t cheapest = part->cheapest() * state.unit;
    if (plan.smallest_units < 0 || cheapest < plan.smallest_units) plan.smallest_units = cheapest;
    if (part->cheapest() <= room) feasible.emplace_back(part->lp->lower_bound(room), part.get());
  }
  const bool exact = method.search == Search::kExact;
  if (exact) {  // the most promising first: the others often need no search
    std::stable_sort(feasible.begin(), feasible.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [bound, part] : feasible) {
    if (exact && bound >= best) break;
    std::vector<int> configs = search(state, *part, method.search, budget, stop, plan.proven);
    const double value = state.predicted(configs);
    if (value < best) {
      best = value;
      plan.configs = std::move(configs);
    }
  }
  return plan;
}

FamilyPlan solve_members(const Problem::State& state, const Method& method, std::int64_t budget) {
  FamilyPlan plan;
  const std::int64_t room = state.costs.budget_units(budget);
  double best = 0;
  for (std::vector<int>& configs : state.members(method)) {
    const std::int64_t units = state.used_units(configs);
    if (plan.smallest_units < 0 || units < plan.smallest_units) plan.smallest_units = units;
    if (units > room) continue;
    const double value = state.predicted(configs);
    if (plan.configs.empty() || value < best) {
      best = value;
      plan.configs = std::move(configs);
    }
  }
  return plan;
}

Result<Solution> solve_uniform_free(const Problem::State& state, std::int64_t budget) {
  LAMINA_ASSIGN_OR_RETURN(const FreeBytes free, FreeBytes::make(state));
  const ConfigGrid& grid = state.table.grid;
  const std::vector<int> pins = pinned_configs(state);
  std::int64_t pinned_units = 0;
  double pinned_value = 0;
  for (int l = 0; l < state.costs.layers; ++l) {
    if (pins[l] < 0) continue;
    pinned_units += state.costs.at(l, pins[l]);
    pinned_value += state.cells[l][pins[l]];
  }
  const Int128 pinned_bytes = ceil_div(pinned_units, state.costs.denominator);
  Solution best;
  best.method = methods::kUniformFree;
  best.predicted = std::numeric_limits<double>::infinity();
  Int128 best_bytes = 0, smallest = -1;
  for (int k = 0; k < static_cast<int>(grid.k_bits.size()); ++k) {
    for (int v = 0; v < static_cast<int>(grid.v_bits.size()); ++v) {
      const FreePair pair{state, free, k, v, pinned_bytes};
      const Int128 cheapest = pair.smallest();
      if (cheapest >= 0 && (smallest < 0 || cheapest < smallest)) smallest = cheapest;
      const std::optional<FreeKeep> keep = pair.largest(budget);
      if (!keep) continue;
      const double value = pinned_value + interpolated(state, keep->keep, k, v);
      if (!(value < best.predicted)) continue;
      best.predicted = value;
      best_bytes = keep->bytes;
      best.layers.assign(pins.size(), LayerConfig{keep->keep, grid.k_bits[k], grid.v_bits[v]});
    }
  }
  if (best.layers.empty()) {
    if (smallest < 0) {
      return Status::refused("the limits leave no single recipe for all layers",
                             to_string(best.method), "forbid less, or use exact");
    }
    return infeasible(state.costs, best.method, budget,
                      *narrow(smallest * state.costs.denominator));
  }
  bool on_grid = true;
  for (std::size_t l = 0; l < pins.size(); ++l) {
    if (pins[l] >= 0) best.layers[l] = grid.at(pins[l]);
    const int config = grid.find(best.layers[l]);
    on_grid = on_grid && config >= 0;
    best.configs.push_back(config);
  }
  if (!on_grid) best.configs.clear();
  best.used_units = *narrow(best_bytes * state.costs.denominator);
  return best;
}

const std::vector<std::unique_ptr<const Knapsack>>& Problem::State::parts(Family family) const {
  const int which = family == Family::k2d ? 0 : 1;
  std::call_once(parts_once_[which], [&] {
    const ConfigGrid& grid = table.grid;
    const int pairs = static_cast<int>(grid.k_bits.size() * grid.v_bits.size());
    const int count = which == 0 ? static_cast<int>(grid.keep.size()) : pairs;
    for (int p = 0; p < count; ++p) {
      std::vector<int> configs;
      for (int c = 0; c < costs.configs; ++c) {
        if ((which == 0 ? c / pairs : c % pairs) == p) configs.push_back(c);
      }
      auto part = knapsack(std::move(configs));
      if (part->lp) parts_[which].push_back(std::move(part));
    }
  });
  return parts_[which];
}

std::vector<std::vector<int>> Problem::State::members(const Method& method) const {
  const ConfigGrid& grid = table.grid;
  const std::vector<int> pins = pinned_configs(*this);
  std::vector<std::vector<int>> out;
  // One configuration on the first and last `edges` layers, another on the rest.
  auto add = [&](int edge, int rest, int edges) {
    std::vector<int> configs = pins;
    for (int l = 0; l < costs.layers; ++l) {
      if (pins[l] >= 0) continue;
      configs[l] = l < edges || l >= costs.layers - edges ? edge : rest;
      if (!allowed[static_cast<std::size_t>(l) * costs.configs + configs[l]]) return;
    }
    out.push_back(std::move(configs));
  };
  for (int c = 0; c < grid.size(); ++c) {
    const LayerConfig config = grid.at(c);
    if (method.family == Family::k1d) {
      if (config.k_bits == kFullBits && config.v_bits == kFullBits) add(c, c, 0);
    } else if (method.family == Family::kUniform) {
      add(c, c, 0);
    } else {
      for (int bits : {kFullBits, kFullBits / 2}) {
        const int edge = grid.find({config.keep, bits, bits});
        if (edge >= 0) add(edge, c, method.edge_layers);
      }
    }
  }
  return out;
}

}  // namespace lamina
