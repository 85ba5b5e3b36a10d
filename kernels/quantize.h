// SPDX-License-Identifier: Apache-2.0
// Quantise and dequantise K and V (spec section 5). Plain pointers, no framework header. Every row
// is one token of one head; groups run along head_dim.
#pragma once

#include <cstdint>

namespace lamina::kernels {

// IEEE half, round to nearest even; values beyond +-65504 saturate. NaN stays NaN.
std::uint16_t half_from_float(float x);
float float_from_half(std::uint16_t h);
// x -> half -> float.
void round_to_half(const float* x, std::int64_t n, float* out);

// asym: per row and group of `group` values (the last one may be shorter) scale =
// (max-min)/(2^bits-1) and min, both rounded to half; code = clamp(round_half_even((x-min)/scale),
// 0, 2^bits-1); scale 0 gives code 0. REQUIRES bits in 1..8, group >= 1, finite x.
//   x      (rows, dim)
//   codes  (rows, dim), one byte per value
//   scale, min  (rows, ceil(dim/group)), half bits
void quantize_asym(const float* x, std::int64_t rows, int dim, int group, int bits,
                   std::uint8_t* codes, std::uint16_t* scale, std::uint16_t* min);
// x' = code*scale + min in two float32 roundings (no fma).
void dequantize_asym(const std::uint8_t* codes, const std::uint16_t* scale,
                     const std::uint16_t* min, std::int64_t rows, int dim, int group, float* out);

// The first value that is NaN or Inf: its flat index, -1 where all are finite.
std::int64_t find_non_finite(const float* x, std::int64_t n);

}  // namespace lamina::kernels
