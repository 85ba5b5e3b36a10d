// SPDX-License-Identifier: Apache-2.0
// The tokens of a vocabulary by id and by text, and the tokens that are looked for in the text
// before it is split into words. Immutable once built; const access is thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace lamina {

class Vocabulary {
 public:
  // What a token is; several may hold.
  enum Flag : std::uint8_t {
    kNone = 0,     // a hole: no token has this id
    kModel = 1,    // plain text can become it
    kControl = 2,  // steers the model and has no text; the unknown token too
    kAdded = 4,    // found in the text before it is split
    kByte = 8,     // "<0xHH>"
    kUnused = 16   // merges pass through it, but it is not given out
  };
  // Ids up to this are accepted: memory is taken for every id below the largest.
  static constexpr std::int64_t kMaxId = (std::int64_t{1} << 21) - 1;

  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // Errors: kBadInput: an id out of range or already taken by another text, a text that has another
  // id. A token that is there already gains the flags. An empty text is kept but cannot be found.
  Status add(std::int64_t id, std::string_view text, std::uint8_t flags, const std::string& where);
  // Builds the look-up; to be called once, after the last add().
  Status index(const std::string& where);

  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  bool contains(std::int32_t id) const {
    return id >= 0 && id < size() && flags_[static_cast<std::size_t>(id)] != 0;
  }
  // "" and kNone for ids out of range.
  const std::string& text(std::int32_t id) const;
  std::uint8_t flags(std::int32_t id) const {
    return contains(id) ? flags_[static_cast<std::size_t>(id)] : 0;
  }
  bool has(std::int32_t id, Flag flag) const { return (flags(id) & flag) != 0; }
  // -1 where there is none.
  std::int32_t find(std::string_view text) const;
  // find() among the tokens that plain text can become.
  std::int32_t find_model(std::string_view text) const;
  std::size_t longest() const { return longest_; }

 private:
  std::vector<std::string> tokens_;
  std::vector<std::uint8_t> flags_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // views into tokens_
  std::size_t longest_ = 0;
};

// Finds the longest of a set of texts at a position, in time proportional to its length.
class LongestMatcher {
 public:
  // Empty texts are ignored; of equal ones the first counts. value: what match() gives back.
  explicit LongestMatcher(std::vector<std::pair<std::string, std::int32_t>> texts);
  struct Match {
    std::size_t bytes = 0;  // 0: none
    std::int32_t value = -1;
  };
  Match at(std::string_view text, std::size_t position) const;
  bool empty() const { return texts_.empty(); }

 private:
  std::vector<std::pair<std::string, std::int32_t>> texts_;  // sorted
  std::array<std::pair<std::uint32_t, std::uint32_t>, 256> by_first_{};
};

// A token of the kind that is looked for in the text itself.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool special = false;     // only where special tokens are parsed
  bool lstrip = false;      // takes the white space before it
  bool rstrip = false;      // and after it
  bool normalized = false;  // looked for in the normalised text
};

// A stretch of text, or a token found in it (id >= 0).
struct TextFragment {
  std::string_view text;
  std::int32_t id = -1;
  bool at_start = false;
};

class AddedTokenSplitter {
 public:
  // tokens: those this splitter looks for; content as it shall be found.
  explicit AddedTokenSplitter(std::vector<AddedToken> tokens);
  // The longest token at the leftmost place wins. Views point into text. After a stop request it
  // returns soon, with anything.
  std::vector<TextFragment> split(std::string_view text, bool at_start,
                                  const std::stop_token& stop) const;

 private:
  std::vector<AddedToken> tokens_;
  LongestMatcher matcher_;
};

}  // namespace lamina
