// SPDX-License-Identifier: Apache-2.0
// Running a model: the last logits of a prompt, and generation with an uncompressed cache. No
// LibTorch header is shown. A Model is immutable and may be shared by threads. Without a plan the
// cache holds K and V in float32, so nothing is rounded: its `bytes` and `peak` are what it
// allocates (32 bits a value), while `full_bytes` is the 16-bit cache that plans are compared with
// (spec section 2).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/checkpoint.h"
#include "engine/model/tokenizer.h"

namespace lamina {

class Transformer;

class Model {
 public:
  // Loads weights and, where there is one, the tokenizer.
  static Result<std::shared_ptr<const Model>> load(std::shared_ptr<const Checkpoint> checkpoint,
                                                   const JobContext& context);
  static Result<std::shared_ptr<const Model>> load(const std::filesystem::path& path,
                                                   const JobContext& context);

  const ModelConfig& config() const;
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const Transformer& transformer() const { return *transformer_; }
  // Null where the checkpoint has none; tokenizer_status() says why.
  std::shared_ptr<const Tokenizer> tokenizer() const { return tokenizer_; }
  const Status& tokenizer_status() const { return tokenizer_status_; }

 private:
  Model() = default;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Transformer> transformer_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Status tokenizer_status_;
};

// Non-empty, every id within the vocabulary, with extra_tokens not longer than the context (where
// the checkpoint names one). Errors: kBadInput.
Status check_ids(const ModelConfig& config, const std::vector<std::int32_t>& ids,
                 std::int64_t extra_tokens = 0);

struct TokenLogit {
  std::int32_t id = 0;
  float logit = 0;
};

struct ForwardResult {
  std::int64_t tokens = 0;
  std::vector<TokenLogit> top;  // of the last position, largest first; equal logits by lower id
  double logit_mean = 0;
  double logit_std = 0;  // population
};
// top_n beyond the vocabulary gives the whole of it. Errors: check_ids, kUsage, kRuntime (memory,
// NaN or infinite logits), cancelled.
Result<ForwardResult> forward(const Model& model, const std::vector<std::int32_t>& ids, int top_n,
                              const JobContext& context);

// Temperature, then top-k, then top-p. The same logits and seed give the same token on every
// machine.
struct Sampling {
  double temperature = 0;  // 0 = greedy
  int top_k = 0;           // 0 = all
  double top_p = 1.0;
  std::uint64_t seed = 0;
};

struct GenerateOptions {
  std::int64_t max_new = 64;
  bool ignore_eos = false;  // else an end token stops, as the last of `ids`
  Sampling sampling;
  // Called with every new token and the text it completes; may be empty.
  std::function<void(std::int32_t id, const std::string& text)> on_token;
};

struct LayerCacheInfo {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;  // allocated
  int k_bits = 0;
  int v_bits = 0;
};

struct GenerateResult {
  std::vector<std::int32_t> ids;  // the new ones
  std::string text;
  std::int64_t cache_bytes = 0;       // allocated at the end
  std::int64_t cache_peak = 0;        // the most that was allocated at a time
  std::int64_t cache_full_bytes = 0;  // the uncompressed 16-bit cache of the same tokens
  std::vector<LayerCacheInfo> layers;
  double prefill_tokens_per_s = 0;  // of the prompt, its last logits included
  std::vector<double> decode_ms;    // per new token after the first
};
// The last new token is not run through the model, so the cache ends with ids.size() + new - 1
// tokens. Errors: check_ids (the prompt with max_new must fit the context), kUsage (sampling,
// max_new < 1), kRuntime (memory, NaN or infinite logits), cancelled. What on_token throws comes
// back as kRuntime.
Result<GenerateResult> generate(const Model& model, const std::vector<std::int32_t>& ids,
                                const GenerateOptions& options, const JobContext& context);

}  // namespace lamina
