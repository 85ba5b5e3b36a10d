// SPDX-License-Identifier: Apache-2.0
#include "engine/table/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace lamina {
namespace {

constexpr std::size_t kMaxConfigs = 4096;

// A non-empty axis of strictly ascending values, each accepted by `good`.
template <class T>
Status check_axis(const std::vector<T>& axis, const char* name, const char* range,
                  const std::function<bool(T)>& good, const std::string& where) {
  if (axis.empty() || axis.size() > kMaxConfigs) {
    return Status::bad_input(fmt::format("the grid's axis {} has {} values", name, axis.size()),
                             where, fmt::format("1 to {} values are possible", kMaxConfigs));
  }
  for (std::size_t i = 0; i < axis.size(); ++i) {
    if (!good(axis[i])) {
      return Status::bad_input(fmt::format("the grid's axis {} holds {}", name, axis[i]), where,
                               fmt::format("its values lie {}", range));
    }
    if (i > 0 && !(axis[i] > axis[i - 1])) {
      return Status::bad_input(
          fmt::format("the grid's axis {} has {} after {}", name, axis[i], axis[i - 1]), where,
          "write each value once, in ascending order");
    }
  }
  return Status::ok();
}

template <class T>
int position(const std::vector<T>& axis, T value) {
  auto it = std::find(axis.begin(), axis.end(), value);
  return it == axis.end() ? -1 : static_cast<int>(it - axis.begin());
}

}  // namespace

ConfigGrid ConfigGrid::default_grid() {
  return {{0.1, 0.25, 0.5, 0.75, 0.9, 1.0}, {4, 8, 16}, {4, 8, 16}};
}

int ConfigGrid::find(const LayerConfig& config) const {
  int a = position(keep, config.keep);
  int b = position(k_bits, config.k_bits);
  int c = position(v_bits, config.v_bits);
  return a < 0 || b < 0 || c < 0 ? -1 : index(a, b, c);
}

Status ConfigGrid::validate(const std::string& where) const {
  auto share = [](double v) { return v > 0 && v <= 1; };
  auto bits = [](int v) { return v >= 1 && v <= 16; };
  LAMINA_RETURN_IF_ERROR(check_axis<double>(keep, "keep", "above 0 and up to 1", share, where));
  LAMINA_RETURN_IF_ERROR(check_axis<int>(k_bits, "k_bits", "from 1 to 16", bits, where));
  LAMINA_RETURN_IF_ERROR(check_axis<int>(v_bits, "v_bits", "from 1 to 16", bits, where));
  std::size_t configs =
      keep.size() * k_bits.size() * v_bits.size();  // axes of at most 4096, 16, 16
  if (configs > kMaxConfigs) {
    return Status::bad_input(fmt::format("the grid has {} recipes", configs), where,
                             fmt::format("at most {} are possible", kMaxConfigs));
  }
  return Status::ok();
}

std::string to_string(const LayerConfig& config) {
  return fmt::format("keep {}, K{} V{}", config.keep, config.k_bits, config.v_bits);
}

}  // namespace lamina
