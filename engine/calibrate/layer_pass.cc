// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/layer_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/quantize.h"

namespace lamina {
namespace {

// Tokens per piece: the layer's matrices take about 0.05 s on two cores; at least 16, below which
// the products lose their speed.
std::int64_t piece_tokens(const Transformer& transformer, int layer) {
  const auto per_token = static_cast<double>(transformer.layer_parameters(layer));
  return static_cast<std::int64_t>(std::clamp(1e9 / per_token, 16.0, 512.0));
}

Status check_plane(const at::Tensor& plane, const char* name, int layer) {
  const at::Tensor values = plane.contiguous();  // (kv_heads, tokens, head_dim)
  const std::int64_t at = kernels::find_non_finite(values.const_data_ptr<float>(), values.numel());
  if (at < 0) return Status::ok();
  const std::int64_t token = at / values.size(2);
  return Status::bad_input(
      fmt::format("{} holds a value that is not finite", name),
      fmt::format("layer {}, head {}, token {}", layer, token / values.size(1),
                  token % values.size(1)),
      "the checkpoint or the prompt makes this model overflow; check the file with `lamina info`");
}

}  // namespace

Result<LayerQkv> layer_qkv(const Transformer& transformer, int layer, const at::Tensor& x,
                           const JobContext& context) {
  const std::int64_t tokens = x.size(0), step = piece_tokens(transformer, layer);
  std::vector<at::Tensor> q_pre, q, k_pre, k, v;
  for (std::int64_t begin = 0; begin < tokens; begin += step) {
    if (context.stop_requested()) return Status::cancelled();
    const LayerQkv piece = transformer.qkv(layer, x.slice(0, begin, begin + step), begin);
    q_pre.push_back(piece.q_pre);
    q.push_back(piece.q);
    k_pre.push_back(piece.k_pre);
    k.push_back(piece.k);
    v.push_back(piece.v);
  }
  return LayerQkv{at::cat(q_pre, 1), at::cat(q, 1), at::cat(k_pre, 1), at::cat(k, 1),
                  at::cat(v, 1)};
}

Result<at::Tensor> finish_layer(const Transformer& transformer, int layer, const at::Tensor& x,
                                const LayerQkv& qkv, const JobContext& context) {
  const std::int64_t tokens = x.size(0), step = piece_tokens(transformer, layer);
  at::Tensor out = at::empty_like(x);
  for (std::int64_t begin = 0; begin < tokens; begin += step) {
    const std::int64_t end = std::min(begin + step, tokens);
    if (context.stop_requested()) return Status::cancelled();
    const at::Tensor heads = transformer.attend(layer, qkv.q.slice(1, begin, end),
                                                qkv.k.slice(1, 0, end), qkv.v.slice(1, 0, end));
    const at::Tensor attention = transformer.o_proj(layer, heads);
    if (context.stop_requested()) return Status::cancelled();
    out.slice(0, begin, end)
        .copy_(transformer.finish_layer(layer, x.slice(0, begin, end), attention));
  }
  return out;
}

Status check_finite(const LayerQkv& qkv, int layer) {
  LAMINA_RETURN_IF_ERROR(check_plane(qkv.k, "K", layer));
  return check_plane(qkv.v, "V", layer);
}

}  // namespace lamina
