// SPDX-License-Identifier: Apache-2.0
#include "engine/model/full_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/torch_scope.h"

namespace lamina {
namespace {

// The held tokens at the front of a buffer of `capacity` tokens. A new buffer is made even where
// the old one is large enough: source and target of a move within one buffer could overlap.
at::Tensor moved(const at::Tensor& buffer, std::int64_t begin, std::int64_t held,
                 std::int64_t capacity) {
  at::Tensor out = at::empty({buffer.size(0), capacity, buffer.size(2)}, buffer.options());
  out.narrow(1, 0, held).copy_(buffer.narrow(1, begin, held));
  return out;
}

}  // namespace

FullCache::FullCache(const Transformer* transformer, std::int64_t expected_tokens)
    : transformer_(transformer),
      expected_tokens_(expected_tokens),
      layers_(transformer->config().layers) {}

void FullCache::make_room(Layer& layer, const LayerQkv& qkv, std::int64_t window) const {
  const std::int64_t tokens = qkv.k.size(1);
  if (!layer.k.defined()) {
    std::int64_t capacity = std::max(expected_tokens_, tokens);
    if (window > 0) capacity = std::min(capacity, 2 * std::max(window, tokens));
    layer.k = at::empty({qkv.k.size(0), capacity, qkv.k.size(2)}, qkv.k.options());
    layer.v = at::empty_like(layer.k);
  }
  const std::int64_t capacity = layer.k.size(1);
  if (layer.end + tokens <= capacity) return;
  const std::int64_t held = layer.end - layer.begin;
  // At least half of the new buffer is free, so that a move is paid by as many tokens that follow.
  const std::int64_t wanted = std::max(capacity, 2 * (held + tokens));
  layer.k = moved(layer.k, layer.begin, held, wanted);
  layer.v = moved(layer.v, layer.begin, held, wanted);
  layer.begin = 0;
  layer.end = held;
}

Result<at::Tensor> FullCache::attend(int layer_index, const LayerQkv& qkv,
                                     std::int64_t first_position) {
  const std::string where = fmt::format("layer {}", layer_index);
  return guarded(where, [&]() -> Result<at::Tensor> {
    Layer& layer = layers_[layer_index];
    if (first_position != layer.next_position) {
      return Status::runtime(fmt::format("token {} was given to a cache that expects token {}",
                                         first_position, layer.next_position),
                             where, "give each layer the tokens in their order");
    }
    const std::int64_t window = transformer_->config().kv[layer_index].window;
    const std::int64_t tokens = qkv.k.size(1);
    make_room(layer, qkv, window);
    layer.k.narrow(1, layer.end, tokens).copy_(qkv.k);
    layer.v.narrow(1, layer.end, tokens).copy_(qkv.v);
    layer.end += tokens;
    layer.next_position += tokens;
    const std::int64_t held = layer.end - layer.begin;
    at::Tensor out = transformer_->attend(layer_index, qkv.q, layer.k.narrow(1, layer.begin, held),
                                          layer.v.narrow(1, layer.begin, held));
    if (window > 0) layer.begin = std::max(layer.begin, layer.end - window);
    return out;
  });
}

Status FullCache::end_prompt(int) { return Status::ok(); }

KvLayerUse FullCache::use(int layer_index) const {
  const Layer& layer = layers_[layer_index];
  KvLayerUse use;
  use.k_bits = use.v_bits = 32;
  if (!layer.k.defined()) return use;
  use.tokens = layer.end - layer.begin;
  use.bytes = 2 * layer.k.numel() * static_cast<std::int64_t>(sizeof(float));
  return use;
}

}  // namespace lamina
