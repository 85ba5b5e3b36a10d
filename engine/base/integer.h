// SPDX-License-Identifier: Apache-2.0
// Integers for sizes that come from files: a 128-bit intermediate type and the way back to 64 bits.
// Header-only; every function is pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace lamina {

__extension__ typedef __int128 Int128;

inline constexpr Int128 kInt64Max = std::numeric_limits<std::int64_t>::max();

// The value as int64, nothing where it does not fit.
inline std::optional<std::int64_t> narrow(Int128 value) {
  if (value > kInt64Max || value < std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// a * b, nothing where it leaves 128 bits.
inline std::optional<Int128> checked_mul(Int128 a, Int128 b) {
  Int128 out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// a + b, nothing where it leaves 128 bits.
inline std::optional<Int128> checked_add(Int128 a, Int128 b) {
  Int128 out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// ceil(a / b). REQUIRES a >= 0, b > 0.
inline Int128 ceil_div(Int128 a, Int128 b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace lamina
