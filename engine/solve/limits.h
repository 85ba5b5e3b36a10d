// SPDX-License-Identifier: Apache-2.0
// What a user or a serving stack rules out: layers pinned to a recipe, recipes forbidden on some or
// all layers, and named targets. Pure values; layers count from 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/grid.h"

namespace lamina {

// Layers first..last, both included.
struct LayerRange {
  int first = 0;
  int last = 0;
  bool operator==(const LayerRange&) const = default;
};

// These layers get this recipe, whatever the rules forbid.
struct Pin {
  LayerRange layers;
  LayerConfig config;
  bool operator==(const Pin&) const = default;
};

enum class Axis : int { kKeep = 0, kKBits = 1, kVBits = 2 };
enum class Comparison : int {
  kLess = 0,
  kLessEqual = 1,
  kEqual = 2,
  kNotEqual = 3,
  kGreaterEqual = 4,
  kGreater = 5
};

// Recipes whose axis compares so with `value` are forbidden on `layers` (empty: on all).
struct ForbidRule {
  std::vector<LayerRange> layers;
  Axis axis = Axis::kKeep;
  Comparison comparison = Comparison::kEqual;
  double value = 0;
  bool operator==(const ForbidRule&) const = default;
};

// What one serving stack can run. Data: resources/targets.json, or a file of the user's.
enum class PlanShape : int {
  kPerLayer = 0,  // every layer its own recipe
  kEdges = 1,     // one recipe, other bits on the first and last layers
  kUniform = 2    // one recipe for all layers
};
struct Target {
  std::string name;   // "llama.cpp"
  std::string title;  // for people
  std::string note;   // what the stack does otherwise than Lamina, one sentence
  PlanShape shape = PlanShape::kPerLayer;
  std::vector<double> keep;                   // what it can keep; empty: any
  std::vector<std::pair<int, int>> k_v_bits;  // pairs it can store; empty: any
  bool operator==(const Target&) const = default;
};

// The built-in targets, in the order of the file.
const std::vector<Target>& builtin_targets();
// Errors: kUsage, listing the names.
Result<Target> find_target(std::string_view name,
                           const std::vector<Target>& targets = builtin_targets());
// JSON {"targets": [{name, title, note, shape: per_layer | edges | uniform, keep, bits: [[k,
// v]]}]}, resources/schema/targets.schema.json; note, keep and bits may be missing. Errors:
// kBadInput naming target and field (unknown shape, keep outside (0, 1], bits outside 1..16, two
// targets of one name).
Result<std::vector<Target>> targets_from_json(const std::string& text, const std::string& where);
Result<std::vector<Target>> read_targets(const std::filesystem::path& path);

struct Limits {
  std::vector<Pin> pins;
  std::vector<ForbidRule> forbid;
  std::optional<Target> target;
  bool empty() const { return pins.empty() && forbid.empty() && !target; }
  bool operator==(const Limits&) const = default;
};

// "3=53", "0-3=0.5/8/4" (keep/K/V), "0,29=full" on a grid. Several ranges give several pins.
// Errors: kUsage (grammar), kBadInput (recipe off the grid, a reversed or overlapping range).
Result<std::vector<Pin>> parse_pin(std::string_view text, const ConfigGrid& grid);
// Rules on `k` and `v` are about their bits: "k=4", "v<8", "keep<0.5", with layers in front
// "0:keep<0.5", "0-3,27:k=4"; operators < <= = != >=
// >. Errors: kUsage (grammar, a value that is no number), kBadInput (reversed or overlapping
// ranges).
Result<ForbidRule> parse_forbid(std::string_view text);
std::string to_string(const Pin& pin);
std::string to_string(const ForbidRule& rule);

// Which recipes each layer may have, row-major (layers, grid.size()), 1 = allowed. A pin leaves
// exactly one and outranks the rules, but not the target. Errors: kBadInput for a layer that does
// not exist, a pin off the grid, a layer pinned twice, and for limits that leave a layer without a
// choice, naming the layer and the limits that empty it.
Result<std::vector<std::uint8_t>> allowed_configs(const Limits& limits, int layers,
                                                  const ConfigGrid& grid);

}  // namespace lamina
