// SPDX-License-Identifier: Apache-2.0
#include "engine/run/generate.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/model/full_cache.h"
#include "engine/model/torch_scope.h"
#include "engine/model/transformer.h"
#include "engine/run/forward_pass.h"
#include "engine/run/logits.h"
#include "engine/run/sampler.h"
#include "engine/table/bytes.h"

namespace lamina {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The 16-bit cache of `tokens` tokens (spec section 2).
Result<std::int64_t> full_cache_bytes(const ModelConfig& config, std::int64_t tokens) {
  const Geometry geometry{tokens, config.kv};
  LAMINA_ASSIGN_OR_RETURN(
      const CostTable costs,
      make_cost_table(geometry, ConfigGrid::default_grid(), BytesKind::kActual, StorageOptions{}));
  return costs.full();
}

// One sequence on its way through the model.
class Generation {
 public:
  Generation(const Model& model, const GenerateOptions& options, const JobContext& context,
             std::int64_t expected_tokens)
      : model_(model),
        options_(options),
        context_(context),
        cache_(&model.transformer(), expected_tokens),
        sampler_(options.sampling) {
    if (model.tokenizer()) decoder_.emplace(model.tokenizer());
  }

  Result<GenerateResult> run(const std::vector<std::int32_t>& ids) {
    const Clock::time_point start = Clock::now();
    LAMINA_ASSIGN_OR_RETURN(std::int32_t next, step(ids, PassKind::kPrompt));
    result_.prefill_tokens_per_s = static_cast<double>(ids.size()) / seconds_since(start);
    while (!take(next)) {
      const Clock::time_point token_start = Clock::now();
      LAMINA_ASSIGN_OR_RETURN(next, step({next}, PassKind::kGenerated));
      result_.decode_ms.push_back(1e3 * seconds_since(token_start));
    }
    if (decoder_) result_.text += decoder_->finish();
    LAMINA_RETURN_IF_ERROR(account());
    return std::move(result_);
  }

 private:
  // Runs tokens and chooses the one that follows them.
  Result<std::int32_t> step(const std::vector<std::int32_t>& ids, PassKind kind) {
    const Transformer& transformer = model_.transformer();
    LAMINA_ASSIGN_OR_RETURN(const at::Tensor hidden,
                            run_tokens(transformer, ids, position_, cache_, kind, context_));
    position_ += static_cast<std::int64_t>(ids.size());
    LAMINA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                            last_logits(transformer, hidden, position_ - 1));
    result_.cache_peak = std::max(result_.cache_peak, allocated());
    return sampler_.next(logits);
  }

  // Appends a token; true where it was the last one.
  bool take(std::int32_t id) {
    result_.ids.push_back(id);
    const std::string text = decoder_ ? decoder_->push(id) : std::string();
    result_.text += text;
    if (options_.on_token) options_.on_token(id, text);
    const std::vector<std::int32_t>& ends = model_.config().eos_ids;
    const bool ended = std::find(ends.begin(), ends.end(), id) != ends.end();
    return (ended && !options_.ignore_eos) ||
           static_cast<std::int64_t>(result_.ids.size()) >= options_.max_new;
  }

  std::int64_t allocated() const {
    std::int64_t bytes = 0;
    for (int l = 0; l < model_.config().layers; ++l) bytes += cache_.use(l).bytes;
    return bytes;
  }

  Status account() {
    for (int l = 0; l < model_.config().layers; ++l) {
      const KvLayerUse use = cache_.use(l);
      result_.layers.push_back({use.tokens, use.bytes, use.k_bits, use.v_bits});
    }
    result_.cache_bytes = allocated();
    LAMINA_ASSIGN_OR_RETURN(result_.cache_full_bytes, full_cache_bytes(model_.config(), position_));
    return Status::ok();
  }

  const Model& model_;
  const GenerateOptions& options_;
  const JobContext& context_;
  FullCache cache_;
  Sampler sampler_;
  std::optional<TokenDecoder> decoder_;
  std::int64_t position_ = 0;
  GenerateResult result_;
};

}  // namespace

Result<GenerateResult> generate(const Model& model, const std::vector<std::int32_t>& ids,
                                const GenerateOptions& options, const JobContext& context) {
  if (options.max_new < 1) {
    return Status::usage("at least one new token must be asked for", "max-new", "use 1 or more");
  }
  LAMINA_RETURN_IF_ERROR(check_ids(model.config(), ids, options.max_new));
  LAMINA_RETURN_IF_ERROR(Sampler::validate(options.sampling));
  const std::string where = model.checkpoint().path().string();
  const auto prompt = static_cast<std::int64_t>(ids.size());
  LAMINA_RETURN_IF_ERROR(check_memory(run_bytes(model.config(), prompt, prompt + options.max_new),
                                      "this many tokens", where,
                                      "use a shorter prompt or fewer new tokens"));
  return guarded(where, [&] {
    return Generation(model, options, context,
                      prompt + std::min<std::int64_t>(options.max_new, 256))
        .run(ids);
  });
}

}  // namespace lamina
