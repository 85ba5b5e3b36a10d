// SPDX-License-Identifier: Apache-2.0
// The loops are plain C++ without branches, so that the compiler's vector code and scalar code
// compute the same bits; nothing here depends on the machine it runs on.
#include "kernels/quantize.h"

#include <algorithm>
#include <bit>

namespace lamina::kernels {
namespace {

constexpr std::uint32_t kFloatInf = 0x7f800000u;
constexpr std::uint32_t kHalfMaxAsFloat = 0x477fe000u;        // 65504
constexpr std::uint32_t kHalfMinNormalAsFloat = 0x38800000u;  // 2^-14

// The half nearest to x, as a float. Below 2^-14 halves are multiples of 2^-24, which is the
// spacing of floats in [0.5, 1): adding 0.5 rounds to one. Above, the low 13 bits of the mantissa
// are rounded away.
inline float nearest_half(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits & 0x80000000u;
  const std::uint32_t magnitude = bits ^ sign;
  const std::uint32_t bounded = magnitude < kHalfMaxAsFloat ? magnitude : kHalfMaxAsFloat;
  const std::uint32_t normal = (bounded + 0xfffu + ((bounded >> 13) & 1u)) & ~0x1fffu;
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>((std::bit_cast<float>(bounded) + 0.5f) - 0.5f);
  const std::uint32_t rounded = bounded < kHalfMinNormalAsFloat ? denormal : normal;
  return std::bit_cast<float>(magnitude > kFloatInf ? bits : (rounded | sign));
}

// Bits of a float as an integer in the order of the values, -0 before +0. Its own inverse.
inline std::int32_t ordered(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

// Rounds 0 <= x <= 255 to an integer, half to even: floats from 2^23 on are whole numbers.
inline float round_half_even(float x) { return (x + 8388608.0f) - 8388608.0f; }

struct GroupScale {
  std::uint16_t scale, min;  // half bits
};

GroupScale quantize_group(const float* x, int n, float levels, std::uint8_t* codes) {
  std::int32_t low = ordered(std::bit_cast<std::int32_t>(x[0]));
  std::int32_t high = low;
  for (int i = 1; i < n; ++i) {
    const std::int32_t key = ordered(std::bit_cast<std::int32_t>(x[i]));
    low = std::min(low, key);
    high = std::max(high, key);
  }
  const float min = std::bit_cast<float>(ordered(low));
  const float max = std::bit_cast<float>(ordered(high));
  const GroupScale out{half_from_float((max - min) / levels), half_from_float(min)};
  const float scale = float_from_half(out.scale);
  const float base = float_from_half(out.min);
  if (scale == 0.0f) {
    std::fill_n(codes, n, std::uint8_t{0});
    return out;
  }
  for (int i = 0; i < n; ++i) {
    const float code = std::min(std::max((x[i] - base) / scale, 0.0f), levels);
    codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(round_half_even(code)));
  }
  return out;
}

}  // namespace

std::uint16_t half_from_float(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest_half(x));
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > kFloatInf) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude < kHalfMinNormalAsFloat) {
    const float steps = std::bit_cast<float>(magnitude) * 16777216.0f;  // of 2^-24; exact
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
  }
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u) >> 13));
}

float float_from_half(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fu;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1f) return std::bit_cast<float>(sign | kFloatInf | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

void round_to_half(const float* x, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = nearest_half(x[i]);
}

void quantize_asym(const float* x, std::int64_t rows, int dim, int group, int bits,
                   std::uint8_t* codes, std::uint16_t* scale, std::uint16_t* min) {
  const float levels = static_cast<float>((1 << bits) - 1);
  for (std::int64_t row = 0; row < rows; ++row, x += dim, codes += dim) {
    for (int begin = 0; begin < dim; begin += group) {
      const int n = std::min(group, dim - begin);
      const GroupScale stored = quantize_group(x + begin, n, levels, codes + begin);
      *scale++ = stored.scale;
      *min++ = stored.min;
    }
  }
}

void dequantize_asym(const std::uint8_t* codes, const std::uint16_t* scale,
                     const std::uint16_t* min, std::int64_t rows, int dim, int group, float* out) {
  for (std::int64_t row = 0; row < rows; ++row, codes += dim, out += dim) {
    for (int begin = 0; begin < dim; begin += group) {
      const float step = float_from_half(*scale++);
      const float base = float_from_half(*min++);
      const int end = std::min(begin + group, dim);
      for (int i = begin; i < end; ++i) {
        out[i] = static_cast<float>(codes[i]) * step + base;
      }
    }
  }
}

std::int64_t find_non_finite(const float* x, std::int64_t n) {
  constexpr std::int64_t kBlock = 1024;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, n);
    std::uint32_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      found |=
          static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(x[i]) & kFloatInf) == kFloatInf);
    }
    if (found == 0) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      if ((std::bit_cast<std::uint32_t>(x[i]) & kFloatInf) == kFloatInf) return i;
    }
  }
  return -1;
}

}  // namespace lamina::kernels
