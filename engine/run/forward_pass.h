// SPDX-License-Identifier: Apache-2.0
// Runs tokens through all layers over a cache: the one path of prefill, of an appended prompt and
// of decoding. Includes ATen: only for .cc files of targets that link LibTorch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/kv_interface.h"

namespace lamina {

enum class PassKind {
  kPrompt,    // many tokens: progress "prefill" in layers, end_prompt() for each layer
  kGenerated  // a token that was generated: silent
};

// The hidden state of the last token after the last layer, (1, hidden). Layer by layer over all
// tokens (spec section 8); inside a layer in chunks that are small enough to be cancelled within
// 0.2 s, so that besides the cache only the hidden states of the prompt and one chunk's temporaries
// are held. REQUIRES ids that check_ids() accepted. Throws c10::Error where memory runs out: call
// inside guarded(). Errors: cancelled, and those of the cache.
Result<at::Tensor> run_tokens(const Transformer& transformer, const std::vector<std::int32_t>& ids,
                              std::int64_t first_position, KvCache& cache, PassKind kind,
                              const JobContext& context);

// Memory of a float32 cache for `cache_tokens` and of a prompt of `prompt_tokens` in flight.
double run_bytes(const ModelConfig& config, std::int64_t prompt_tokens, std::int64_t cache_tokens);

}  // namespace lamina
