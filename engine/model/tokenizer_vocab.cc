// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_vocab.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

std::vector<std::pair<std::string, std::int32_t>> contents_of(
    const std::vector<AddedToken>& tokens) {
  std::vector<std::pair<std::string, std::int32_t>> out;
  out.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    out.emplace_back(tokens[i].content, static_cast<std::int32_t>(i));
  return out;
}

// Where the white space that ends at `end` begins, not before `begin`.
std::size_t white_space_before(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin) {
    std::size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (!is_white_space(first_character(text.substr(at)))) break;
    end = at;
  }
  return end;
}

std::size_t white_space_after(std::string_view text, std::size_t at) {
  while (at < text.size() && is_white_space(first_character(text.substr(at)))) {
    at += first_utf8_unit(text.substr(at)).bytes;
  }
  return at;
}

}  // namespace

Status Vocabulary::add(std::int64_t id, std::string_view text, std::uint8_t flags,
                       const std::string& where) {
  if (id < 0 || id > kMaxId) {
    return tokenizer_fault(
        fmt::format("the token '{}' has id {}; ids from 0 to {} are supported", text, id, kMaxId),
        where);
  }
  const auto slot = static_cast<std::size_t>(id);
  if (slot >= tokens_.size()) {
    tokens_.resize(slot + 1);
    flags_.resize(slot + 1, kNone);
  }
  if (flags_[slot] != kNone && tokens_[slot] != text) {
    return tokenizer_fault(
        fmt::format("the tokens '{}' and '{}' have the same id {}", tokens_[slot], text, id),
        where);
  }
  tokens_[slot] = std::string(text);
  flags_[slot] |= flags;
  return Status::ok();
}

Status Vocabulary::index(const std::string& where) {
  ids_.clear();
  ids_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (flags_[i] == kNone || tokens_[i].empty()) continue;
    const auto [at, fresh] = ids_.emplace(tokens_[i], static_cast<std::int32_t>(i));
    if (!fresh) {
      return tokenizer_fault(
          fmt::format("the token '{}' has two ids, {} and {}", tokens_[i], at->second, i), where);
    }
    longest_ = std::max(longest_, tokens_[i].size());
  }
  return Status::ok();
}

const std::string& Vocabulary::text(std::int32_t id) const {
  static const std::string none;
  return contains(id) ? tokens_[static_cast<std::size_t>(id)] : none;
}

std::int32_t Vocabulary::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? -1 : found->second;
}

std::int32_t Vocabulary::find_model(std::string_view text) const {
  const std::int32_t id = find(text);
  return has(id, kModel) ? id : -1;
}

LongestMatcher::LongestMatcher(std::vector<std::pair<std::string, std::int32_t>> texts)
    : texts_(std::move(texts)) {
  std::erase_if(texts_, [](const auto& entry) { return entry.first.empty(); });
  std::stable_sort(texts_.begin(), texts_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  texts_.erase(std::unique(texts_.begin(), texts_.end(), same), texts_.end());
  for (std::uint32_t i = 0; i < texts_.size(); ++i) {
    auto& range = by_first_[static_cast<unsigned char>(texts_[i].first[0])];
    if (range.second == 0) range.first = i;
    range.second = i + 1;
  }
}

LongestMatcher::Match LongestMatcher::at(std::string_view text, std::size_t position) const {
  Match best;
  auto [begin, end] = by_first_[static_cast<unsigned char>(text[position])];
  // All texts of [begin, end) agree with the text in their first `depth` bytes; the shortest is
  // first.
  for (std::size_t depth = 1; begin < end; ++depth) {
    if (texts_[begin].first.size() == depth) {
      best = {depth, texts_[begin].second};
      ++begin;
    }
    if (position + depth >= text.size()) break;
    const auto wanted = static_cast<unsigned char>(text[position + depth]);
    const auto byte_at = [depth](const auto& entry) {
      return static_cast<unsigned char>(entry.first[depth]);
    };
    const auto low =
        std::partition_point(texts_.begin() + begin, texts_.begin() + end,
                             [&](const auto& entry) { return byte_at(entry) < wanted; });
    const auto high = std::partition_point(
        low, texts_.begin() + end, [&](const auto& entry) { return byte_at(entry) == wanted; });
    begin = static_cast<std::uint32_t>(low - texts_.begin());
    end = static_cast<std::uint32_t>(high - texts_.begin());
  }
  return best;
}

AddedTokenSplitter::AddedTokenSplitter(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), matcher_(contents_of(tokens_)) {}

std::vector<TextFragment> AddedTokenSplitter::split(std::string_view text, bool at_start,
                                                    const std::stop_token& stop) const {
  std::vector<TextFragment> out;
  std::size_t done = 0;
  const auto put_text = [&](std::size_t end) {
    if (end > done) out.push_back({text.substr(done, end - done), -1, at_start && done == 0});
  };
  for (std::size_t at = 0; !matcher_.empty() && at < text.size() && !stop.stop_requested();) {
    const LongestMatcher::Match match = matcher_.at(text, at);
    if (match.bytes == 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.value)];
    const std::size_t begin = token.lstrip ? white_space_before(text, done, at) : at;
    const std::size_t end =
        token.rstrip ? white_space_after(text, at + match.bytes) : at + match.bytes;
    put_text(begin);
    out.push_back({text.substr(begin, end - begin), token.id, false});
    done = at = end;
  }
  put_text(text.size());
  return out;
}

}  // namespace lamina
