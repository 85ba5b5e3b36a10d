// SPDX-License-Identifier: Apache-2.0
// Budgets in the units of people who deploy: GPU memory, context length, concurrent requests. What
// weights and activations take is an estimate and labelled so. Pure.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/plan.h"
#include "engine/solve/solve.h"
#include "engine/table/bytes.h"

namespace lamina {

// What of a model the estimates need.
struct ModelSizes {
  std::int64_t weight_bytes = 0;  // as stored in the checkpoint
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate = 0;
  std::int64_t context_length = 0;  // the longest the model was made for; 0: not known
  // Only weight_bytes is known: activations cannot be estimated and count as 0.
  bool weights_only() const {
    return hidden == 0 && vocabulary == 0 && heads == 0 && head_dim == 0 && intermediate == 0;
  }
};
// From the document that `lamina info --json` prints and a project keeps of its checkpoint
// (info_json()): the stored bytes of all tensors, the widest head where layers differ. Errors:
// kBadInput naming `where` and the field.
Result<ModelSizes> model_sizes_from_info(const std::string& info_json, const std::string& where);

struct MemoryRequest {
  std::int64_t gpu_bytes = 0;
  std::int64_t context = 0;      // tokens of one request, prompt and answer
  std::int64_t concurrency = 1;  // requests at a time
};

// Activations of one prefill of `context` tokens in 16 bit, one request prefilling at a time:
// the prompt's hidden states twice (input and output of a layer), queries, keys, values and
// attention output of the widest layer, gate and up projection of the MLP for a chunk of 2048
// tokens, and float32 logits of one position of every request. An estimate; 0 for a model of which
// only the weights are known. Errors: kBadInput for sizes that are not positive or overflow, kUsage
// for a context or concurrency below 1.
Result<std::int64_t> estimate_activations(const ModelSizes& model, const Geometry& geometry,
                                          const MemoryRequest& request);

struct MemoryBudget {
  std::int64_t gpu_bytes = 0;
  std::int64_t weights = 0;      // estimate
  std::int64_t activations = 0;  // estimate
  std::int64_t cache = 0;        // what is left for all requests' caches
  std::int64_t per_request = 0;  // cache / concurrency: the peak that one request may have
};
// Errors: kRefused where weights and activations leave no byte per request, naming the figures;
// kUsage for GPU memory, a context or a concurrency below 1; kBadInput as estimate_activations().
Result<MemoryBudget> memory_budget(const ModelSizes& model, const Geometry& geometry,
                                   const MemoryRequest& request);

// Peak bytes (actual + eviction slack, spec section 8) of one request under these recipes in a
// cache of t_cache tokens. Errors: kBadInput.
Result<std::int64_t> plan_peak_bytes(const Geometry& geometry, std::int64_t t_cache,
                                     const std::vector<LayerConfig>& layers,
                                     std::int64_t evict_every, const StorageOptions& storage);

// The largest budget found, in bytes of the problem's kind, whose plan by `method` has a peak (of a
// cache evicted as plans are by default) within `peak_bytes`: from above, budgets that are too
// large are cut by what they exceed until one fits, then the gap above it is halved down to 64
// bytes. Errors: kRefused where no plan's peak fits, naming the smallest peak found; those of
// Problem::solve() and plan_peak_bytes().
Result<std::int64_t> budget_for_peak(const Problem& problem, const Method& method,
                                     std::int64_t peak_bytes, std::stop_token stop = {});

// And back. The most requests of `context` tokens under these recipes: 0 where not one fits.
Result<std::int64_t> most_requests(const ModelSizes& model, const Geometry& geometry,
                                   const std::vector<LayerConfig>& layers, std::int64_t evict_every,
                                   const StorageOptions& storage, std::int64_t gpu_bytes,
                                   std::int64_t context);
// The longest context at `concurrency` requests under these recipes (their keep stays the same
// share of it): 0 where not one token fits; at most `longest` (the model's own context).
Result<std::int64_t> longest_context(const ModelSizes& model, const Geometry& geometry,
                                     const std::vector<LayerConfig>& layers,
                                     std::int64_t evict_every, const StorageOptions& storage,
                                     std::int64_t gpu_bytes, std::int64_t concurrency,
                                     std::int64_t longest);

}  // namespace lamina
