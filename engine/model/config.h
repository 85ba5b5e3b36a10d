// SPDX-License-Identifier: Apache-2.0
// The hyper-parameters of a transformer, the same whether they came from GGUF metadata or config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/bytes.h"

namespace lamina {

enum class RopeScaling : int { kNone = 0, kLinear = 1, kLlama3 = 2, kYarn = 3 };

// Rotary embedding of one layer kind. Pairs are (f, f + rotary_dim/2), the "rotate half" convention.
struct RopeConfig {
  double theta = 10000.0;
  int rotary_dim = 0;  // <= head_dim; the other dimensions are not rotated
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0;   // llama3
  double high_freq_factor = 4.0;  // llama3
  std::int64_t original_context = 0;
  double beta_fast = 32.0;       // yarn
  double beta_slow = 1.0;        // yarn
  double attention_factor = 0;   // yarn magnitude; 0 = 0.1 ln(factor) + 1
  // GGUF `rope_freqs.weight`: divides the frequencies; empty where absent. (rotary_dim / 2)
  std::vector<float> freq_divisors;
  bool operator==(const RopeConfig&) const = default;
};

// Where a checkpoint's files end too early. Ordered: each includes what the ones before it lack.
enum class Cut : int {
  kNone = 0,       // they are whole
  kData = 1,       // the data of some tensors are missing
  kDirectory = 2,  // a part of the list of tensors too
  kMetadata = 3    // a part of the hyper-parameters too
};

// Of a checkpoint that is cut inside its header, what has not been read is negative (numbers and
// sizes) or empty.
struct ModelConfig {
  std::string name;          // the file's own name for the model, else the file name
  std::string architecture;  // "llama", "qwen2", "qwen3", "gemma3"; others are listed, not run
  bool supported = false;    // the engine can run it; false where a cut header hides whether
  std::string unsupported_reason;  // e.g. "experts", where supported is false
  int layers = 0;
  int hidden = 0;
  int intermediate = 0;
  int heads = 0;
  std::int64_t vocab = 0;
  std::int64_t context_length = 0;
  double norm_eps = 1e-5;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool qk_norm = false;
  bool post_norms = false;              // gemma3: norms after attention and after the MLP
  bool norm_plus_one = false;           // gemma (HF files): weight + 1; GGUF stores it already added
  bool gelu_tanh = false;               // gemma: gelu(tanh) instead of silu
  double embedding_scale = 1.0;         // gemma: sqrt(hidden)
  double attention_scale = 0;           // 0 = 1/sqrt(head_dim)
  double final_logit_softcap = 0;       // 0 = none
  std::vector<LayerGeometry> kv;        // (layers)
  // Values cached per token and layer, where that is not 2 * kv_heads * head_dim: multi-head latent
  // attention caches one latent vector, shown as one KV head of its width. Empty: the usual number.
  std::vector<std::int64_t> kv_values;  // (layers)
  RopeConfig rope;                      // of global layers
  RopeConfig rope_local;                // of windowed layers (gemma3); equal to `rope` elsewhere
  std::int32_t bos_id = -1;
  std::vector<std::int32_t> eos_ids;
  bool add_bos = false;
  std::string tokenizer;  // kind: "bpe:smollm", "spm", "tokenizer.json", "none"

  // Bytes of K and V of one token in 16 bit, all layers; -1 where a size is not known.
  std::int64_t kv_bytes_per_token() const;
  int head_dim(int layer) const { return kv[layer].head_dim; }
};

}  // namespace lamina
