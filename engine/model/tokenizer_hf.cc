// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of Hugging Face: byte-pair encoding ("BPE"). Post-processors are not applied: they
// only add tokens that encode() does not.
#include <fmt/format.h>

#include "engine/base/json.h"
#include "engine/model/tokenizer_bpe.h"
#include "engine/model/tokenizer_hf_steps.h"
#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr std::size_t kMaxJson = std::size_t{256} << 20;

const Json& member_or_null(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

Status check_model(const Json& model, const std::string& where) {
  if (!model.is_object()) return tokenizer_fault("'model' must be an object", where);
  // Old files do not name the type; merges are what only BPE has.
  const Json& type = member_or_null(model, "type");
  const bool unnamed = type.is_null() && model.contains("merges");
  if (!unnamed && type != "BPE") {
    return Status::bad_input(
        fmt::format("the tokenizer model '{}' is not supported",
                    type.is_string() ? type.get<std::string>() : std::string("unnamed")),
        where, "supported is BPE; give token ids instead of text");
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json& affix = member_or_null(model, key);
    const bool none =
        affix.is_null() || (affix.is_string() && affix.get_ref<const std::string&>().empty());
    if (!none) {
      return Status::bad_input(fmt::format("a tokenizer with '{}' is not supported", key), where,
                               "give token ids instead of text");
    }
  }
  const Json& dropout = member_or_null(model, "dropout");
  if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0)) {
    return Status::bad_input("a tokenizer with dropout gives other tokens each time", where,
                             "set 'dropout' to null");
  }
  return Status::ok();
}

Status add_vocabulary(const Json& model, Vocabulary& vocabulary, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* vocab, json_member(model, "vocab", where));
  if (!vocab->is_object() || vocab->empty())
    return tokenizer_fault("'vocab' must be an object with tokens", where);
  for (const auto& [token, id] : vocab->items()) {
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t number,
                            json_to_int(id, where, INT64_MIN, INT64_MAX));
    LAMINA_RETURN_IF_ERROR(vocabulary.add(number, token, Vocabulary::kModel, where));
  }
  return Status::ok();
}

Status add_added_tokens(const Json& list, BpeParts& parts, const std::string& where) {
  if (list.is_null()) return Status::ok();
  if (!list.is_array()) return tokenizer_fault("'added_tokens' must be a list", where);
  for (const Json& entry : list) {
    AddedToken token;
    LAMINA_ASSIGN_OR_RETURN(token.content, json_string(entry, "content", where));
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t id,
                            json_int(entry, "id", where, INT64_MIN, INT64_MAX));
    LAMINA_ASSIGN_OR_RETURN(token.special, json_bool_or(entry, "special", false, where));
    LAMINA_ASSIGN_OR_RETURN(token.lstrip, json_bool_or(entry, "lstrip", false, where));
    LAMINA_ASSIGN_OR_RETURN(token.rstrip, json_bool_or(entry, "rstrip", false, where));
    LAMINA_ASSIGN_OR_RETURN(token.normalized,
                            json_bool_or(entry, "normalized", !token.special, where));
    LAMINA_ASSIGN_OR_RETURN(const bool single_word,
                            json_bool_or(entry, "single_word", false, where));
    if (single_word) {
      return Status::bad_input(
          fmt::format("the added token '{}' has single_word, which is not supported",
                      token.content),
          where, "give token ids instead of text");
    }
    const auto flags =
        static_cast<std::uint8_t>(Vocabulary::kAdded | (token.special ? Vocabulary::kControl : 0));
    LAMINA_RETURN_IF_ERROR(parts.vocabulary.add(id, token.content, flags, where));
    token.id = static_cast<std::int32_t>(id);
    parts.added.push_back(std::move(token));
  }
  return Status::ok();
}

// "a b", or ["a", "b"] where tokens may contain spaces.
Result<std::pair<std::string, std::string>> parse_merge(const Json& merge, std::size_t rank,
                                                        const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return tokenizer_fault(fmt::format("merge {} is not a pair of tokens", rank), where);
}

Result<std::vector<MergePair>> parse_merges(const Json& model, const Vocabulary& vocabulary,
                                            const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* list, json_member(model, "merges", where));
  if (!list->is_array()) return tokenizer_fault("'merges' must be a list", where);
  std::vector<MergePair> out;
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    LAMINA_ASSIGN_OR_RETURN(const auto merge, parse_merge((*list)[i], i, where));
    const MergePair pair{vocabulary.find_model(merge.first), vocabulary.find_model(merge.second),
                         vocabulary.find_model(merge.first + merge.second)};
    if (pair.left < 0 || pair.right < 0 || pair.merged < 0) {
      return tokenizer_fault(
          fmt::format("merge {}, '{}' + '{}', names a token that is not in the vocabulary", i,
                      merge.first, merge.second),
          where);
    }
    out.push_back(pair);
  }
  return out;
}

Result<BpeMerger::Options> parse_options(const Json& model, const Vocabulary& vocabulary,
                                         bool byte_level, const std::string& where) {
  BpeMerger::Options options;
  options.byte_level = byte_level;
  LAMINA_ASSIGN_OR_RETURN(options.byte_fallback,
                          json_bool_or(model, "byte_fallback", false, where));
  LAMINA_ASSIGN_OR_RETURN(options.fuse_unknown, json_bool_or(model, "fuse_unk", false, where));
  LAMINA_ASSIGN_OR_RETURN(options.ignore_merges,
                          json_bool_or(model, "ignore_merges", false, where));
  if (!member_or_null(model, "unk_token").is_null()) {
    LAMINA_ASSIGN_OR_RETURN(const std::string unknown, json_string(model, "unk_token", where));
    options.unknown_id = vocabulary.find(unknown);
    if (options.unknown_id < 0) {
      return tokenizer_fault(
          fmt::format("the unknown token '{}' is not in the vocabulary", unknown), where);
    }
  }
  return options;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_hf_tokenizer(const TokenizerData& data) {
  const std::string& where = data.where;
  if (data.json.size() > kMaxJson) return tokenizer_fault("tokenizer.json is too large", where);
  LAMINA_ASSIGN_OR_RETURN(const Json json, parse_json(data.json, where));
  LAMINA_ASSIGN_OR_RETURN(const Json* model, json_member(json, "model", where));
  const std::string in_model = where + ": model";
  LAMINA_RETURN_IF_ERROR(check_model(*model, in_model));

  BpeParts parts;
  parts.kind = "tokenizer.json";
  LAMINA_RETURN_IF_ERROR(add_vocabulary(*model, parts.vocabulary, in_model + ".vocab"));
  LAMINA_RETURN_IF_ERROR(
      add_added_tokens(member_or_null(json, "added_tokens"), parts, where + ": added_tokens"));
  LAMINA_RETURN_IF_ERROR(parts.vocabulary.index(where));
  LAMINA_ASSIGN_OR_RETURN(parts.normalize, parse_hf_normalizer(member_or_null(json, "normalizer"),
                                                               where + ": normalizer"));
  LAMINA_ASSIGN_OR_RETURN(
      HfSplit split,
      parse_hf_pre_tokenizer(member_or_null(json, "pre_tokenizer"), where + ": pre_tokenizer"));
  parts.split = std::move(split.steps);
  LAMINA_ASSIGN_OR_RETURN(const BpeMerger::Options options,
                          parse_options(*model, parts.vocabulary, split.byte_level, in_model));
  LAMINA_ASSIGN_OR_RETURN(const std::vector<MergePair> merges,
                          parse_merges(*model, parts.vocabulary, in_model));
  parts.merger = std::make_unique<BpeMerger>(merges, false, options);

  LAMINA_ASSIGN_OR_RETURN(
      const HfDecoder decoder,
      HfDecoder::parse(member_or_null(json, "decoder"), split.byte_level, where + ": decoder"));
  parts.strips_leading_space = decoder.strips_leading_space();
  parts.bytes.resize(static_cast<std::size_t>(parts.vocabulary.size()));
  for (std::int32_t id = 0; id < parts.vocabulary.size(); ++id) {
    if (!parts.vocabulary.contains(id) || parts.vocabulary.has(id, Vocabulary::kControl)) continue;
    parts.bytes[static_cast<std::size_t>(id)] =
        decoder.bytes_of(parts.vocabulary.text(id), parts.vocabulary.has(id, Vocabulary::kAdded));
  }
  return make_bpe_tokenizer(std::move(parts));
}

}  // namespace lamina
