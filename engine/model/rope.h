// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding. Includes ATen: only for .cc files of targets that link LibTorch.
// Functions are pure and thread-safe.
//
// Sources: RoFormer (arXiv 2104.09864) for the rotation and theta^(-2f/d); Position Interpolation
// (arXiv 2306.15595) for `linear`; YaRN (arXiv 2309.00071, sections 3.2-3.4) for `yarn`:
// NTK-by-parts between beta_slow and beta_fast rotations and the magnitude 0.1 ln(s) + 1; the
// Llama 3.1 model card for `llama3`: wavelengths above original_context / low_freq_factor are
// stretched by `factor`, those below original_context / high_freq_factor are kept, and a linear
// blend lies between. A GGUF file gives the same as divisors of the plain frequencies
// (`rope_freqs.weight`).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "engine/model/config.h"

namespace lamina {

// w_f in radians per position, (head_dim / 2): pair f is (x[f], x[f + rotary_dim/2]) for f <
// rotary_dim/2; the entries after that are 0.
std::vector<double> rope_frequencies(const RopeConfig& rope, int head_dim);

// What cos and sin are multiplied by; 1 except for yarn.
double rope_magnitude(const RopeConfig& rope);

struct RopeTable {
  at::Tensor cos, sin;  // (tokens, rotary_dim / 2), float32, the magnitude included
};
// Angles are computed in double and rounded once, so that positions in the millions stay exact.
RopeTable rope_table(const std::vector<double>& frequencies, int rotary_dim, double magnitude,
                     std::int64_t first_position, std::int64_t tokens);

// x: (heads, tokens, head_dim), any strides with the last one 1 -> the rotated copy, contiguous.
at::Tensor apply_rope(const at::Tensor& x, const RopeTable& table);

}  // namespace lamina
