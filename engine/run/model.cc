// SPDX-License-Identifier: Apache-2.0
// Model, check_ids and forward.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "engine/model/full_cache.h"
#include "engine/model/torch_scope.h"
#include "engine/model/transformer.h"
#include "engine/run/forward_pass.h"
#include "engine/run/generate.h"
#include "engine/run/logits.h"
#include "engine/run/sampler.h"

namespace lamina {

Result<std::shared_ptr<const Model>> Model::load(std::shared_ptr<const Checkpoint> checkpoint,
                                                 const JobContext& context) {
  std::shared_ptr<Model> model(new Model);
  LAMINA_ASSIGN_OR_RETURN(model->transformer_, Transformer::load(checkpoint, context));
  Result<std::shared_ptr<const Tokenizer>> tokenizer =
      Tokenizer::make(*checkpoint->tokenizer_data());
  model->tokenizer_status_ = tokenizer.status();
  if (tokenizer) model->tokenizer_ = std::move(tokenizer).value();
  model->checkpoint_ = std::move(checkpoint);
  return std::shared_ptr<const Model>(std::move(model));
}

Result<std::shared_ptr<const Model>> Model::load(const std::filesystem::path& path,
                                                 const JobContext& context) {
  LAMINA_ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint, Checkpoint::open(path));
  return load(std::move(checkpoint), context);
}

const ModelConfig& Model::config() const { return transformer_->config(); }

Status check_ids(const ModelConfig& config, const std::vector<std::int32_t>& ids,
                 std::int64_t extra_tokens) {
  if (ids.empty())
    return Status::bad_input("the prompt is empty", "token ids", "give at least one");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < config.vocab) continue;
    return Status::bad_input(
        fmt::format("id {} is not in the vocabulary of {}", ids[i], config.vocab),
        fmt::format("token ids, position {}", i), "use the ids of this model's tokenizer");
  }
  const auto prompt = static_cast<std::int64_t>(ids.size());
  if (config.context_length <= 0) return Status::ok();  // the checkpoint names no limit
  if (prompt > config.context_length) {
    return Status::bad_input(fmt::format("{} tokens are more than the model's context of {}",
                                         prompt, config.context_length),
                             "token ids", "shorten the prompt");
  }
  if (extra_tokens > config.context_length - prompt) {
    return Status::bad_input(
        fmt::format("{} tokens and {} new ones are more than the model's context of {}", prompt,
                    extra_tokens, config.context_length),
        "token ids", fmt::format("ask for at most {} new tokens", config.context_length - prompt));
  }
  return Status::ok();
}

Result<ForwardResult> forward(const Model& model, const std::vector<std::int32_t>& ids, int top_n,
                              const JobContext& context) {
  const ModelConfig& config = model.config();
  LAMINA_RETURN_IF_ERROR(check_ids(config, ids));
  if (top_n < 0)
    return Status::usage(fmt::format("{} logits were asked for", top_n), "top",
                         "ask for 0 or more");
  const std::string where = model.checkpoint().path().string();
  const auto tokens = static_cast<std::int64_t>(ids.size());
  LAMINA_RETURN_IF_ERROR(check_memory(run_bytes(config, tokens, tokens), "this many tokens", where,
                                      "use a shorter prompt"));
  return guarded(where, [&]() -> Result<ForwardResult> {
    const Transformer& transformer = model.transformer();
    FullCache cache(&transformer, tokens);
    LAMINA_ASSIGN_OR_RETURN(const at::Tensor hidden,
                            run_tokens(transformer, ids, 0, cache, PassKind::kPrompt, context));
    LAMINA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                            last_logits(transformer, hidden, tokens - 1));
    ForwardResult result;
    result.tokens = tokens;
    const auto vocab = static_cast<std::int64_t>(logits.size());
    for (const std::int32_t id : top_ids(logits, std::min<std::int64_t>(top_n, vocab))) {
      result.top.push_back({id, logits[id]});
    }
    double sum = 0, squares = 0;
    for (const float value : logits) sum += value;
    result.logit_mean = sum / static_cast<double>(vocab);
    for (const float value : logits) squares += std::pow(value - result.logit_mean, 2);
    result.logit_std = std::sqrt(squares / static_cast<double>(vocab));
    return result;
  });
}

}  // namespace lamina
