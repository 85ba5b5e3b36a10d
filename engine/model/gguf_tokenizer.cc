// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/model/gguf_config.h"
#include "engine/model/support.h"

namespace lamina {
namespace {

// Moves a list out of the metadata; an absent key leaves it empty.
template <class T>
Status take_list(GgufMetadata& metadata, std::string_view key, std::vector<T>& out) {
  auto it = metadata.values.find(key);
  if (it == metadata.values.end()) return Status::ok();
  if (auto* list = std::get_if<std::vector<T>>(&it->second)) {
    out = std::move(*list);
    return Status::ok();
  }
  return metadata.wrong_type(key, "a list of another kind");
}

Status read_lists(GgufMetadata& metadata, TokenizerData& data) {
  LAMINA_RETURN_IF_ERROR(take_list(metadata, "tokenizer.ggml.tokens", data.tokens));
  LAMINA_RETURN_IF_ERROR(take_list(metadata, "tokenizer.ggml.merges", data.merges));
  std::vector<double> scores;
  LAMINA_RETURN_IF_ERROR(take_list(metadata, "tokenizer.ggml.scores", scores));
  for (double score : scores) {
    if (!std::isfinite(score))
      return metadata.wrong_type("tokenizer.ggml.scores", "a list of finite numbers");
    data.scores.push_back(static_cast<float>(score));
  }
  std::vector<std::int64_t> types;
  LAMINA_RETURN_IF_ERROR(take_list(metadata, "tokenizer.ggml.token_type", types));
  for (std::int64_t type : types) {
    if (type < 0 || type > 6)
      return metadata.wrong_type("tokenizer.ggml.token_type", "a list of types from 0 to 6");
    data.types.push_back(static_cast<std::int32_t>(type));
  }
  return Status::ok();
}

// End tokens: the ones that the file names, and control tokens that end a turn in the chat formats
// of the architectures that run, which many files leave unnamed.
Status read_end_tokens(const GgufMetadata& metadata, const TokenizerData& data,
                       ModelConfig& config) {
  auto last = data.tokens.empty() ? kMaxVocab : static_cast<std::int64_t>(data.tokens.size()) - 1;
  for (std::string_view key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                               "tokenizer.ggml.eom_token_id"}) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t id, metadata.integer(key, -1, -1, last));
    if (id >= 0) config.eos_ids.push_back(static_cast<std::int32_t>(id));
  }
  constexpr std::array<std::string_view, 4> kTurnEnds = {"<|eot_id|>", "<|eom_id|>", "<|im_end|>",
                                                         "<end_of_turn>"};
  constexpr std::int32_t kControl = 3;
  for (std::size_t i = 0; i < std::min(data.tokens.size(), data.types.size()); ++i) {
    if (data.types[i] == kControl &&
        std::find(kTurnEnds.begin(), kTurnEnds.end(), data.tokens[i]) != kTurnEnds.end()) {
      config.eos_ids.push_back(static_cast<std::int32_t>(i));
    }
  }
  std::sort(config.eos_ids.begin(), config.eos_ids.end());
  config.eos_ids.erase(std::unique(config.eos_ids.begin(), config.eos_ids.end()),
                       config.eos_ids.end());
  LAMINA_ASSIGN_OR_RETURN(std::int64_t bos,
                          metadata.integer("tokenizer.ggml.bos_token_id", -1, -1, last));
  config.bos_id = static_cast<std::int32_t>(bos);
  return Status::ok();
}

}  // namespace

Result<TokenizerData> gguf_tokenizer(GgufMetadata& metadata, ModelConfig& config) {
  TokenizerData data;
  data.where = metadata.where;
  LAMINA_ASSIGN_OR_RETURN(std::string model, metadata.text("tokenizer.ggml.model", ""));
  LAMINA_ASSIGN_OR_RETURN(data.pre, metadata.text("tokenizer.ggml.pre", ""));
  LAMINA_RETURN_IF_ERROR(read_lists(metadata, data));
  if (model == "gpt2") {
    data.kind = TokenizerData::Kind::kGgufBpe;
    config.tokenizer = "bpe:" + (data.pre.empty() ? std::string("default") : data.pre);
    if (data.pre.empty() && !metadata.whole) config.tokenizer.clear();  // it may still come
  } else if (model == "llama") {
    data.kind = TokenizerData::Kind::kGgufSpm;
    config.tokenizer = "spm";
  } else {
    data.reason = model.empty()
                      ? "the file holds no tokenizer"
                      : fmt::format("tokenizers of the kind '{}' are not supported", model);
    config.tokenizer = model.empty() && !metadata.whole ? "" : "none";
  }
  LAMINA_ASSIGN_OR_RETURN(data.add_space_prefix,
                          metadata.boolean("tokenizer.ggml.add_space_prefix", true));
  auto last = data.tokens.empty() ? kMaxVocab : static_cast<std::int64_t>(data.tokens.size()) - 1;
  LAMINA_ASSIGN_OR_RETURN(std::int64_t unknown,
                          metadata.integer("tokenizer.ggml.unknown_token_id", -1, -1, last));
  data.unknown_id = static_cast<std::int32_t>(unknown);
  LAMINA_RETURN_IF_ERROR(read_end_tokens(metadata, data, config));
  // Without the key: SentencePiece vocabularies and Llama 3's begin with BOS, others do not.
  bool usual =
      data.kind == TokenizerData::Kind::kGgufSpm || data.pre == "llama-bpe" || data.pre == "llama3";
  LAMINA_ASSIGN_OR_RETURN(config.add_bos, metadata.boolean("tokenizer.ggml.add_bos_token", usual));
  if (config.bos_id < 0) config.add_bos = false;
  return data;
}

}  // namespace lamina
