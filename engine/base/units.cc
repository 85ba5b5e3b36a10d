// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace lamina {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"kB", 1e3},
                           {"KB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12},
                           {"KiB", 1024.0},
                           {"MiB", 1048576.0},
                           {"GiB", 1073741824.0},
                           {"TiB", 1099511627776.0}};

}  // namespace

Result<std::int64_t> parse_budget(std::string_view text, std::int64_t full_bytes) {
  auto refuse = [&] {
    return Status::usage(fmt::format("'{}' is not a budget", text), "",
                         "write 136MB, 130MiB, 142606336, 14x or 25%");
  };
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value <= 0) return refuse();
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  double bytes = -1;
  if (unit == "x") {
    bytes = static_cast<double>(full_bytes) / value;
  } else if (unit == "%") {
    bytes = static_cast<double>(full_bytes) * value / 100;
  } else {
    for (const Unit& known : kUnits) {
      if (unit == known.name) bytes = value * known.bytes;
    }
  }
  // The small addition keeps 1835008000 / 14 = 131072000 from losing a byte to rounding.
  bytes = std::floor(bytes * (1 + 1e-15) + 1e-9);
  if (!(bytes >= 1) || bytes >= 9.2e18) return refuse();
  return static_cast<std::int64_t>(bytes);
}

std::string format_mb(std::int64_t bytes) {
  if (std::abs(static_cast<double>(bytes)) < 1000) return fmt::format("{} B", bytes);
  double mb = static_cast<double>(bytes) / 1e6;
  if (std::abs(mb) < 0.1) return fmt::format("{:.3f} MB", mb);
  if (std::abs(mb) < 100000) return fmt::format("{:.1f} MB", mb);
  return fmt::format("{:.1f} GB", mb / 1000);
}

}  // namespace lamina
