// SPDX-License-Identifier: Apache-2.0
// Bytes of a layer's cache under a recipe: nominal (the paper's, an exact rational) and actual
// (what the cache holds, metadata and padding included). Spec section 2. All sums are exact
// integers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/grid.h"

namespace lamina {

enum class BytesKind : int { kNominal = 0, kActual = 1 };
std::string_view to_string(BytesKind kind);  // "nominal", "actual"
Result<BytesKind> parse_bytes_kind(std::string_view text);

enum class SurvivorMode : int { kShared = 0, kPerHead = 1 };
std::string_view to_string(SurvivorMode mode);  // "shared", "per_head"
Result<SurvivorMode> parse_survivor_mode(std::string_view text);

// Bounds of what files may claim.
inline constexpr std::int64_t kMaxLayers = 4096;
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;

// Where a layer's K and V live.
struct LayerGeometry {
  int kv_heads = 0;
  int head_dim = 0;
  std::int64_t window = 0;  // sliding window in tokens; 0 = global attention
  bool operator==(const LayerGeometry&) const = default;
};

struct Geometry {
  std::int64_t t_cache = 0;  // tokens the cache is sized for
  std::vector<LayerGeometry> layers;
  // T_l = min(t_cache, window).
  std::int64_t layer_tokens(int layer) const;
  // t_cache 1..kMaxTokens, 1..kMaxLayers layers, kv_heads and head_dim 1..65536. Errors name the
  // layer.
  Status validate(const std::string& where) const;
  bool operator==(const Geometry&) const = default;
};

// Names of the quantisers of K and of V, e.g. {"asym-g32", "asym-g32"} (spec section 5).
struct QuantizerNames {
  std::string k = "asym-g32";
  std::string v = "asym-g32";
  bool operator==(const QuantizerNames&) const = default;
};

// n_keep(keep, T) = max(1, ceil(keep * T - 1e-9)) (spec section 3).
std::int64_t n_keep(double keep, std::int64_t tokens);

// The scorer and the positions need no room at keep 1.0: nothing is evicted before the cache is
// full. What the actual bytes depend on besides geometry and recipe.
struct StorageOptions {
  QuantizerNames quantizer;
  SurvivorMode survivors = SurvivorMode::kShared;
  std::string scorer = "streaming";
};

// Exact bytes of every (layer, recipe): bytes = units / denominator. Actual bytes have
// denominator 1. Nominal bytes take a keep such as 0.1 as the decimal it is written as (1/10) and
// are reduced to the smallest denominator.
struct CostTable {
  BytesKind kind = BytesKind::kActual;
  std::int64_t denominator = 1;
  int layers = 0;
  int configs = 0;
  std::vector<std::int64_t> units;       // (layers, configs)
  std::vector<std::int64_t> full_units;  // (layers): the uncompressed 16-bit layer

  std::int64_t at(int layer, int config) const {
    return units[static_cast<std::size_t>(layer) * configs + config];
  }
  std::int64_t full() const;  // sum of full_units
  // Largest whole number of units within `bytes`.
  std::int64_t budget_units(std::int64_t bytes) const;
  double to_bytes(std::int64_t unit_sum) const {
    return static_cast<double>(unit_sum) / static_cast<double>(denominator);
  }
};

// The uncompressed layer of both kinds is 16-bit K and V of all T_l tokens, without positions.
// Errors: kBadInput for a quantiser or scorer without a byte rule (actual only), a keep value
// without an exact decimal (nominal only), sums beyond int64.
Result<CostTable> make_cost_table(const Geometry& geometry, const ConfigGrid& grid, BytesKind kind,
                                  const StorageOptions& options);

// Actual bytes of one layer holding `tokens` tokens under a recipe. Each plane is rounded up to 64
// B: codes of K and of V; below 16 bits a plane of half scales and minima for each; below keep 1.0
// the positions (4 B a token, for per-head sets a token and KV head) and the scorer's state. Errors
// as above.
Result<std::int64_t> actual_layer_bytes(const LayerGeometry& layer, const LayerConfig& config,
                                        std::int64_t tokens, const StorageOptions& options);
// What the layers can hold above their capacity n_keep(keep, T_l) in a stream of at most t_cache
// tokens: `evict_every` tokens each between two evictions, but never more than t_cache tokens in
// all. Windowed layers count the same way, as tokens that left the window are dropped at the next
// eviction. Added to the actual bytes of a plan it gives the plan's peak (spec section 8).
Result<std::int64_t> peak_slack_bytes(const Geometry& geometry,
                                      const std::vector<LayerConfig>& layers,
                                      std::int64_t evict_every, const StorageOptions& options);

}  // namespace lamina
