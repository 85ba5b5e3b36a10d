// SPDX-License-Identifier: Apache-2.0
// The weights behind Transformer; shared by its loader and its forward only.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "engine/model/transformer.h"

namespace lamina {

// Matrices are (out, in); a tensor that the architecture lacks stays undefined.
struct LayerWeights {
  at::Tensor attn_norm;       // (hidden)
  at::Tensor qkv;             // ((heads + 2 kv_heads) * head_dim, hidden): q, k, v stacked
  at::Tensor qkv_bias;        // ((heads + 2 kv_heads) * head_dim)
  at::Tensor q_norm, k_norm;  // (head_dim)
  at::Tensor o;               // (hidden, heads * head_dim)
  at::Tensor post_attn_norm;  // (hidden)
  at::Tensor mlp_norm;        // (hidden)
  at::Tensor gate_up;         // (2 * intermediate, hidden): gate, up stacked
  at::Tensor down;            // (hidden, intermediate)
  at::Tensor post_mlp_norm;   // (hidden)
  std::vector<double> rope_frequencies;  // (head_dim / 2)
  double rope_magnitude = 1;
  int rotary_dim = 0;
  double attention_scale = 1;
};

struct Transformer::State {
  std::shared_ptr<const Checkpoint> checkpoint;
  ModelConfig config;
  at::Tensor embedding;    // (vocab, hidden)
  at::Tensor output;       // (vocab, hidden); the embedding itself where tied
  at::Tensor output_norm;  // (hidden)
  std::vector<LayerWeights> layers;
};

}  // namespace lamina
