// SPDX-License-Identifier: Apache-2.0
// The transformer on LibTorch, piece by piece, for the rooms that measure or change attention. Includes
// ATen: only for .cc files of targets that link LibTorch, never for widgets. All tensors are float32 on
// the CPU. Methods are const and thread-safe; they throw nothing and REQUIRE valid arguments, as checked
// by Model's callers.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/checkpoint.h"

namespace lamina {

// Queries, keys and values of one layer before and after RoPE (q/k norms applied before both).
struct LayerQkv {
  at::Tensor q_pre, q;  // (heads, tokens, head_dim)
  at::Tensor k_pre, k;  // (kv_heads, tokens, head_dim)
  at::Tensor v;         // (kv_heads, tokens, head_dim)
};

class Transformer {
 public:
  // Reads all weights to float32. Errors: kBadInput (unsupported architecture, missing tensor, wrong
  // shape, NaN), kRuntime (memory; checked before it is taken), cancelled.
  static Result<std::shared_ptr<const Transformer>> load(std::shared_ptr<const Checkpoint> checkpoint,
                                                         const JobContext& context);
  ~Transformer();

  const ModelConfig& config() const;

  at::Tensor embed(const std::vector<std::int32_t>& ids) const;  // (tokens, hidden)
  // x: (tokens, hidden) entering the layer; token i stands at position first_position + i.
  LayerQkv qkv(int layer, const at::Tensor& x, std::int64_t first_position) const;
  // Causal attention of q over k, v whose last tokens are q's own; windowed layers see their window
  // only. Never forms a tokens x tokens matrix. -> (heads, q_tokens, head_dim)
  at::Tensor attend(int layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  // (heads, tokens, head_dim) -> (tokens, hidden), before any post-attention norm.
  at::Tensor o_proj(int layer, const at::Tensor& heads) const;
  // x + attention (post-norm applied where the architecture has one), then the MLP with its residual.
  at::Tensor finish_layer(int layer, const at::Tensor& x, const at::Tensor& attention) const;
  at::Tensor logits(const at::Tensor& x) const;  // (tokens, hidden) -> (tokens, vocab)

  // The frequencies w_f of the layer's RoPE in radians per position, float64 (head_dim/2; 0 where a
  // dimension is not rotated), and the magnitude that RoPE multiplies q and k by (1 except yarn).
  std::vector<double> rope_frequencies(int layer) const;
  double rope_magnitude(int layer) const;
  // Scale of q.k before the softmax.
  double attention_scale(int layer) const;

 private:
  struct State;
  explicit Transformer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lamina
