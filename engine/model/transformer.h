// SPDX-License-Identifier: Apache-2.0
// The transformer on LibTorch, piece by piece, for the rooms that measure or change attention.
// Includes ATen: only for .cc files of targets that link LibTorch, never for widgets. All tensors
// are float32 on the CPU. Methods are const and thread-safe and REQUIRE valid arguments, as checked
// by Model's callers. They throw only where memory runs out (c10::Error): a public function that
// calls them does so inside guarded() of torch_scope.h.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/checkpoint.h"

namespace lamina {

// Queries, keys and values of one layer before and after RoPE (q/k norms applied before both). The
// last stride is 1; the others need not be those of a contiguous tensor.
struct LayerQkv {
  at::Tensor q_pre, q;  // (heads, tokens, head_dim)
  at::Tensor k_pre, k;  // (kv_heads, tokens, head_dim)
  at::Tensor v;         // (kv_heads, tokens, head_dim)
};

// A decoder of the Llama family: x += attention(norm(x)); x += mlp(norm(x)), with RMSNorm (arXiv
// 1910.07467), rotary positions (rope.h names the papers), grouped-query attention (arXiv
// 2305.13245) and a gated MLP (SwiGLU or GEGLU, arXiv 2002.05202). Architectures and what they add:
//   llama   Llama 2 and 3 (arXiv 2307.09288, 2407.21783), SmolLM2 (arXiv 2502.02737), Mistral with
//   its
//           sliding window (arXiv 2310.06825)
//   qwen2   biases on q, k, v (arXiv 2407.10671); a sliding window on the upper layers
//   qwen3   RMSNorm over each head of q and k before RoPE (arXiv 2505.09388)
//   gemma3  the same norms, five windowed layers with their own RoPE for each global one, norms
//   after
//           attention and MLP too, embeddings scaled by sqrt(hidden), gelu(tanh) (arXiv 2503.19786)
class Transformer {
 public:
  // Reads all weights to float32 with progress "loading tensors". Errors: kBadInput (unsupported
  // architecture, missing tensor, wrong shape, NaN), kRuntime (memory; checked before it is taken),
  // cancelled.
  static Result<std::shared_ptr<const Transformer>> load(
      std::shared_ptr<const Checkpoint> checkpoint, const JobContext& context);
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
  // x + attention (post-norm applied where the architecture has one), then the MLP with its
  // residual.
  at::Tensor finish_layer(int layer, const at::Tensor& x, const at::Tensor& attention) const;
  at::Tensor logits(const at::Tensor& x) const;  // (tokens, hidden) -> (tokens, vocab)

  // Multiply-adds of one token in the layer's matrix products, attention not counted: what chunk
  // sizes are chosen by.
  std::int64_t layer_parameters(int layer) const;

  // The frequencies w_f of the layer's RoPE in radians per position, float64 (head_dim/2). Pair f
  // is (x[f], x[f + rotary_dim/2]) for f < rotary_dim/2; the other entries are 0. rope_magnitude:
  // what RoPE multiplies q and k by (1 except yarn).
  std::vector<double> rope_frequencies(int layer) const;
  double rope_magnitude(int layer) const;
  // Scale of q.k before the softmax.
  double attention_scale(int layer) const;

 private:
  struct State;
  friend class TransformerLoader;
  explicit Transformer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lamina
