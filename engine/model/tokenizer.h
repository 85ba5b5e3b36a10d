// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back: GGUF byte-level BPE, GGUF SentencePiece-style ("llama"), and
// tokenizer.json BPE. A Tokenizer is immutable and thread-safe; a TokenDecoder is per stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace lamina {

// Everything a checkpoint says about its tokenizer, before it is checked and indexed.
class TokenizerData {
 public:
  enum class Kind { kNone, kGgufBpe, kGgufSpm, kHfJson };
  Kind kind = Kind::kNone;
  std::string reason;  // why kind is kNone
  // GGUF:
  std::string pre;                  // tokenizer.ggml.pre, e.g. "smollm"
  std::vector<std::string> tokens;  // tokenizer.ggml.tokens
  std::vector<float> scores;        // tokenizer.ggml.scores (spm)
  std::vector<std::int32_t>
      types;  // tokenizer.ggml.token_type; 1 normal, 2 unknown, 3 control, 4 user, 5 unused, 6 byte
  std::vector<std::string> merges;  // tokenizer.ggml.merges
  bool add_space_prefix = true;     // tokenizer.ggml.add_space_prefix (spm)
  std::int32_t unknown_id = -1;
  // Hugging Face: the text of tokenizer.json.
  std::string json;
  std::string where;  // file, for errors
};

// The longest text of one encode(). Its work takes up to about 60 bytes of memory for each byte.
inline constexpr std::size_t kMaxTokenizerText = std::size_t{32} << 20;

class Tokenizer {
 public:
  // Errors: kBadInput: no tokenizer, unknown pre-tokenizer, model or step (named), inconsistent
  // lists, an id beyond 2^21, two tokens with one text or one id, merges of tokens that are not
  // there.
  static Result<std::shared_ptr<const Tokenizer>> make(const TokenizerData& data);
  virtual ~Tokenizer() = default;

  // No BOS is added (nor any other token a post-processor would). parse_special: control tokens
  // written out in the text become their ids, otherwise they are plain text; user-defined tokens
  // are always found. decode() of the ids gives the text back unless the tokenizer normalises it
  // (qwen2: NFC). Errors: kBadInput for text beyond kMaxTokenizerText, text that is not UTF-8 (the
  // byte offset is named) and a character that the vocabulary has no token for; kCancelled within
  // 0.2 s of a stop request (a single match of a pattern is not interrupted); kRuntime for memory.
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool parse_special,
                                           const std::stop_token& stop = {}) const;
  // The bytes of one token; "" for control tokens, the unknown token and ids out of range.
  virtual std::string token_bytes(std::int32_t id) const = 0;
  // Control and unknown tokens: plain text cannot become them.
  virtual bool is_control(std::int32_t id) const = 0;
  virtual std::int64_t vocab_size() const = 0;
  // The id of a token written exactly so, -1 where there is none.
  virtual std::int32_t find(std::string_view token) const = 0;
  // e.g. "bpe:smollm", "spm", "tokenizer.json".
  virtual std::string kind() const = 0;
  // Whether encode() puts a space before the text, which decoding takes off again.
  virtual bool strips_leading_space() const { return false; }

  // The text of a whole sequence: what a TokenDecoder gives.
  std::string decode(std::span<const std::int32_t> ids) const;

 private:
  // encode() of valid UTF-8 of a bounded length. May throw std::bad_alloc. After a stop request it
  // returns soon, with anything.
  virtual Result<std::vector<std::int32_t>> encode_checked(std::string_view text,
                                                           bool parse_special,
                                                           const std::stop_token& stop) const = 0;
};

// Decodes a stream of tokens: a character split over several tokens is held back until it is whole;
// bytes that can never become UTF-8 turn into U+FFFD (one for each maximal subpart). push() returns
// the text that became certain, finish() what is left; all of it together is decode() of the
// tokens.
class TokenDecoder {
 public:
  // continues: the tokens follow others of the same text, so a leading space stays.
  explicit TokenDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool continues = false);
  std::string push(std::int32_t id);
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string pending_;
  bool first_ = true;
};

}  // namespace lamina
