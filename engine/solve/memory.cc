// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/integer.h"
#include "engine/base/json.h"
#include "engine/solve/problem_state.h"

namespace lamina {
namespace {

constexpr std::int64_t kMlpChunk = 2048;  // tokens
constexpr std::int64_t kHalf = 2;         // bytes of a 16-bit value
constexpr std::int64_t kSingle = 4;       // bytes of a float32
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
constexpr std::int64_t kMaxWeights = std::int64_t{1} << 60;
constexpr std::int64_t kBudgetStep = 64;  // where halving the gap between two budgets stops

Status too_large() {
  return Status::bad_input("the memory exceeds 64-bit integers", "memory estimate",
                           "the model's sizes are damaged, or the context is far too long");
}

// The activations' bytes are shared + requests * per_request.
struct Activations {
  Int128 shared = 0;
  Int128 per_request = 0;
};

Status check_sizes(const ModelSizes& model) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"hidden", model.hidden},
                                                        {"vocabulary", model.vocabulary},
                                                        {"heads", model.heads},
                                                        {"head_dim", model.head_dim},
                                                        {"intermediate", model.intermediate}};
  for (const auto& [name, size] : sizes) {
    if (!model.weights_only() && (size < 1 || size > kMaxSize)) {
      return Status::bad_input(fmt::format("{} is {}", name, size), "model sizes",
                               fmt::format("it lies from 1 to {}", kMaxSize));
    }
  }
  if (model.weight_bytes < 0 || model.weight_bytes > kMaxWeights) {
    return Status::bad_input(fmt::format("the weights take {} bytes", model.weight_bytes),
                             "model sizes", "give the bytes of the weights as they are stored");
  }
  return Status::ok();
}

// REQUIRES a valid geometry and context from 1 to kMaxTokens. Errors as estimate_activations().
Result<Activations> activations_of(const ModelSizes& model, const Geometry& geometry,
                                   std::int64_t context) {
  LAMINA_RETURN_IF_ERROR(check_sizes(model));
  Activations out;
  if (model.weights_only()) return out;
  std::int64_t kv_width = 0;
  for (const LayerGeometry& layer : geometry.layers) {
    kv_width = std::max(kv_width, std::int64_t{layer.kv_heads} * layer.head_dim);
  }
  // Widths up to 2^82 values a token.
  const Int128 width =
      Int128{2} * model.hidden + Int128{2} * model.heads * model.head_dim + Int128{2} * kv_width;
  const std::optional<Int128> prompt = checked_mul(width * kHalf, context);
  if (!prompt) return too_large();
  out.shared = *prompt + Int128{2} * model.intermediate * std::min(context, kMlpChunk) * kHalf;
  out.per_request = Int128{model.vocabulary} * kSingle;
  return out;
}

Status check_request(std::int64_t context, std::int64_t concurrency) {
  if (context < 1 || context > kMaxTokens) {
    return Status::usage(fmt::format("the context is {} tokens", context), "context",
                         fmt::format("it lies from 1 to {}", kMaxTokens));
  }
  if (concurrency < 1) {
    return Status::usage(fmt::format("{} requests at a time", concurrency), "concurrency",
                         "ask for at least one");
  }
  return Status::ok();
}

Status check_gpu(std::int64_t gpu_bytes) {
  if (gpu_bytes >= 1) return Status::ok();
  return Status::usage(fmt::format("the GPU has {} bytes", gpu_bytes), "GPU memory",
                       "write 24GiB or 80GB");
}

Result<std::int64_t> positive(const Json& info, const char* key, const std::string& where) {
  return json_int(info, key, where, 1, kMaxWeights);
}

// Bytes of all requests' caches that `gpu_bytes` leave beside the weights, and what one request
// needs of them: its cache and its share of the activations.
struct Room {
  Int128 left = 0;
  Int128 per_request = 0;
};

Result<Room> room_for(const ModelSizes& model, const Geometry& geometry,
                      const std::vector<LayerConfig>& layers, std::int64_t evict_every,
                      const StorageOptions& storage, std::int64_t gpu_bytes, std::int64_t context) {
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t peak,
                          plan_peak_bytes(geometry, context, layers, evict_every, storage));
  LAMINA_ASSIGN_OR_RETURN(const Activations activations, activations_of(model, geometry, context));
  return Room{Int128{gpu_bytes} - model.weight_bytes - activations.shared,
              Int128{peak} + activations.per_request};
}

}  // namespace

Result<ModelSizes> model_sizes_from_info(const std::string& info_json, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json info, parse_json(info_json, where));
  ModelSizes out;
  LAMINA_ASSIGN_OR_RETURN(out.weight_bytes, positive(info, "tensor_bytes", where));
  LAMINA_ASSIGN_OR_RETURN(out.hidden, positive(info, "hidden", where));
  LAMINA_ASSIGN_OR_RETURN(out.vocabulary, positive(info, "vocab", where));
  LAMINA_ASSIGN_OR_RETURN(out.heads, positive(info, "heads", where));
  LAMINA_ASSIGN_OR_RETURN(out.intermediate, positive(info, "intermediate", where));
  LAMINA_ASSIGN_OR_RETURN(out.context_length,
                          json_int(info, "context_length", where, 0, kMaxTokens));
  LAMINA_ASSIGN_OR_RETURN(const Json* head_dims, json_member(info, "head_dim", where));
  if (!head_dims->is_array() || head_dims->empty()) {
    return Status::bad_input("'head_dim' must be a list of one number a layer", where,
                             "calibrate again: the project's record of the model is damaged");
  }
  for (const Json& item : *head_dims) {
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t head_dim,
                            json_to_int(item, where + ": head_dim", 1, kMaxSize));
    out.head_dim = std::max(out.head_dim, head_dim);
  }
  LAMINA_RETURN_IF_ERROR(check_sizes(out));
  return out;
}

Result<std::int64_t> estimate_activations(const ModelSizes& model, const Geometry& geometry,
                                          const MemoryRequest& request) {
  LAMINA_RETURN_IF_ERROR(geometry.validate("memory estimate"));
  LAMINA_RETURN_IF_ERROR(check_request(request.context, request.concurrency));
  LAMINA_ASSIGN_OR_RETURN(const Activations parts,
                          activations_of(model, geometry, request.context));
  const std::optional<Int128> logits = checked_mul(parts.per_request, request.concurrency);
  const std::optional<std::int64_t> sum = logits && narrow(*logits) && narrow(parts.shared)
                                              ? narrow(parts.shared + *logits)
                                              : std::nullopt;
  if (!sum) return too_large();
  return *sum;
}

Result<MemoryBudget> memory_budget(const ModelSizes& model, const Geometry& geometry,
                                   const MemoryRequest& request) {
  LAMINA_RETURN_IF_ERROR(check_gpu(request.gpu_bytes));
  MemoryBudget out;
  out.gpu_bytes = request.gpu_bytes;
  out.weights = model.weight_bytes;
  LAMINA_ASSIGN_OR_RETURN(out.activations, estimate_activations(model, geometry, request));
  const std::optional<std::int64_t> left =
      narrow(Int128{request.gpu_bytes} - out.weights - out.activations);
  if (!left || *left < request.concurrency) {
    return Status::refused(
        fmt::format("{} of GPU memory hold no cache for {} requests of {} tokens",
                    spell_bytes(request.gpu_bytes), request.concurrency, request.context),
        fmt::format("weights {}, activations {}, both estimates", spell_bytes(out.weights),
                    spell_bytes(out.activations)),
        "take a larger GPU, fewer requests or a shorter context");
  }
  out.cache = *left;
  out.per_request = *left / request.concurrency;
  return out;
}

Result<std::int64_t> plan_peak_bytes(const Geometry& geometry, std::int64_t t_cache,
                                     const std::vector<LayerConfig>& layers,
                                     std::int64_t evict_every, const StorageOptions& storage) {
  Geometry sized = geometry;
  sized.t_cache = t_cache;
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t slack,
                          peak_slack_bytes(sized, layers, evict_every, storage));
  Int128 peak = slack;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::int64_t tokens = n_keep(layers[l].keep, sized.layer_tokens(static_cast<int>(l)));
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t bytes,
                            actual_layer_bytes(sized.layers[l], layers[l], tokens, storage));
    peak += bytes;
  }
  const std::optional<std::int64_t> out = narrow(peak);
  if (!out) return too_large();
  return *out;
}

namespace {

// One try of the search for a budget.
struct Trial {
  bool feasible = false;  // the method has a plan
  std::int64_t used = 0;  // its bytes, of the problem's kind
  std::int64_t peak = 0;
};

class PeakSearch {
 public:
  PeakSearch(const Problem& problem, const Method& method, std::int64_t peak_bytes,
             std::stop_token stop)
      : problem_(problem), method_(method), wanted_(peak_bytes), stop_(std::move(stop)) {}

  Result<std::int64_t> run() {
    std::int64_t above = wanted_;  // a budget whose plan is too large, or the first one to try
    LAMINA_ASSIGN_OR_RETURN(Trial trial, attempt(above));
    if (fits(trial)) return above;
    if (!trial.feasible) {
      // Nothing that small exists. The dearest budget tells a method that is ruled out, whose
      // refusal stands, from one whose smallest plan is to be named.
      above = dearest_bytes();
      LAMINA_ASSIGN_OR_RETURN(trial, attempt(above));
      if (!trial.feasible) return refusal_;
    }
    std::int64_t below = 0;  // the last budget that is feasible and fits, or not feasible
    bool found = false;
    for (int round = 0; above - below > (found ? kBudgetStep : 1); ++round) {
      // Cutting off the excess lands near the answer at once; halving ends the search.
      std::int64_t next = below + (above - below) / 2;
      if (!found && round < kCuts && trial.feasible) {
        next = std::clamp(trial.used - (trial.peak - wanted_), below + 1, above - 1);
      }
      LAMINA_ASSIGN_OR_RETURN(trial, attempt(next));
      if (fits(trial)) {
        found = true;
        below = next;
      } else if (!trial.feasible) {
        below = next;
      } else {
        above = std::clamp(trial.used, below + 1, next);
      }
    }
    if (found) return below;
    return Status::refused(
        fmt::format("no plan's peak fits {}", spell_bytes(wanted_)),
        fmt::format("{}, peak = actual bytes and the slack between evictions", to_string(method_)),
        fmt::format("the smallest peak found is {}", spell_bytes(smallest_peak_)));
  }

 private:
  static constexpr int kCuts = 6;

  bool fits(const Trial& trial) const { return trial.feasible && trial.peak <= wanted_; }

  // Every layer at its dearest configuration, in whole bytes.
  std::int64_t dearest_bytes() const {
    const CostTable& costs = problem_.costs();
    std::int64_t units = 0;
    for (int l = 0; l < costs.layers; ++l) {
      const auto row = costs.units.begin() + std::ptrdiff_t{l} * costs.configs;
      units += *std::max_element(row, row + costs.configs);
    }
    return static_cast<std::int64_t>(ceil_div(units, costs.denominator));
  }

  Result<Trial> attempt(std::int64_t budget) {
    Result<Solution> solved = problem_.solve(method_, budget, stop_);
    if (!solved) {
      if (solved.status().kind() != ErrorKind::kRefused) return solved.status();
      refusal_ = solved.status();
      return Trial{};
    }
    const Geometry& geometry = problem_.table().geometry;
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t peak,
                            plan_peak_bytes(geometry, geometry.t_cache, solved->layers,
                                            Plan{}.evict_every, problem_.table().storage()));
    if (smallest_peak_ == 0 || peak < smallest_peak_) smallest_peak_ = peak;
    return Trial{true, static_cast<std::int64_t>(std::ceil(solved->used_bytes)), peak};
  }

  const Problem& problem_;
  const Method& method_;
  const std::int64_t wanted_;
  std::stop_token stop_;
  Status refusal_;
  std::int64_t smallest_peak_ = 0;
};

}  // namespace

Result<std::int64_t> budget_for_peak(const Problem& problem, const Method& method,
                                     std::int64_t peak_bytes, std::stop_token stop) {
  return PeakSearch(problem, method, peak_bytes, std::move(stop)).run();
}

Result<std::int64_t> most_requests(const ModelSizes& model, const Geometry& geometry,
                                   const std::vector<LayerConfig>& layers, std::int64_t evict_every,
                                   const StorageOptions& storage, std::int64_t gpu_bytes,
                                   std::int64_t context) {
  LAMINA_RETURN_IF_ERROR(check_gpu(gpu_bytes));
  LAMINA_RETURN_IF_ERROR(check_request(context, 1));
  LAMINA_ASSIGN_OR_RETURN(
      const Room room, room_for(model, geometry, layers, evict_every, storage, gpu_bytes, context));
  if (room.left < 0) return std::int64_t{0};
  return static_cast<std::int64_t>(room.left / room.per_request);
}

Result<std::int64_t> longest_context(const ModelSizes& model, const Geometry& geometry,
                                     const std::vector<LayerConfig>& layers,
                                     std::int64_t evict_every, const StorageOptions& storage,
                                     std::int64_t gpu_bytes, std::int64_t concurrency,
                                     std::int64_t longest) {
  LAMINA_RETURN_IF_ERROR(check_gpu(gpu_bytes));
  LAMINA_RETURN_IF_ERROR(check_request(longest, concurrency));
  std::int64_t low = 0;  // fits
  std::int64_t high = longest + 1;
  while (high - low > 1) {
    const std::int64_t context = low + (high - low) / 2;
    LAMINA_ASSIGN_OR_RETURN(const Room room, room_for(model, geometry, layers, evict_every, storage,
                                                      gpu_bytes, context));
    const std::optional<Int128> need = checked_mul(room.per_request, concurrency);
    (need && *need <= room.left ? low : high) = context;
  }
  return low;
}

}  // namespace lamina
