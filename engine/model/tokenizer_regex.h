// SPDX-License-Identifier: Apache-2.0
// The regular expressions of pre-tokenizers on PCRE2. Immutable after compile() and thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace lamina {

// A half-open range of bytes.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class TextRegex {
 public:
  // pattern: as tokenizers write it, in the syntax of Oniguruma. What PCRE2 reads differently is
  // translated (\s is White_Space, \w, \d, \h) or refused by name (\b, nested classes, options that
  // change in mid-pattern, {n,m}+). Errors: kBadInput naming the pattern; where: the field.
  static Result<TextRegex> compile(std::string_view pattern, const std::string& where);
  // Matches exactly this text.
  static Result<TextRegex> literal(std::string_view text, const std::string& where);

 private:
  friend class TextMatcher;
  struct Code;
  explicit TextRegex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  static Result<TextRegex> build(std::string_view source, std::string_view shown, bool is_literal,
                                 const std::string& where);
  std::shared_ptr<const Code> code_;
};

// Runs one TextRegex over many texts; holds its working memory. One thread at a time.
class TextMatcher {
 public:
  explicit TextMatcher(const TextRegex& regex);
  ~TextMatcher();
  TextMatcher(const TextMatcher&) = delete;
  TextMatcher& operator=(const TextMatcher&) = delete;

  // The matches from left to right that do not overlap; an empty match is skipped where the match
  // before it ended. text must be valid UTF-8. Errors: kBadInput where the pattern takes more steps
  // than the match limit. After a stop request it returns with the next match, with anything.
  Result<std::vector<TextSpan>> find_all(std::string_view text, const std::stop_token& stop);

 private:
  struct Work;
  std::shared_ptr<const TextRegex::Code> code_;
  std::unique_ptr<Work> work_;
};

}  // namespace lamina
