// SPDX-License-Identifier: Apache-2.0
// Why a plan looks as it does, and whether routing by layer buys anything (spec section 7). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/solve/solve.h"

namespace lamina {

// Why a layer's best upgrade was not taken; of several that apply the first.
enum class NoUpgrade : int {
  kNone = 0,       // nothing in the layer's row is better than what it has
  kPinned = 1,     // the layer is pinned
  kForbidden = 2,  // everything better is forbidden by the limits
  kFamily = 3,     // it fits and would help, but plans of this kind have no such layer (one recipe
                   // for all, one keep for all, ...)
  kMissed = 4,  // it fits and would help: the search stopped short (greedy on a table that is not
                // monotone)
  kWorthLess = 5,  // it does not fit, and its bytes gain more in other layers
  kNoRoom = 6      // it does not fit what is left of the budget, and would be worth its bytes
};
std::string_view to_string(NoUpgrade reason);  // "none", "pinned", "forbidden", "family", "missed",
                                               // "worth_less", "no_room"

// One layer of a plan. Errors are cells of the problem's objective, bytes of the problem's kind.
struct LayerExplanation {
  int layer = 0;
  NoUpgrade reason = NoUpgrade::kNone;
  // The upgrade with the largest gain per byte, where there is one: of those within the limits,
  // where any is (a pinned layer's limits are left aside), and of those that fit, where any does.
  std::optional<LayerConfig> upgrade;
  double gain = 0;         // fall of the layer's cell, > 0
  double extra_bytes = 0;  // more than the layer has now; 0 or less: free
  double gain_per_mb = 0;  // gain / (extra_bytes / 10^6); infinite where the upgrade is free
  std::string text;        // one sentence for people
};

// One entry a layer. The gain per MB that the budget's last bytes earn (the LP frontier's slope at
// the budget) is the price that kWorthLess compares with. Errors: kUsage for a solution with a keep
// off the grid or of another problem, those of Problem::lower_bound().
Result<std::vector<LayerExplanation>> explain(const Problem& problem, const Solution& solution,
                                              std::int64_t budget);

// Plans of this kind can treat layers differently beyond their edges: 2d_hetero, 2d, evict_hetero.
bool routes_by_layer(Family family);

// "No headroom": per-layer routing buys nothing here.
struct Headroom {
  bool worth_routing = true;
  std::string reason;  // one sentence with its numbers; empty where routing is worth it
  std::optional<Solution> simpler;  // the plan to use instead
};

// Says no where more than 75 % of the layers end at keep 1.0; where a prompt of `context` tokens
// (0: not told) fits every layer's capacity n_keep(keep, T_l), of a windowed layer the window's
// share of it; or where 2d_uniform_free or evict_hetero is predicted no worse than the better of
// `solution` and the exact optimum, or within the measured interval of it: the difference of the
// two predictions is below 1.96 standard errors of it, formed from the table's cell errors over the
// layers that differ (known only for tables with standard errors; between two keeps of the grid
// interpolated). `simpler` is the plan that was compared so, else the one of those two
// and 2d with the lowest prediction within the budget. For plans that do not route by layer there
// is nothing to ask: worth_routing stays true. Errors: those of Problem::solve but kRefused.
Result<Headroom> check_headroom(const Problem& problem, const Solution& solution,
                                std::int64_t budget, std::int64_t context = 0,
                                std::stop_token stop = {});

}  // namespace lamina
