// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes that come from files: false where the exact result does not fit in 64 bits.
#pragma once

#include <cstdint>

namespace lamina {

inline bool checked_add(std::uint64_t a, std::uint64_t b, std::uint64_t& out) {
  return !__builtin_add_overflow(a, b, &out);
}
inline bool checked_mul(std::uint64_t a, std::uint64_t b, std::uint64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}
// The smallest multiple of `alignment` (a power of two) that is >= value.
inline bool checked_align(std::uint64_t value, std::uint64_t alignment, std::uint64_t& out) {
  if (!checked_add(value, alignment - 1, out)) return false;
  out &= ~(alignment - 1);
  return true;
}

}  // namespace lamina
