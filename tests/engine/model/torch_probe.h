// SPDX-License-Identifier: Apache-2.0
// Doors for Qt tests to rooms whose headers show ATen, which must not meet Qt's: plain floats in
// and out.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/config.h"
#include "engine/run/generate.h"

namespace lamina::test {

struct AttentionCase {
  std::int64_t heads, kv_heads, queries, tokens, head_dim, window;
  double scale;
};

// causal_attention(); q: (heads, queries, head_dim), k, v: (kv_heads, tokens, head_dim). strided: K
// and V are given as views of larger buffers, as a cache does.
std::vector<float> attention(const AttentionCase& c, const std::vector<float>& q,
                             const std::vector<float>& k, const std::vector<float>& v,
                             bool strided);

// apply_rope() of one head at one position; x: (head_dim).
std::vector<float> rotate(const RopeConfig& rope, const std::vector<float>& x,
                          std::int64_t position);
std::vector<double> frequencies(const RopeConfig& rope, int head_dim);
double magnitude(const RopeConfig& rope);

struct PiecesResult {
  std::vector<std::vector<float>> logits;  // after each piece, (pieces, vocab)
  std::vector<std::int64_t> layer_tokens;  // held at the end, (layers)
};
// Runs ids through one uncompressed cache in pieces of the given sizes (their sum is ids.size()).
Result<PiecesResult> logits_in_pieces(const Model& model, const std::vector<std::int32_t>& ids,
                                      const std::vector<std::int64_t>& pieces);

}  // namespace lamina::test
