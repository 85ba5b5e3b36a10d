// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_hf_steps.h"

#include <fmt/format.h>

#include <functional>

#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr const char* kUnsupported = "give token ids instead of text";

Status not_supported(const std::string& what, const std::string& name, const std::string& where) {
  return Status::bad_input(fmt::format("the {} '{}' is not supported", what, name), where,
                           kUnsupported);
}

// {"Regex": "..."} or {"String": "..."}.
Result<TextRegex> parse_pattern(const Json& step, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* pattern, json_member(step, "pattern", where));
  const std::string at = where + ": pattern";
  if (!pattern->is_object()) return tokenizer_fault("a pattern must be a Regex or a String", at);
  if (pattern->contains("Regex")) {
    LAMINA_ASSIGN_OR_RETURN(const std::string regex, json_string(*pattern, "Regex", at));
    return TextRegex::compile(regex, at);
  }
  LAMINA_ASSIGN_OR_RETURN(const std::string text, json_string(*pattern, "String", at));
  return TextRegex::literal(text, at);
}

Result<SplitBehavior> parse_behavior(const Json& step, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const std::string name, json_string(step, "behavior", where));
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return not_supported("split behavior", name, where);
}

// The parts of a Sequence, or the step alone; calls visit(type, step, where) for each.
using VisitStep =
    std::function<Status(const std::string& type, const Json& step, const std::string& where)>;
Status for_each_step(const Json& json, const char* list, const std::string& where,
                     const VisitStep& visit) {
  if (json.is_null()) return Status::ok();
  LAMINA_ASSIGN_OR_RETURN(const std::string type, json_string(json, "type", where));
  if (type != "Sequence") return visit(type, json, where);
  LAMINA_ASSIGN_OR_RETURN(const Json* steps, json_member(json, list, where));
  if (!steps->is_array()) return tokenizer_fault(fmt::format("'{}' must be a list", list), where);
  for (std::size_t i = 0; i < steps->size(); ++i) {
    LAMINA_RETURN_IF_ERROR(
        for_each_step((*steps)[i], list, fmt::format("{}[{}]", where, i), visit));
  }
  return Status::ok();
}

Status add_normalizer(const std::string& type, const Json& step, const std::string& where,
                      NormalizeSteps& out) {
  if (type == "NFC") {
    out.push_back(make_normal_form(NormalForm::kNfc));
  } else if (type == "NFD") {
    out.push_back(make_normal_form(NormalForm::kNfd));
  } else if (type == "NFKC") {
    out.push_back(make_normal_form(NormalForm::kNfkc));
  } else if (type == "NFKD") {
    out.push_back(make_normal_form(NormalForm::kNfkd));
  } else if (type == "Prepend") {
    LAMINA_ASSIGN_OR_RETURN(std::string prefix, json_string(step, "prepend", where));
    out.push_back(make_prepend(std::move(prefix)));
  } else if (type == "Replace") {
    LAMINA_ASSIGN_OR_RETURN(TextRegex pattern, parse_pattern(step, where));
    LAMINA_ASSIGN_OR_RETURN(std::string content, json_string(step, "content", where));
    out.push_back(make_replace(std::move(pattern), std::move(content)));
  } else if (type == "Strip") {
    LAMINA_ASSIGN_OR_RETURN(const bool left, json_bool_or(step, "strip_left", true, where));
    LAMINA_ASSIGN_OR_RETURN(const bool right, json_bool_or(step, "strip_right", true, where));
    out.push_back(make_strip(left, right));
  } else {
    return not_supported("normalizer", type, where);
  }
  return Status::ok();
}

// One character, as a string.
Result<std::string> parse_character(const Json& step, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(std::string text, json_string(step, key, where));
  if (text.empty() || first_utf8_unit(text).bytes != text.size()) {
    return tokenizer_fault(fmt::format("'{}' must be one character", key), where);
  }
  return text;
}

Status add_byte_level(const Json& step, const std::string& where, HfSplit& out) {
  LAMINA_ASSIGN_OR_RETURN(const bool prefix, json_bool_or(step, "add_prefix_space", true, where));
  LAMINA_ASSIGN_OR_RETURN(const bool regex, json_bool_or(step, "use_regex", true, where));
  if (prefix) out.steps.push_back(make_prefix_space());
  if (regex) {
    LAMINA_ASSIGN_OR_RETURN(TextRegex pattern, TextRegex::compile(kGpt2Pattern, where));
    out.steps.push_back(make_split(std::move(pattern), SplitBehavior::kIsolated, false));
  }
  out.steps.push_back(make_byte_level());
  out.byte_level = true;
  return Status::ok();
}

// prepend_scheme, or add_prefix_space as older files write it.
Result<PrependScheme> parse_prepend_scheme(const Json& step, const std::string& where) {
  if (!step.contains("prepend_scheme")) {
    LAMINA_ASSIGN_OR_RETURN(const bool prefix, json_bool_or(step, "add_prefix_space", true, where));
    return prefix ? PrependScheme::kAlways : PrependScheme::kNever;
  }
  LAMINA_ASSIGN_OR_RETURN(const std::string scheme, json_string(step, "prepend_scheme", where));
  if (scheme == "always") return PrependScheme::kAlways;
  if (scheme == "first") return PrependScheme::kFirst;
  if (scheme == "never") return PrependScheme::kNever;
  return not_supported("prepend_scheme", scheme, where);
}

Status add_metaspace(const Json& step, const std::string& where, HfSplit& out) {
  LAMINA_ASSIGN_OR_RETURN(std::string replacement, parse_character(step, "replacement", where));
  LAMINA_ASSIGN_OR_RETURN(const PrependScheme scheme, parse_prepend_scheme(step, where));
  LAMINA_ASSIGN_OR_RETURN(const bool split, json_bool_or(step, "split", true, where));
  LAMINA_ASSIGN_OR_RETURN(TextRegex pattern, TextRegex::literal(replacement, where));
  out.steps.push_back(make_metaspace(std::move(replacement), scheme, std::move(pattern), split));
  return Status::ok();
}

Status add_split(Result<TextRegex> pattern, SplitBehavior behavior, bool invert, HfSplit& out) {
  if (!pattern.has_value()) return pattern.status();
  out.steps.push_back(make_split(std::move(pattern).value(), behavior, invert));
  return Status::ok();
}

Status add_pre_tokenizer(const std::string& type, const Json& step, const std::string& where,
                         HfSplit& out) {
  if (type == "ByteLevel") return add_byte_level(step, where, out);
  if (type == "Metaspace") return add_metaspace(step, where, out);
  if (type == "Split") {
    LAMINA_ASSIGN_OR_RETURN(const SplitBehavior behavior, parse_behavior(step, where));
    LAMINA_ASSIGN_OR_RETURN(const bool invert, json_bool_or(step, "invert", false, where));
    return add_split(parse_pattern(step, where), behavior, invert, out);
  }
  if (type == "Digits") {
    LAMINA_ASSIGN_OR_RETURN(const bool single,
                            json_bool_or(step, "individual_digits", false, where));
    return add_split(TextRegex::compile(R"(\p{N})", where),
                     single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, false, out);
  }
  if (type == "Punctuation") {
    LAMINA_ASSIGN_OR_RETURN(const SplitBehavior behavior, parse_behavior(step, where));
    return add_split(TextRegex::compile(R"([\p{P}$+<=>^`|~])", where), behavior, false, out);
  }
  if (type == "WhitespaceSplit") {
    return add_split(TextRegex::compile(R"(\s)", where), SplitBehavior::kRemoved, false, out);
  }
  if (type == "CharDelimiterSplit") {
    LAMINA_ASSIGN_OR_RETURN(const std::string delimiter, parse_character(step, "delimiter", where));
    return add_split(TextRegex::literal(delimiter, where), SplitBehavior::kRemoved, false, out);
  }
  return not_supported("pre-tokenizer", type, where);
}

}  // namespace

Result<bool> json_bool_or(const Json& object, const char* key, bool otherwise,
                          const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  if (!found->is_boolean())
    return tokenizer_fault(fmt::format("'{}' must be true or false", key), where);
  return found->get<bool>();
}

Result<NormalizeSteps> parse_hf_normalizer(const Json& json, const std::string& where) {
  NormalizeSteps out;
  LAMINA_RETURN_IF_ERROR(for_each_step(
      json, "normalizers", where, [&](const auto&... a) { return add_normalizer(a..., out); }));
  return out;
}

Result<HfSplit> parse_hf_pre_tokenizer(const Json& json, const std::string& where) {
  HfSplit out;
  LAMINA_RETURN_IF_ERROR(for_each_step(json, "pretokenizers", where, [&](const auto&... a) {
    return add_pre_tokenizer(a..., out);
  }));
  return out;
}

Result<HfDecoder> HfDecoder::parse(const Json& json, bool byte_level, const std::string& where) {
  HfDecoder out;
  if (json.is_null()) {
    // Without a decoder the reference joins tokens by spaces, which gives no text back.
    if (!byte_level)
      return Status::bad_input("a tokenizer without a decoder is not supported", where,
                               kUnsupported);
    out.steps_.push_back({Kind::kByteLevel, {}, {}});
    return out;
  }
  bool fused = false;
  LAMINA_RETURN_IF_ERROR(
      for_each_step(json, "decoders", where,
                    [&](const std::string& type, const Json& step, const std::string& at) {
                      return out.add(type, step, fused, at);
                    }));
  return out;
}

Status HfDecoder::add(const std::string& type, const Json& step, bool& fused,
                      const std::string& where) {
  if (type == "Fuse") {
    fused = true;
    return Status::ok();
  }
  if (type == "Strip" && fused) {
    LAMINA_ASSIGN_OR_RETURN(const std::string content, json_string(step, "content", where));
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t start, json_int(step, "start", where, 0, INT32_MAX));
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t stop, json_int(step, "stop", where, 0, INT32_MAX));
    if (content != " " || start > 1 || stop != 0 || strips_leading_space_) {
      return Status::bad_input("a decoder may strip one leading space, nothing else", where,
                               kUnsupported);
    }
    strips_leading_space_ = start == 1;
    return Status::ok();
  }
  // The steps below work on tokens one by one.
  if (fused) return not_supported("decoder after Fuse", type, where);
  if (type == "ByteLevel") {
    steps_.push_back({Kind::kByteLevel, {}, {}});
  } else if (type == "ByteFallback") {
    steps_.push_back({Kind::kByteFallback, {}, {}});
  } else if (type == "Replace") {
    LAMINA_ASSIGN_OR_RETURN(const Json* pattern, json_member(step, "pattern", where));
    LAMINA_ASSIGN_OR_RETURN(std::string from, json_string(*pattern, "String", where + ": pattern"));
    LAMINA_ASSIGN_OR_RETURN(std::string to, json_string(step, "content", where));
    steps_.push_back({Kind::kReplace, std::move(from), std::move(to)});
  } else if (type == "Metaspace") {
    LAMINA_ASSIGN_OR_RETURN(std::string from, parse_character(step, "replacement", where));
    LAMINA_ASSIGN_OR_RETURN(const PrependScheme scheme, parse_prepend_scheme(step, where));
    steps_.push_back({Kind::kReplace, std::move(from), " "});
    strips_leading_space_ = scheme != PrependScheme::kNever;
  } else {
    return not_supported("decoder", type, where);
  }
  return Status::ok();
}

std::string HfDecoder::bytes_of(const std::string& token, bool added) const {
  std::string out = token;
  for (const Step& step : steps_) {
    if (step.kind == Kind::kReplace) {
      out = replace_all(out, step.from, step.to);
    } else if (step.kind == Kind::kByteLevel && !added) {
      out = from_byte_level(out).value_or(out);
    } else if (step.kind == Kind::kByteFallback) {
      // What has become a byte is no text for the steps after this one.
      if (const auto byte = parse_byte_token(out)) return std::string(1, static_cast<char>(*byte));
    }
  }
  return out;
}

}  // namespace lamina
