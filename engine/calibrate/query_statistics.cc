// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/query_statistics.h"

#include <utility>

#include "engine/calibrate/layer_pass.h"

namespace lamina {
namespace {

// q_pre: (heads, tokens, head_dim). Sums run in double.
QueryStatistics mean_query(const at::Tensor& q_pre, const ModelConfig& config, int layer) {
  const at::Tensor pairs = rotary_pairs(q_pre, config, layer);
  const std::int64_t half = pairs.size(2) / 2;
  const at::Tensor re = pairs.slice(2, 0, half), im = pairs.slice(2, half);
  const auto mean = [](const at::Tensor& x) {
    return x.mean(1, false, at::kDouble).to(at::kFloat);
  };
  return {mean(re), mean(im), mean(at::hypot(re, im))};
}

}  // namespace

at::Tensor rotary_pairs(const at::Tensor& x, const ModelConfig& config, int layer) {
  const RopeConfig& rope = config.kv[layer].window > 0 ? config.rope_local : config.rope;
  const std::int64_t dim = x.size(-1), rotated = rope.rotary_dim;
  if (rotated <= 0 || rotated >= dim) return x;
  const std::int64_t half = rotated / 2, rest = rotated + (dim - rotated) / 2;
  return at::cat({x.slice(-1, 0, half), x.slice(-1, rotated, rest), x.slice(-1, half, rotated),
                  x.slice(-1, rest)},
                 -1);
}

Result<std::vector<QueryStatistics>> query_statistics(const Transformer& transformer,
                                                      const std::vector<std::int32_t>& ids,
                                                      int layers, const JobContext& context) {
  std::vector<QueryStatistics> out;
  StageProgress progress(context, "statistics", layers, "layers");
  at::Tensor x = transformer.embed(ids);
  for (int layer = 0; layer < layers; ++layer) {
    LAMINA_ASSIGN_OR_RETURN(const LayerQkv qkv, layer_qkv(transformer, layer, x, context));
    LAMINA_RETURN_IF_ERROR(check_finite(qkv, layer));
    out.push_back(mean_query(qkv.q_pre, transformer.config(), layer));
    if (layer + 1 < layers) {
      LAMINA_ASSIGN_OR_RETURN(x, finish_layer(transformer, layer, x, qkv, context));
    }
    progress.report(layer + 1);
  }
  return out;
}

}  // namespace lamina
