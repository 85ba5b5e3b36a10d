// SPDX-License-Identifier: Apache-2.0
// Scores of cached keys (higher = keep) and the choice of survivors (spec sections 3 and 4).
#pragma once

#include <cstdint>

namespace lamina::kernels {

// keydiff: -cos(k, mean of k/||k||) over the keys present. k (tokens, dim) -> out (tokens).
// A zero key has cosine 0.
void score_keydiff(const float* k, std::int64_t tokens, int dim, float* out);

// triattention (arXiv 2604.04921). One KV head with the `group` query heads it serves.
//   k_pre      (tokens, dim) un-rotated keys, magnitude removed
//   positions  (tokens) original positions; t = position of the newest token
//   eq_re, eq_im, eq_abs  (group, dim/2): E[q_f] and E|q_f| of each query head
//   frequencies (dim/2) radians per position
//   out        (tokens): maximum over the group of the z-scored S (population deviation; 0 where it
//   is 0) raw        (group, tokens) S before the z-score, or null
// Mean over offsets 1, 2, 4, ..., 65536. Accumulates in double.
void score_triattention(const float* k_pre, const std::int64_t* positions, std::int64_t tokens,
                        int dim, std::int64_t t, const float* eq_re, const float* eq_im,
                        const float* eq_abs, int group, const double* frequencies, float* out,
                        double* raw);

// Survivors shared by a layer's KV heads: sinks = min(sinks, n/4) first and min(recent, n/4) last
// tokens always; the others by the maximum over heads of the scores z-scored over the candidates,
// equal scores to the later position. scores (kv_heads, tokens) -> out (n) ascending token indices.
// REQUIRES 1 <= n <= tokens.
void select_shared(const float* scores, int kv_heads, std::int64_t tokens, std::int64_t n,
                   int sinks, int recent, std::int64_t* out);

}  // namespace lamina::kernels
