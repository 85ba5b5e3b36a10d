// SPDX-License-Identifier: Apache-2.0
// What the triattention scorer (arXiv 2604.04921) knows about a model's queries: their means as
// complex numbers, taken before RoPE (after q_norm) over a text. Includes ATen: for .cc files of
// this room only.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/transformer.h"

namespace lamina {

// One layer's E[q_f] = re + i*im and E|q_f|. Each (heads, head_dim/2), float32, contiguous.
struct QueryStatistics {
  at::Tensor re, im, abs;
};

// x (..., head_dim) with the halves of every rotated pair at f and f + head_dim/2. A rotation of
// only the first rotary_dim dimensions pairs (f, f + rotary_dim/2); the others are paired behind
// those.
at::Tensor rotary_pairs(const at::Tensor& x, const ModelConfig& config, int layer);

// Statistics of the first `layers` layers from one forward pass; progress in layers.
// REQUIRES checked ids. Errors: cancelled; kBadInput where K or V is not finite.
Result<std::vector<QueryStatistics>> query_statistics(const Transformer& transformer,
                                                      const std::vector<std::int32_t>& ids,
                                                      int layers, const JobContext& context);

}  // namespace lamina
