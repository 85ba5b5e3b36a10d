// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/survivors.h"

#include <algorithm>
#include <numeric>

#include "engine/table/bytes.h"
#include "kernels/scores.h"

namespace lamina {
namespace {

// Scores of the tokens from `first` on, (kv_heads, tokens - first).
std::vector<float> triattention_scores(const Transformer& transformer, int layer,
                                       const at::Tensor& k_pre, std::int64_t first,
                                       const QueryStatistics& statistics) {
  const at::Tensor pairs =
      rotary_pairs(k_pre.slice(1, first), transformer.config(), layer).contiguous();
  const std::int64_t kv_heads = pairs.size(0), tokens = pairs.size(1), dim = pairs.size(2);
  const int group = static_cast<int>(statistics.re.size(0) / kv_heads);
  const std::vector<double> frequencies = transformer.rope_frequencies(layer);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens));
  std::iota(positions.begin(), positions.end(), first);
  std::vector<float> scores(static_cast<std::size_t>(kv_heads * tokens));
  for (std::int64_t head = 0; head < kv_heads; ++head) {
    const std::int64_t queries = head * group * (dim / 2);
    kernels::score_triattention(pairs.const_data_ptr<float>() + head * tokens * dim,
                                positions.data(), tokens, static_cast<int>(dim), positions.back(),
                                statistics.re.const_data_ptr<float>() + queries,
                                statistics.im.const_data_ptr<float>() + queries,
                                statistics.abs.const_data_ptr<float>() + queries, group,
                                frequencies.data(), scores.data() + head * tokens, nullptr);
  }
  return scores;
}

std::vector<float> keydiff_scores(const at::Tensor& k, std::int64_t first) {
  const at::Tensor keys = k.slice(1, first).contiguous();
  const std::int64_t kv_heads = keys.size(0), tokens = keys.size(1), dim = keys.size(2);
  std::vector<float> scores(static_cast<std::size_t>(kv_heads * tokens));
  for (std::int64_t head = 0; head < kv_heads; ++head) {
    kernels::score_keydiff(keys.const_data_ptr<float>() + head * tokens * dim, tokens,
                           static_cast<int>(dim), scores.data() + head * tokens);
  }
  return scores;
}

}  // namespace

std::int64_t layer_tokens(const ModelConfig& config, int layer, std::int64_t tokens) {
  const std::int64_t window = config.kv[layer].window;
  return window > 0 ? std::min(tokens, window) : tokens;
}

std::vector<std::vector<std::int64_t>> layer_survivors(const Transformer& transformer, int layer,
                                                       const LayerQkv& qkv,
                                                       const SurvivorRule& rule,
                                                       const QueryStatistics* statistics) {
  const std::int64_t tokens = layer_tokens(transformer.config(), layer, qkv.k.size(1));
  const std::int64_t first = qkv.k.size(1) - tokens;
  std::vector<float> scores;
  if (rule.scorer == "triattention") {
    scores = triattention_scores(transformer, layer, qkv.k_pre, first, *statistics);
  } else if (rule.scorer == "keydiff") {
    scores = keydiff_scores(qkv.k, first);
  } else {
    scores.resize(static_cast<std::size_t>(tokens));  // streaming: one head scores by position
    std::iota(scores.begin(), scores.end(), 0.0f);
  }
  const int heads = static_cast<int>(static_cast<std::int64_t>(scores.size()) / tokens);
  std::vector<std::vector<std::int64_t>> out;
  for (const double keep : rule.keep) {
    std::vector<std::int64_t> kept(static_cast<std::size_t>(n_keep(keep, tokens)));
    kernels::select_shared(scores.data(), heads, tokens, static_cast<std::int64_t>(kept.size()),
                           rule.sinks, rule.recent, kept.data());
    for (std::int64_t& position : kept) position += first;
    out.push_back(std::move(kept));
  }
  return out;
}

}  // namespace lamina
