// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers: how a text is cut into the words within which byte-pair merges work. The steps
// mean what the steps of the same name in tokenizer.json mean. Immutable and thread-safe.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/tokenizer_regex.h"

namespace lamina {

// A part of the text. at_start: it begins where the text begins.
struct TextPiece {
  std::string text;
  bool at_start = false;
};

// What becomes of the matches of a split.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

class SplitStep {
 public:
  virtual ~SplitStep() = default;
  // Replaces the pieces by their parts, in order; empty ones disappear. Errors: those of
  // TextMatcher::find_all. After a stop request it returns soon, with anything.
  virtual Status apply(std::vector<TextPiece>& pieces, const std::stop_token& stop) const = 0;
};
using SplitSteps = std::vector<std::unique_ptr<const SplitStep>>;

// invert: what the pattern does not match counts as the match.
std::unique_ptr<const SplitStep> make_split(TextRegex pattern, SplitBehavior behavior, bool invert);
// Puts one space before every piece that does not start with one.
std::unique_ptr<const SplitStep> make_prefix_space();
// Bytes become the characters of the byte-level alphabet.
std::unique_ptr<const SplitStep> make_byte_level();
// Spaces become `replacement`, which is put before a piece that lacks it (always, never, or only at
// the start of the text); split: every replacement starts a new piece.
enum class PrependScheme { kAlways, kFirst, kNever };
std::unique_ptr<const SplitStep> make_metaspace(std::string replacement, PrependScheme scheme,
                                                TextRegex pattern, bool split);

// The pattern of GPT-2, which ByteLevel uses too.
extern const std::string_view kGpt2Pattern;

// What a GGUF file's tokenizer.ggml.pre stands for.
struct GgufPreTokenizer {
  bool nfc = false;            // the text is brought to normal form C first
  bool ignore_merges = false;  // a word that is a token is not merged from its bytes
  SplitSteps steps;            // ends with the byte-level step
};
// "" is "default", as where the format's key is absent. Errors: kBadInput for a name not known.
Result<GgufPreTokenizer> make_gguf_pre_tokenizer(const std::string& name, const std::string& where);

}  // namespace lamina
