// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a GGUF file, and its byte-level BPE tokenizer.
#include <fmt/format.h>

#include "engine/model/tokenizer_bpe.h"
#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

// tokenizer.ggml.token_type, as llama.cpp numbers them.
enum GgufTokenType : std::int32_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

Result<std::uint8_t> flags_of(std::int32_t type, const std::string& token, std::size_t id,
                              const std::string& where) {
  switch (type) {
    case kUndefined:
    case kNormal:
      return std::uint8_t{Vocabulary::kModel};
    case kUnknown:
    case kControl:
      return std::uint8_t{Vocabulary::kControl};
    case kUserDefined:
      return std::uint8_t{Vocabulary::kModel | Vocabulary::kAdded};
    case kUnused:
      return std::uint8_t{Vocabulary::kModel | Vocabulary::kUnused};
    case kByte:
      if (!parse_byte_token(token)) {
        return tokenizer_fault(fmt::format("the byte token {} is '{}', not <0xHH>", id, token),
                               where);
      }
      return std::uint8_t{Vocabulary::kByte};
    default:
      return tokenizer_fault(fmt::format("token {} has the unknown type {}", id, type), where);
  }
}

std::string bytes_of(const Vocabulary& vocabulary, std::int32_t id) {
  const std::string& text = vocabulary.text(id);
  if (vocabulary.has(id, Vocabulary::kControl)) return {};
  if (vocabulary.has(id, Vocabulary::kByte)) {
    const auto byte = parse_byte_token(text);
    return byte ? std::string(1, static_cast<char>(*byte)) : std::string();
  }
  if (vocabulary.has(id, Vocabulary::kAdded)) return text;
  return from_byte_level(text).value_or(text);
}

Result<std::vector<MergePair>> parse_merges(const TokenizerData& data,
                                            const Vocabulary& vocabulary) {
  std::vector<MergePair> out;
  out.reserve(data.merges.size());
  for (std::size_t i = 0; i < data.merges.size(); ++i) {
    const std::string_view merge = data.merges[i];
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      return tokenizer_fault(fmt::format("merge {} is '{}', not two tokens", i, merge), data.where);
    }
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    const MergePair pair{vocabulary.find_model(left), vocabulary.find_model(right),
                         vocabulary.find_model(std::string(left).append(right))};
    if (pair.left < 0 || pair.right < 0 || pair.merged < 0) {
      return tokenizer_fault(
          fmt::format("merge {}, '{}', names a token that is not in the vocabulary", i, merge),
          data.where);
    }
    out.push_back(pair);
  }
  return out;
}

}  // namespace

Result<Vocabulary> make_gguf_vocabulary(const TokenizerData& data) {
  if (data.tokens.empty()) return tokenizer_fault("the tokenizer has no tokens", data.where);
  const auto check_length = [&](std::size_t length, const char* what) {
    if (length == 0 || length == data.tokens.size()) return Status::ok();
    return tokenizer_fault(
        fmt::format("the tokenizer has {} tokens but {} {}", data.tokens.size(), length, what),
        data.where);
  };
  LAMINA_RETURN_IF_ERROR(check_length(data.types.size(), "token types"));
  LAMINA_RETURN_IF_ERROR(check_length(data.scores.size(), "scores"));
  if (data.unknown_id < -1 || data.unknown_id >= static_cast<std::int64_t>(data.tokens.size())) {
    return tokenizer_fault(
        fmt::format("the unknown token's id {} is outside the vocabulary", data.unknown_id),
        data.where);
  }
  Vocabulary vocabulary;
  for (std::size_t id = 0; id < data.tokens.size(); ++id) {
    const std::int32_t type = data.types.empty() ? std::int32_t{kNormal} : data.types[id];
    LAMINA_ASSIGN_OR_RETURN(const std::uint8_t flags,
                            flags_of(type, data.tokens[id], id, data.where));
    LAMINA_RETURN_IF_ERROR(
        vocabulary.add(static_cast<std::int64_t>(id), data.tokens[id], flags, data.where));
  }
  LAMINA_RETURN_IF_ERROR(vocabulary.index(data.where));
  return vocabulary;
}

Result<std::shared_ptr<const Tokenizer>> make_gguf_bpe_tokenizer(const TokenizerData& data) {
  LAMINA_ASSIGN_OR_RETURN(GgufPreTokenizer pre, make_gguf_pre_tokenizer(data.pre, data.where));
  BpeParts parts;
  LAMINA_ASSIGN_OR_RETURN(parts.vocabulary, make_gguf_vocabulary(data));
  if (data.merges.empty()) return tokenizer_fault("the tokenizer has no merges", data.where);
  LAMINA_ASSIGN_OR_RETURN(const std::vector<MergePair> merges,
                          parse_merges(data, parts.vocabulary));
  BpeMerger::Options options;
  options.ignore_merges = pre.ignore_merges;
  options.byte_level = true;
  parts.merger = std::make_unique<BpeMerger>(merges, true, options);
  parts.kind = "bpe:" + (data.pre.empty() ? std::string("default") : data.pre);
  parts.split = std::move(pre.steps);
  if (pre.nfc) parts.normalize.push_back(make_normal_form(NormalForm::kNfc));
  for (std::int32_t id = 0; id < parts.vocabulary.size(); ++id) {
    parts.bytes.push_back(bytes_of(parts.vocabulary, id));
    const bool special = parts.vocabulary.has(id, Vocabulary::kControl);
    if (special || parts.vocabulary.has(id, Vocabulary::kAdded)) {
      AddedToken token;
      token.content = parts.vocabulary.text(id);
      token.id = id;
      token.special = special;
      parts.added.push_back(std::move(token));
    }
  }
  return make_bpe_tokenizer(std::move(parts));
}

}  // namespace lamina
