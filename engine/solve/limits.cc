// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lamina {
namespace {

constexpr std::string_view kPinAdvice =
    "write LAYERS=RECIPE, e.g. 3=53, 0-3=0.5/8/4 (keep/K bits/V bits) or 0,29=full";
constexpr std::string_view kForbidAdvice =
    "write [LAYERS:]AXIS OP VALUE, e.g. k=4, v<8, keep<0.5 or 0-3,27:k=4; axes are keep, k and v";

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The whole of `text` as a number; nothing for anything else.
template <class T>
std::optional<T> number(std::string_view text) {
  text = trim(text);
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string to_string(const LayerRange& range) {
  return range.first == range.last ? fmt::format("{}", range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
}

// "3", "0-3" or "0-3,27". `all` is named in errors.
Result<std::vector<LayerRange>> parse_layers(std::string_view text, std::string_view all,
                                             std::string_view advice) {
  std::vector<LayerRange> ranges;
  for (std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> ends = split(part, '-');
    const std::optional<int> first = number<int>(ends.front());
    const std::optional<int> last = number<int>(ends.back());
    if (ends.size() > 2 || !first || !last) {
      return Status::usage(fmt::format("'{}' names no layers", trim(text)), std::string(all),
                           std::string(advice));
    }
    const LayerRange range{*first, *last};
    if (range.last < range.first) {
      return Status::bad_input(fmt::format("the layers {} are reversed", to_string(range)),
                               std::string(all),
                               fmt::format("write {}-{}", range.last, range.first));
    }
    for (const LayerRange& other : ranges) {
      if (range.first <= other.last && other.first <= range.last) {
        return Status::bad_input(
            fmt::format("the layers {} and {} overlap", to_string(other), to_string(range)),
            std::string(all), "name every layer once");
      }
    }
    ranges.push_back(range);
  }
  return ranges;
}

Status off_grid(const std::string& recipe, std::string_view where) {
  return Status::bad_input(fmt::format("{} is not on the table's grid", recipe), std::string(where),
                           "choose values that the table was calibrated for");
}

// "53", "0.5/8/4" or "full".
Result<LayerConfig> parse_recipe(std::string_view text, std::string_view all,
                                 const ConfigGrid& grid) {
  if (text == "full") {
    const LayerConfig full{};
    if (grid.find(full) < 0) return off_grid(to_string(full), all);
    return full;
  }
  if (std::optional<std::int64_t> index = number<std::int64_t>(text)) {
    if (*index < 0 || *index >= grid.size()) {
      return Status::bad_input(fmt::format("there is no configuration {}", *index),
                               std::string(all),
                               fmt::format("the grid's lie from 0 to {}", grid.size() - 1));
    }
    return grid.at(static_cast<int>(*index));
  }
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() == 3) {
    const std::optional<double> keep = number<double>(parts[0]);
    const std::optional<int> k_bits = number<int>(parts[1]), v_bits = number<int>(parts[2]);
    if (keep && k_bits && v_bits) {
      const LayerConfig config{*keep, *k_bits, *v_bits};
      if (grid.find(config) < 0) return off_grid(to_string(config), all);
      return config;
    }
  }
  return Status::usage(fmt::format("'{}' is not a recipe", text), std::string(all),
                       std::string(kPinAdvice));
}

struct Operator {
  std::string_view text;
  Comparison comparison;
};
// The longer ones come first.
constexpr Operator kOperators[] = {
    {"<=", Comparison::kLessEqual}, {">=", Comparison::kGreaterEqual},
    {"!=", Comparison::kNotEqual},  {"<", Comparison::kLess},
    {">", Comparison::kGreater},    {"=", Comparison::kEqual}};

constexpr std::pair<std::string_view, Axis> kAxes[] = {
    {"keep", Axis::kKeep}, {"k", Axis::kKBits}, {"v", Axis::kVBits}};

bool compares(double axis, Comparison comparison, double value) {
  switch (comparison) {
    case Comparison::kLess:
      return axis < value;
    case Comparison::kLessEqual:
      return axis <= value;
    case Comparison::kEqual:
      return axis == value;
    case Comparison::kNotEqual:
      return axis != value;
    case Comparison::kGreaterEqual:
      return axis >= value;
    case Comparison::kGreater:
      return axis > value;
  }
  return false;
}

bool covers(const ForbidRule& rule, int layer) {
  return rule.layers.empty() ||
         std::any_of(rule.layers.begin(), rule.layers.end(), [&](const LayerRange& range) {
           return range.first <= layer && layer <= range.last;
         });
}

bool forbids(const ForbidRule& rule, const LayerConfig& config) {
  const double axis = rule.axis == Axis::kKeep    ? config.keep
                      : rule.axis == Axis::kKBits ? config.k_bits
                                                  : config.v_bits;
  return compares(axis, rule.comparison, rule.value);
}

bool can_run(const Target& target, const LayerConfig& config) {
  const bool keeps = target.keep.empty() || std::find(target.keep.begin(), target.keep.end(),
                                                      config.keep) != target.keep.end();
  const std::pair<int, int> bits{config.k_bits, config.v_bits};
  const bool stores =
      target.k_v_bits.empty() ||
      std::find(target.k_v_bits.begin(), target.k_v_bits.end(), bits) != target.k_v_bits.end();
  return keeps && stores;
}

Status check_range(const LayerRange& range, int layers, const std::string& where) {
  if (range.last < range.first) {
    return Status::bad_input(fmt::format("the layers {} are reversed", to_string(range)), where,
                             fmt::format("write {}-{}", range.last, range.first));
  }
  if (range.first < 0 || range.last >= layers) {
    return Status::bad_input(
        fmt::format("there is no layer {}", range.first < 0 ? range.first : range.last), where,
        fmt::format("the layers are 0 to {}", layers - 1));
  }
  return Status::ok();
}

// The configuration each layer is pinned to, -1 where it is free.
Result<std::vector<int>> pinned_configs(const std::vector<Pin>& pins, int layers,
                                        const ConfigGrid& grid) {
  std::vector<int> pinned(static_cast<std::size_t>(layers), -1);
  for (const Pin& pin : pins) {
    const std::string where = "pin " + to_string(pin);
    LAMINA_RETURN_IF_ERROR(check_range(pin.layers, layers, where));
    const int config = grid.find(pin.config);
    if (config < 0) return off_grid(to_string(pin.config), where);
    for (int l = pin.layers.first; l <= pin.layers.last; ++l) {
      if (pinned[l] >= 0) {
        return Status::bad_input(fmt::format("layer {} is pinned twice, to {} and to {}", l,
                                             to_string(grid.at(pinned[l])), to_string(pin.config)),
                                 where, "pin every layer once");
      }
      pinned[l] = config;
    }
  }
  return pinned;
}

// The refusal of limits that leave `layer` nothing, naming each of them that takes something away.
Status nothing_left(const Limits& limits, int layer, const ConfigGrid& grid) {
  std::string culprits;
  auto name = [&](const std::string& limit) {
    culprits += (culprits.empty() ? "" : " and ") + limit;
  };
  auto hits = [&](auto excludes) {
    for (int c = 0; c < grid.size(); ++c) {
      if (excludes(grid.at(c))) return true;
    }
    return false;
  };
  for (const ForbidRule& rule : limits.forbid) {
    if (covers(rule, layer) && hits([&](const LayerConfig& c) { return forbids(rule, c); })) {
      name("forbid " + to_string(rule));
    }
  }
  if (limits.target && hits([&](const LayerConfig& c) { return !can_run(*limits.target, c); })) {
    name("target " + limits.target->name);
  }
  return Status::bad_input(
      fmt::format("no configuration of the grid (0 to {}) is left for layer {}", grid.size() - 1,
                  layer),
      culprits, "forbid less, or pin the layer");
}

}  // namespace

Result<std::vector<Pin>> parse_pin(std::string_view text, const ConfigGrid& grid) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) {
    return Status::usage(fmt::format("'{}' is not a pin", text), "", std::string(kPinAdvice));
  }
  const std::string where = fmt::format("pin {}", text);
  LAMINA_ASSIGN_OR_RETURN(const std::vector<LayerRange> ranges,
                          parse_layers(text.substr(0, sign), where, kPinAdvice));
  LAMINA_ASSIGN_OR_RETURN(const LayerConfig config,
                          parse_recipe(trim(text.substr(sign + 1)), where, grid));
  std::vector<Pin> pins;
  pins.reserve(ranges.size());
  for (const LayerRange& range : ranges) pins.push_back({range, config});
  return pins;
}

Result<ForbidRule> parse_forbid(std::string_view text) {
  const std::string where = fmt::format("forbid {}", text);
  ForbidRule rule;
  std::string_view rest = text;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    LAMINA_ASSIGN_OR_RETURN(rule.layers, parse_layers(text.substr(0, colon), where, kForbidAdvice));
    rest = text.substr(colon + 1);
  }
  const Status not_a_rule = Status::usage(fmt::format("'{}' forbids nothing that exists", text),
                                          "forbid", std::string(kForbidAdvice));
  const std::size_t sign = rest.find_first_of("<>=!");
  if (sign == std::string_view::npos) return not_a_rule;
  const std::string_view name = trim(rest.substr(0, sign));
  const auto axis = std::find_if(std::begin(kAxes), std::end(kAxes),
                                 [&](const auto& entry) { return entry.first == name; });
  rest.remove_prefix(sign);
  const auto op = std::find_if(std::begin(kOperators), std::end(kOperators),
                               [&](const Operator& o) { return rest.starts_with(o.text); });
  if (axis == std::end(kAxes) || op == std::end(kOperators)) return not_a_rule;
  const std::optional<double> value = number<double>(rest.substr(op->text.size()));
  if (!value || !std::isfinite(*value)) return not_a_rule;
  rule.axis = axis->second;
  rule.comparison = op->comparison;
  rule.value = *value;
  return rule;
}

std::string to_string(const Pin& pin) {
  return fmt::format("{}={}/{}/{}", to_string(pin.layers), pin.config.keep, pin.config.k_bits,
                     pin.config.v_bits);
}

std::string to_string(const ForbidRule& rule) {
  std::string out;
  for (const LayerRange& range : rule.layers) {
    out += (out.empty() ? "" : ",") + to_string(range);
  }
  if (!out.empty()) out += ":";
  for (const auto& [name, axis] : kAxes) {
    if (axis == rule.axis) out += name;
  }
  for (const Operator& op : kOperators) {
    if (op.comparison == rule.comparison) out += op.text;
  }
  return out + fmt::format("{}", rule.value);
}

Result<std::vector<std::uint8_t>> allowed_configs(const Limits& limits, int layers,
                                                  const ConfigGrid& grid) {
  LAMINA_ASSIGN_OR_RETURN(const std::vector<int> pinned, pinned_configs(limits.pins, layers, grid));
  for (const ForbidRule& rule : limits.forbid) {
    for (const LayerRange& range : rule.layers) {
      LAMINA_RETURN_IF_ERROR(check_range(range, layers, "forbid " + to_string(rule)));
    }
  }
  const std::size_t configs = static_cast<std::size_t>(grid.size());
  std::vector<std::uint8_t> allowed(static_cast<std::size_t>(layers) * configs, 0);
  for (int l = 0; l < layers; ++l) {
    std::uint8_t* row = allowed.data() + static_cast<std::size_t>(l) * configs;
    if (pinned[l] >= 0) {
      if (limits.target && !can_run(*limits.target, grid.at(pinned[l]))) {
        return Status::bad_input(fmt::format("layer {} is pinned to {}, which {} cannot run", l,
                                             to_string(grid.at(pinned[l])), limits.target->title),
                                 fmt::format("target {}", limits.target->name),
                                 "pin it to what the target has, or choose another target");
      }
      row[pinned[l]] = 1;
      continue;
    }
    bool any = false;
    for (int c = 0; c < grid.size(); ++c) {
      const LayerConfig config = grid.at(c);
      const bool free = std::none_of(
          limits.forbid.begin(), limits.forbid.end(),
          [&](const ForbidRule& rule) { return covers(rule, l) && forbids(rule, config); });
      row[c] = free && (!limits.target || can_run(*limits.target, config)) ? 1 : 0;
      any = any || row[c] != 0;
    }
    if (!any) return nothing_left(limits, l, grid);
  }
  return allowed;
}

}  // namespace lamina
