// SPDX-License-Identifier: Apache-2.0
// The ways to choose a plan (spec section 7): what a plan may look like, and how the best one of
// that kind is searched. Pure values.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace lamina {

// What a plan may look like.
enum class Family : int {
  kHetero = 0,       // 2d_hetero: every layer its own recipe
  k1d = 1,           // one keep, 16-bit K and V
  kUniform = 2,      // one recipe of the grid for all layers
  kUniformFree = 3,  // one pair of bits and one keep from the continuum
  kEdges = 4,        // one recipe, the first and last N layers at 16 or 8 bit
  k2d = 5,           // one keep, bits per layer
  kEvictHetero = 6   // keep per layer, one pair of bits
};

// How the best plan of a family is searched. Families that are not hetero, 2d or evict_hetero are
// small enough to try every member: theirs is always kExact.
enum class Search : int {
  kGreedy = 0,     // single-axis steps, the paper's
  kGreedyAny = 1,  // a step may go to any dearer recipe of one layer; hetero only
  kExact = 2,      // the optimum
  kLp = 3          // the last whole plan of the LP frontier below the budget; hetero only
};

struct Method {
  Family family = Family::kHetero;
  Search search = Search::kGreedy;
  int edge_layers = 0;  // N of kEdges
  auto operator<=>(const Method&) const = default;
};

namespace methods {
inline constexpr Method kGreedy{Family::kHetero, Search::kGreedy, 0};
inline constexpr Method kGreedyAny{Family::kHetero, Search::kGreedyAny, 0};
inline constexpr Method kExact{Family::kHetero, Search::kExact, 0};
inline constexpr Method kLp{Family::kHetero, Search::kLp, 0};
inline constexpr Method k1d{Family::k1d, Search::kExact, 0};
inline constexpr Method kUniform2d{Family::kUniform, Search::kExact, 0};
inline constexpr Method kUniformFree{Family::kUniformFree, Search::kExact, 0};
inline constexpr Method kEdges2{Family::kEdges, Search::kExact, 2};
inline constexpr Method k2dGreedy{Family::k2d, Search::kGreedy, 0};
inline constexpr Method k2dExact{Family::k2d, Search::kExact, 0};
inline constexpr Method kEvictGreedy{Family::kEvictHetero, Search::kGreedy, 0};
inline constexpr Method kEvictExact{Family::kEvictHetero, Search::kExact, 0};
}  // namespace methods

// "greedy", "greedy_any", "exact", "lp", "1d", "2d_uniform", "2d_uniform_free", "edges:2",
// "2d:greedy", "2d:exact", "evict_hetero:greedy", "evict_hetero:exact".
std::string to_string(const Method& method);
// Also "2d_hetero:greedy" and so on; "2d", "evict_hetero" and "2d_hetero" alone mean the exact one.
// Errors: kUsage, listing the names.
Result<Method> parse_method(std::string_view text);
// Every method above, edges with N = 2.
std::vector<Method> all_methods();
// One line for people, e.g. "one keep, bits per layer, exact".
std::string describe(const Method& method);

}  // namespace lamina
