// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/model/tokenizer_text.h"

namespace lamina {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOneDigitPattern = R"(\p{N})";

// A part of a piece and whether the pattern matched it.
struct Part {
  TextSpan span;
  bool match = false;
};

// The whole text as matches and what lies between them.
std::vector<Part> parts_of(std::size_t size, std::span<const TextSpan> matches, bool invert) {
  std::vector<Part> parts;
  parts.reserve(matches.size() * 2 + 1);
  std::size_t at = 0;
  for (const TextSpan& match : matches) {
    if (match.begin > at) parts.push_back({{at, match.begin}, invert});
    parts.push_back({match, !invert});
    at = match.end;
  }
  if (at < size) parts.push_back({{at, size}, invert});
  return parts;
}

// A match joins the part before it; of adjacent matches only the first does.
std::vector<TextSpan> merge_with_previous(std::span<const Part> parts) {
  std::vector<TextSpan> out;
  bool previous_match = false;
  for (const Part& part : parts) {
    if (part.match && !previous_match && !out.empty()) {
      out.back().end = part.span.end;
    } else {
      out.push_back(part.span);
    }
    previous_match = part.match;
  }
  return out;
}

// A match joins the part after it; of adjacent matches only the last does.
std::vector<TextSpan> merge_with_next(std::span<const Part> parts) {
  std::vector<TextSpan> out;
  bool next_match = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !next_match && !out.empty()) {
      out.back().begin = part->span.begin;
    } else {
      out.push_back(part->span);
    }
    next_match = part->match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<TextSpan> arrange(std::span<const Part> parts, SplitBehavior behavior) {
  std::vector<TextSpan> out;
  switch (behavior) {
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(parts);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(parts);
    case SplitBehavior::kRemoved:
      for (const Part& part : parts) {
        if (!part.match) out.push_back(part.span);
      }
      return out;
    case SplitBehavior::kIsolated:
      for (const Part& part : parts) out.push_back(part.span);
      return out;
    case SplitBehavior::kContiguous:
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0 && parts[i].match == parts[i - 1].match) {
          out.back().end = parts[i].span.end;
        } else {
          out.push_back(parts[i].span);
        }
      }
      return out;
  }
  return out;
}

class RegexSplit : public SplitStep {
 public:
  RegexSplit(TextRegex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status apply(std::vector<TextPiece>& pieces, const std::stop_token& stop) const override {
    std::vector<TextPiece> out;
    TextMatcher matcher(pattern_);
    for (const TextPiece& piece : pieces) {
      LAMINA_ASSIGN_OR_RETURN(const std::vector<TextSpan> matches,
                              matcher.find_all(piece.text, stop));
      const auto parts = parts_of(piece.text.size(), matches, invert_);
      for (const TextSpan& span : arrange(parts, behavior_)) {
        if (span.begin == span.end) continue;
        if (stop.stop_requested()) return Status::ok();
        out.push_back({piece.text.substr(span.begin, span.end - span.begin),
                       piece.at_start && span.begin == 0});
      }
    }
    pieces = std::move(out);
    return Status::ok();
  }

 private:
  TextRegex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class PrefixSpace : public SplitStep {
 public:
  Status apply(std::vector<TextPiece>& pieces, const std::stop_token& stop) const override {
    for (TextPiece& piece : pieces) {
      if (stop.stop_requested()) break;
      if (!piece.text.empty() && piece.text[0] != ' ') piece.text.insert(0, 1, ' ');
    }
    return Status::ok();
  }
};

class ByteLevel : public SplitStep {
 public:
  Status apply(std::vector<TextPiece>& pieces, const std::stop_token& stop) const override {
    for (TextPiece& piece : pieces) piece.text = to_byte_level(piece.text, stop);
    return Status::ok();
  }
};

class Metaspace : public SplitStep {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, TextRegex pattern, bool split)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        split_(split),
        splitter_(std::move(pattern), SplitBehavior::kMergedWithNext, false) {}

  Status apply(std::vector<TextPiece>& pieces, const std::stop_token& stop) const override {
    for (TextPiece& piece : pieces) {
      if (stop.stop_requested()) break;
      piece.text = replace_all(piece.text, " ", replacement_, stop);
      const bool wanted =
          scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && piece.at_start);
      if (wanted && !piece.text.starts_with(replacement_)) piece.text.insert(0, replacement_);
    }
    return split_ ? splitter_.apply(pieces, stop) : Status::ok();
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
  RegexSplit splitter_;
};

struct GgufShape {
  std::string_view name;
  bool nfc, ignore_merges;
  std::vector<std::string_view> patterns;  // one after the other
};

const std::vector<GgufShape>& gguf_shapes() {
  static const std::vector<GgufShape> shapes = {
      {"smollm", false, false, {kOneDigitPattern, kGpt2Pattern}},
      {"qwen2", true, false, {kQwen2Pattern}},
      {"deepseek-r1-qwen", true, false, {kQwen2Pattern}},
      {"llama-bpe", false, true, {kLlama3Pattern}},
      {"gpt-2", false, false, {kGpt2Pattern}},
      {"default", false, false, {kGpt2Pattern}},
  };
  return shapes;
}

}  // namespace

std::unique_ptr<const SplitStep> make_split(TextRegex pattern, SplitBehavior behavior,
                                            bool invert) {
  return std::make_unique<RegexSplit>(std::move(pattern), behavior, invert);
}
std::unique_ptr<const SplitStep> make_prefix_space() { return std::make_unique<PrefixSpace>(); }
std::unique_ptr<const SplitStep> make_byte_level() { return std::make_unique<ByteLevel>(); }
std::unique_ptr<const SplitStep> make_metaspace(std::string replacement, PrependScheme scheme,
                                                TextRegex pattern, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, std::move(pattern), split);
}

Result<GgufPreTokenizer> make_gguf_pre_tokenizer(const std::string& name,
                                                 const std::string& where) {
  const std::string_view wanted =
      name.empty() ? std::string_view("default") : std::string_view(name);
  std::string known;
  for (const GgufShape& shape : gguf_shapes()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", shape.name);
    if (shape.name != wanted) continue;
    GgufPreTokenizer out;
    out.nfc = shape.nfc;
    out.ignore_merges = shape.ignore_merges;
    for (std::string_view pattern : shape.patterns) {
      LAMINA_ASSIGN_OR_RETURN(TextRegex regex, TextRegex::compile(pattern, where));
      out.steps.push_back(make_split(std::move(regex), SplitBehavior::kIsolated, false));
    }
    out.steps.push_back(make_byte_level());
    return out;
  }
  return Status::bad_input(fmt::format("the pre-tokenizer '{}' is not supported", name), where,
                           fmt::format("supported are {}; give token ids instead of text", known));
}

}  // namespace lamina
