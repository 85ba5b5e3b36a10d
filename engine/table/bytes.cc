// SPDX-License-Identifier: Apache-2.0
#include "engine/table/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "engine/base/integer.h"

namespace lamina {
namespace {

constexpr int kPlaneAlign = 64;
constexpr int kFullBits = 16;
constexpr int kMaxDim = 65536;

Status too_large(const std::string& where) {
  return Status::bad_input("the cache's bytes exceed 64-bit integers", where,
                           "the geometry is damaged, or t_cache is far too long");
}

Int128 padded(Int128 bytes) { return ceil_div(bytes, kPlaneAlign) * kPlaneAlign; }

// Values that share one scale and minimum, along head_dim.
Result<int> quantizer_group(std::string_view name) {
  if (name == "asym-g32" || name == "asym-g32+hadamard") return 32;
  if (name == "asym-g64" || name == "asym-g64+hadamard") return 64;
  return Status::bad_input(fmt::format("no byte rule for the quantiser '{}'", name), "actual bytes",
                           "use asym-g32 or asym-g64, each with or without +hadamard");
}

// Bytes that a scorer keeps for every key and KV head between evictions.
Result<int> scorer_state_bytes(std::string_view name) {
  if (name == "streaming" || name == "keydiff" || name == "triattention" || name == "knorm") {
    return 0;
  }
  if (name == "h2o") return 8;  // a float32 sum and a 32-bit count
  if (name == "snapkv" || name == "expected") {
    return Status::bad_input(fmt::format("the scorer '{}' is not available yet", name),
                             "actual bytes",
                             "its cache state depends on the query heads; use streaming, keydiff, "
                             "triattention, knorm or h2o");
  }
  return Status::bad_input(fmt::format("no byte rule for the scorer '{}'", name), "actual bytes",
                           "use streaming, keydiff, triattention, knorm or h2o");
}

// StorageOptions with their names looked up.
struct Storage {
  int k_group = 0;
  int v_group = 0;
  bool per_head = false;
  int state = 0;
};

Result<Storage> look_up(const StorageOptions& options) {
  Storage out;
  LAMINA_ASSIGN_OR_RETURN(out.k_group, quantizer_group(options.quantizer.k));
  LAMINA_ASSIGN_OR_RETURN(out.v_group, quantizer_group(options.quantizer.v));
  LAMINA_ASSIGN_OR_RETURN(out.state, scorer_state_bytes(options.scorer));
  out.per_head = options.survivors == SurvivorMode::kPerHead;
  return out;
}

// Codes, and below 16 bits scales and minima, of K or of V. Sizes below 2^41 * 2^17 * 2^17 * 2^5.
Int128 tensor_bytes(const LayerGeometry& layer, Int128 tokens, int bits, int group) {
  Int128 values = tokens * layer.kv_heads * layer.head_dim;
  Int128 bytes = padded(ceil_div(values * bits, 8));
  if (bits < kFullBits) {
    bytes += padded(tokens * layer.kv_heads * ceil_div(layer.head_dim, group) * 4);
  }
  return bytes;
}

Int128 layer_bytes(const LayerGeometry& layer, const LayerConfig& config, Int128 tokens,
                   const Storage& storage) {
  Int128 bytes = tensor_bytes(layer, tokens, config.k_bits, storage.k_group) +
                 tensor_bytes(layer, tokens, config.v_bits, storage.v_group);
  if (config.keep < 1) {
    bytes += padded(tokens * 4 * (storage.per_head ? layer.kv_heads : 1));
    bytes += padded(tokens * layer.kv_heads * storage.state);
  }
  return bytes;
}

struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

// The decimal that a double is written as (the shortest that reads back), in lowest terms: 0.1 is
// 1/10. Nothing where the denominator exceeds 10^18. REQUIRES 0 < value <= 1.
std::optional<Fraction> exact_decimal(double value) {
  char text[64] = {};  // ends in a zero for atoi
  auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  if (error != std::errc()) return std::nullopt;
  std::int64_t digits = 0;
  int places = 0;  // digits after the decimal point
  const char* p = text;
  for (bool after_point = false; p != end && *p != 'e'; ++p) {
    if (*p == '.') {
      after_point = true;
    } else {
      digits = digits * 10 + (*p - '0');
      places += after_point ? 1 : 0;
    }
  }
  places -= std::atoi(p + 1);
  if (places < 0 || places > 18) return std::nullopt;
  std::int64_t power = 1;
  for (int i = 0; i < places; ++i) power *= 10;
  std::int64_t common = std::gcd(digits, power);
  return Fraction{digits / common, power / common};
}

Int128 gcd(Int128 a, Int128 b) {
  while (b != 0) {
    Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// keep * T * Hkv * d * (k_bits + v_bits) / 8 over the smallest denominator that fits every cell.
Status fill_nominal(const Geometry& geometry, const ConfigGrid& grid, const std::string& where,
                    CostTable& out) {
  std::vector<Fraction> keeps;
  std::int64_t common = 1;  // of the keeps' denominators
  for (double keep : grid.keep) {
    std::optional<Fraction> fraction = exact_decimal(keep);
    std::optional<std::int64_t> next;
    if (fraction) {
      next =
          narrow(Int128{common} / std::gcd(common, fraction->denominator) * fraction->denominator);
    }
    if (!next) {
      return Status::bad_input(fmt::format("keep {} has too many digits for exact bytes", keep),
                               where, "write at most 18 decimal places, and fewer in all");
    }
    common = *next;
    keeps.push_back(*fraction);
  }
  // Cells over 8 * common; the common factor is taken out below.
  std::vector<Int128> cells;
  Int128 factor = Int128{8} * common;
  for (int l = 0; l < out.layers; ++l) {
    const LayerGeometry& layer = geometry.layers[l];
    Int128 values = Int128{geometry.layer_tokens(l)} * layer.kv_heads * layer.head_dim;
    for (int c = 0; c <= out.configs; ++c) {  // the last one is the uncompressed layer
      Int128 share = common;
      int bits = 2 * kFullBits;
      if (c < out.configs) {
        const Fraction& keep = keeps[grid.keep_i(c)];
        share = Int128{keep.numerator} * (common / keep.denominator);
        bits = grid.at(c).k_bits + grid.at(c).v_bits;
      }
      std::optional<Int128> cell = checked_mul(values * bits, share);
      if (!cell) return too_large(where);
      cells.push_back(*cell);
      factor = gcd(*cell, factor);
    }
  }
  std::optional<std::int64_t> denominator = narrow(Int128{8} * common / factor);
  if (!denominator) return too_large(where);
  out.denominator = *denominator;
  const std::size_t row = static_cast<std::size_t>(out.configs) + 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::optional<std::int64_t> units = narrow(cells[i] / factor);
    if (!units) return too_large(where);
    bool is_full = i % row == row - 1;
    (is_full ? out.full_units : out.units).push_back(*units);
  }
  return Status::ok();
}

Status fill_actual(const Geometry& geometry, const ConfigGrid& grid, const StorageOptions& options,
                   const std::string& where, CostTable& out) {
  LAMINA_ASSIGN_OR_RETURN(Storage storage, look_up(options));
  for (int l = 0; l < out.layers; ++l) {
    const LayerGeometry& layer = geometry.layers[l];
    std::int64_t tokens = geometry.layer_tokens(l);
    for (int c = 0; c < out.configs; ++c) {
      LayerConfig config = grid.at(c);
      auto bytes = narrow(layer_bytes(layer, config, n_keep(config.keep, tokens), storage));
      if (!bytes) return too_large(where);
      out.units.push_back(*bytes);
    }
    auto full = narrow(layer_bytes(layer, LayerConfig{}, tokens, storage));
    if (!full) return too_large(where);
    out.full_units.push_back(*full);
  }
  return Status::ok();
}

}  // namespace

std::string_view to_string(BytesKind kind) {
  return kind == BytesKind::kNominal ? "nominal" : "actual";
}

Result<BytesKind> parse_bytes_kind(std::string_view text) {
  if (text == "nominal") return BytesKind::kNominal;
  if (text == "actual") return BytesKind::kActual;
  return Status::usage(fmt::format("'{}' is not a kind of bytes", text), "",
                       "use nominal or actual");
}

std::string_view to_string(SurvivorMode mode) {
  return mode == SurvivorMode::kShared ? "shared" : "per_head";
}

Result<SurvivorMode> parse_survivor_mode(std::string_view text) {
  if (text == "shared") return SurvivorMode::kShared;
  if (text == "per_head") return SurvivorMode::kPerHead;
  return Status::usage(fmt::format("'{}' is not a survivor mode", text), "",
                       "use shared or per_head");
}

std::int64_t Geometry::layer_tokens(int layer) const {
  std::int64_t window = layers[layer].window;
  return window > 0 ? std::min(t_cache, window) : t_cache;
}

Status Geometry::validate(const std::string& where) const {
  if (t_cache < 1 || t_cache > kMaxTokens) {
    return Status::bad_input(fmt::format("t_cache is {}", t_cache), where,
                             fmt::format("it lies from 1 to {}", kMaxTokens));
  }
  if (layers.empty() || layers.size() > static_cast<std::size_t>(kMaxLayers)) {
    return Status::bad_input(fmt::format("the geometry has {} layers", layers.size()), where,
                             fmt::format("1 to {} are possible", kMaxLayers));
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerGeometry& layer = layers[l];
    auto refuse = [&](const char* name, std::int64_t value, std::int64_t min, std::int64_t max) {
      return Status::bad_input(fmt::format("{} of layer {} is {}", name, l, value), where,
                               fmt::format("it lies from {} to {}", min, max));
    };
    if (layer.kv_heads < 1 || layer.kv_heads > kMaxDim) {
      return refuse("kv_heads", layer.kv_heads, 1, kMaxDim);
    }
    if (layer.head_dim < 1 || layer.head_dim > kMaxDim) {
      return refuse("head_dim", layer.head_dim, 1, kMaxDim);
    }
    if (layer.window < 0 || layer.window > kMaxTokens) {
      return refuse("window", layer.window, 0, kMaxTokens);
    }
  }
  return Status::ok();
}

std::int64_t n_keep(double keep, std::int64_t tokens) {
  double n = std::ceil(keep * static_cast<double>(tokens) - 1e-9);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(n));
}

std::int64_t CostTable::full() const {
  return std::accumulate(full_units.begin(), full_units.end(), std::int64_t{0});
}

std::int64_t CostTable::budget_units(std::int64_t bytes) const {
  Int128 wanted = Int128{bytes} * denominator;
  return static_cast<std::int64_t>(std::min(wanted, kInt64Max));
}

Result<CostTable> make_cost_table(const Geometry& geometry, const ConfigGrid& grid, BytesKind kind,
                                  const StorageOptions& options) {
  const std::string where = fmt::format("{} bytes", to_string(kind));
  LAMINA_RETURN_IF_ERROR(geometry.validate(where));
  LAMINA_RETURN_IF_ERROR(grid.validate(where));
  CostTable out;
  out.kind = kind;
  out.layers = static_cast<int>(geometry.layers.size());
  out.configs = grid.size();
  if (kind == BytesKind::kNominal) {
    LAMINA_RETURN_IF_ERROR(fill_nominal(geometry, grid, where, out));
  } else {
    LAMINA_RETURN_IF_ERROR(fill_actual(geometry, grid, options, where, out));
  }
  // Whatever is chosen, its sum must fit.
  Int128 dearest = 0;
  for (int l = 0; l < out.layers; ++l) {
    auto row = out.units.begin() + std::ptrdiff_t{l} * out.configs;
    dearest += std::max(*std::max_element(row, row + out.configs), out.full_units[l]);
  }
  if (!narrow(dearest)) return too_large(where);
  return out;
}

Result<std::int64_t> actual_layer_bytes(const LayerGeometry& layer, const LayerConfig& config,
                                        std::int64_t tokens, const StorageOptions& options) {
  LAMINA_RETURN_IF_ERROR((Geometry{1, {layer}}.validate("actual bytes")));
  if (tokens < 0 || tokens > 2 * kMaxTokens || config.k_bits < 1 || config.k_bits > kFullBits ||
      config.v_bits < 1 || config.v_bits > kFullBits || !(config.keep > 0 && config.keep <= 1)) {
    return Status::bad_input(
        fmt::format("no layer holds {} tokens at {}", tokens, to_string(config)), "actual bytes",
        "keep lies above 0 and up to 1, bits from 1 to 16");
  }
  LAMINA_ASSIGN_OR_RETURN(Storage storage, look_up(options));
  std::optional<std::int64_t> bytes = narrow(layer_bytes(layer, config, tokens, storage));
  if (!bytes) return too_large("actual bytes");
  return *bytes;
}

Result<std::int64_t> peak_slack_bytes(const Geometry& geometry,
                                      const std::vector<LayerConfig>& layers,
                                      std::int64_t evict_every, const StorageOptions& options) {
  LAMINA_RETURN_IF_ERROR(geometry.validate("peak bytes"));
  if (layers.size() != geometry.layers.size() || evict_every < 0) {
    return Status::bad_input(fmt::format("{} recipes for {} layers, evicted every {} tokens",
                                         layers.size(), geometry.layers.size(), evict_every),
                             "peak bytes", "give one recipe a layer and at least 0 tokens");
  }
  Int128 slack = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    std::int64_t held = n_keep(layers[l].keep, geometry.layer_tokens(static_cast<int>(l)));
    std::int64_t most = held + std::min(evict_every, geometry.t_cache - held);
    LAMINA_ASSIGN_OR_RETURN(std::int64_t low,
                            actual_layer_bytes(geometry.layers[l], layers[l], held, options));
    LAMINA_ASSIGN_OR_RETURN(std::int64_t high,
                            actual_layer_bytes(geometry.layers[l], layers[l], most, options));
    slack += high - low;
  }
  std::optional<std::int64_t> out = narrow(slack);
  if (!out) return too_large("peak bytes");
  return *out;
}

}  // namespace lamina
