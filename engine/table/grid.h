// SPDX-License-Identifier: Apache-2.0
// The grid of recipes a layer can have: share of tokens kept x bits of K x bits of V. The grid is
// data that tables and plans carry, never a constant of the code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace lamina {

// One recipe by value.
struct LayerConfig {
  double keep = 1.0;  // share of tokens kept, (0, 1]
  int k_bits = 16;
  int v_bits = 16;
  bool operator==(const LayerConfig&) const = default;
};

// Index of a recipe = (keep_i * nk + k_i) * nv + v_i, each axis ascending (spec section 1).
struct ConfigGrid {
  std::vector<double> keep;
  std::vector<int> k_bits;
  std::vector<int> v_bits;

  // keep {0.1, 0.25, 0.5, 0.75, 0.9, 1.0}, bits {4, 8, 16}: 54 recipes.
  static ConfigGrid default_grid();

  int size() const { return static_cast<int>(keep.size() * k_bits.size() * v_bits.size()); }
  int index(int keep_i, int k_i, int v_i) const {
    return (keep_i * static_cast<int>(k_bits.size()) + k_i) * static_cast<int>(v_bits.size()) + v_i;
  }
  int keep_i(int index) const { return index / static_cast<int>(k_bits.size() * v_bits.size()); }
  int k_i(int index) const {
    return index / static_cast<int>(v_bits.size()) % static_cast<int>(k_bits.size());
  }
  int v_i(int index) const { return index % static_cast<int>(v_bits.size()); }
  // REQUIRES 0 <= index < size().
  LayerConfig at(int index) const {
    return {keep[keep_i(index)], k_bits[k_i(index)], v_bits[v_i(index)]};
  }
  // The index of a recipe, -1 where it is off the grid.
  int find(const LayerConfig& config) const;
  // The dearest recipe; "full" where the grid ends at (1.0, 16, 16).
  int full_index() const { return size() - 1; }

  // Each axis non-empty, strictly ascending; keep in (0, 1], bits in 1..16; at most 4096 recipes.
  // Errors: kBadInput naming the axis.
  Status validate(const std::string& where) const;
  bool operator==(const ConfigGrid&) const = default;
};

// "keep 0.25, K4 V8"
std::string to_string(const LayerConfig& config);

}  // namespace lamina
