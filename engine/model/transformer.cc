// SPDX-License-Identifier: Apache-2.0
#include "engine/model/transformer.h"

#include <utility>

#include "engine/model/attention.h"
#include "engine/model/rope.h"
#include "engine/model/transformer_state.h"

namespace lamina {
namespace {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return at::rms_norm(x, weight.sizes(), weight, eps);
}

}  // namespace

Transformer::Transformer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transformer::~Transformer() = default;

const ModelConfig& Transformer::config() const { return state_->config; }

at::Tensor Transformer::embed(const std::vector<std::int32_t>& ids) const {
  const at::Tensor index = at::empty({static_cast<std::int64_t>(ids.size())}, at::kInt);
  std::copy(ids.begin(), ids.end(), index.data_ptr<std::int32_t>());
  at::Tensor x = at::index_select(state_->embedding, 0, index);
  if (config().embedding_scale != 1.0) x.mul_(static_cast<float>(config().embedding_scale));
  return x;
}

LayerQkv Transformer::qkv(int layer, const at::Tensor& x, std::int64_t first_position) const {
  const LayerWeights& w = state_->layers[layer];
  const std::int64_t heads = config().heads, kv_heads = config().kv[layer].kv_heads;
  const std::int64_t head_dim = config().kv[layer].head_dim, tokens = x.size(0);
  const at::Tensor normed = rms_norm(x, w.attn_norm, config().norm_eps);
  // (tokens, heads + 2 kv_heads, head_dim) seen as (heads + 2 kv_heads, tokens, head_dim)
  const at::Tensor all =
      (w.qkv_bias.defined() ? at::linear(normed, w.qkv, w.qkv_bias) : at::linear(normed, w.qkv))
          .view({tokens, heads + 2 * kv_heads, head_dim})
          .transpose(0, 1);
  at::Tensor pre = all.narrow(0, 0, heads + kv_heads);  // q and k are rotated in one go
  if (w.q_norm.defined()) {
    pre = at::cat({rms_norm(all.narrow(0, 0, heads), w.q_norm, config().norm_eps),
                   rms_norm(all.narrow(0, heads, kv_heads), w.k_norm, config().norm_eps)});
  }
  const RopeTable table =
      rope_table(w.rope_frequencies, w.rotary_dim, w.rope_magnitude, first_position, tokens);
  const at::Tensor rotated = apply_rope(pre, table);
  LayerQkv out;
  out.q_pre = pre.narrow(0, 0, heads);
  out.k_pre = pre.narrow(0, heads, kv_heads);
  out.q = rotated.narrow(0, 0, heads);
  out.k = rotated.narrow(0, heads, kv_heads);
  out.v = all.narrow(0, heads + kv_heads, kv_heads);
  return out;
}

at::Tensor Transformer::attend(int layer, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v) const {
  return causal_attention(q, k, v, attention_scale(layer), config().kv[layer].window);
}

at::Tensor Transformer::o_proj(int layer, const at::Tensor& heads) const {
  const std::int64_t tokens = heads.size(1);
  return at::linear(heads.transpose(0, 1).reshape({tokens, heads.size(0) * heads.size(2)}),
                    state_->layers[layer].o);
}

at::Tensor Transformer::finish_layer(int layer, const at::Tensor& x,
                                     const at::Tensor& attention) const {
  const LayerWeights& w = state_->layers[layer];
  const double eps = config().norm_eps;
  const at::Tensor middle =
      x + (w.post_attn_norm.defined() ? rms_norm(attention, w.post_attn_norm, eps) : attention);
  const at::Tensor gate_up = at::linear(rms_norm(middle, w.mlp_norm, eps), w.gate_up);
  const at::Tensor gate = gate_up.narrow(1, 0, config().intermediate);
  const at::Tensor up = gate_up.narrow(1, config().intermediate, config().intermediate);
  at::Tensor inner = config().gelu_tanh ? at::gelu(gate, "tanh") : at::silu(gate);
  at::Tensor mlp = at::linear(inner.mul_(up), w.down);
  if (w.post_mlp_norm.defined()) mlp = rms_norm(mlp, w.post_mlp_norm, eps);
  return mlp.add_(middle);
}

at::Tensor Transformer::logits(const at::Tensor& x) const {
  at::Tensor out = at::linear(rms_norm(x, state_->output_norm, config().norm_eps), state_->output);
  const double cap = config().final_logit_softcap;
  if (cap > 0) out = out.div_(cap).tanh_().mul_(cap);
  return out;
}

std::int64_t Transformer::layer_parameters(int layer) const {
  const LayerWeights& w = state_->layers[layer];
  return w.qkv.numel() + w.o.numel() + w.gate_up.numel() + w.down.numel();
}

std::vector<double> Transformer::rope_frequencies(int layer) const {
  return state_->layers[layer].rope_frequencies;
}

double Transformer::rope_magnitude(int layer) const { return state_->layers[layer].rope_magnitude; }

double Transformer::attention_scale(int layer) const {
  return state_->layers[layer].attention_scale;
}

}  // namespace lamina
