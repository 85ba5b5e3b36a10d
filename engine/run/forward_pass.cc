// SPDX-License-Identifier: Apache-2.0
#include "engine/run/forward_pass.h"

#include <algorithm>
#include <optional>

#include "engine/model/torch_scope.h"

namespace lamina {
namespace {

constexpr std::int64_t kMinChunk = 16;
constexpr std::int64_t kMaxChunk = 1024;
// About 0.1 s of a core's work: what may run between two looks at the stop token.
constexpr double kMultiplyAddsPerThread = 2e9;

// Tokens of the next chunk of a layer: products with the weights plus attention over `keys` keys.
std::int64_t chunk_tokens(const Transformer& transformer, int layer, std::int64_t keys,
                          int threads) {
  const LayerGeometry& g = transformer.config().kv[layer];
  if (g.window > 0) keys = std::min(keys, g.window);
  const double per_token =
      static_cast<double>(transformer.layer_parameters(layer)) +
      2.0 * transformer.config().heads * g.head_dim * static_cast<double>(keys);
  const double tokens = kMultiplyAddsPerThread * threads / per_token;
  return std::clamp(static_cast<std::int64_t>(std::min(tokens, 1e6)), kMinChunk, kMaxChunk);
}

}  // namespace

Result<at::Tensor> run_tokens(const Transformer& transformer, const std::vector<std::int32_t>& ids,
                              std::int64_t first_position, KvCache& cache, PassKind kind,
                              const JobContext& context) {
  const int layers = transformer.config().layers;
  const int threads = use_threads(context);
  const std::int64_t tokens = static_cast<std::int64_t>(ids.size());
  std::optional<StageProgress> progress;
  if (kind == PassKind::kPrompt) progress.emplace(context, "prefill", layers, "layers");
  at::Tensor x = transformer.embed(ids);  // (tokens, hidden); rows are replaced layer by layer
  for (int layer = 0; layer < layers; ++layer) {
    std::int64_t begin = 0;
    while (begin < tokens) {
      if (context.stop_requested()) return Status::cancelled();
      const std::int64_t position = first_position + begin;
      const std::int64_t count =
          std::min(tokens - begin, chunk_tokens(transformer, layer, position + 1, threads));
      at::Tensor rows = x.narrow(0, begin, count);
      const LayerQkv qkv = transformer.qkv(layer, rows, position);
      LAMINA_ASSIGN_OR_RETURN(const at::Tensor heads, cache.attend(layer, qkv, position));
      if (context.stop_requested()) return Status::cancelled();
      rows.copy_(transformer.finish_layer(layer, rows, transformer.o_proj(layer, heads)));
      begin += count;
    }
    if (kind == PassKind::kPrompt) {
      LAMINA_RETURN_IF_ERROR(cache.end_prompt(layer));
      progress->report(layer + 1);
    }
  }
  return x.narrow(0, tokens - 1, 1);
}

double run_bytes(const ModelConfig& config, std::int64_t prompt_tokens, std::int64_t cache_tokens) {
  double values = 0;
  for (const LayerGeometry& g : config.kv) {
    std::int64_t tokens = std::max(prompt_tokens, cache_tokens);
    if (g.window > 0) tokens = std::min(tokens, 2 * (g.window + kMaxChunk));
    values += 2.0 * static_cast<double>(tokens) * g.kv_heads * g.head_dim;
  }
  const double chunk = static_cast<double>(std::min(prompt_tokens, kMaxChunk));
  values += static_cast<double>(prompt_tokens) * config.hidden;
  values +=
      chunk * (3.0 * config.intermediate + 8.0 * config.hidden) + static_cast<double>(config.vocab);
  return values * sizeof(float);
}

}  // namespace lamina
