// SPDX-License-Identifier: Apache-2.0
// The SentencePiece-style tokenizer of GGUF files (model "llama"): adjacent symbols merge into the
// piece with the highest score, then the leftmost (SentencePiece's BPE), in O(n log n).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <unordered_map>

#include "engine/model/tokenizer_bpe.h"
#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

// A stretch of the text that is or becomes one piece.
struct Symbol {
  std::int32_t begin = 0, size = 0;       // bytes of the text; size 0: joined to another
  std::int32_t previous = -1, next = -1;  // places in the array; -1: the end
};

struct Candidate {
  float score;
  std::int32_t left, size;  // size: bytes of both together
};
struct Worse {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
  }
};

class SpmTokenizer : public Tokenizer {
 public:
  static Result<std::shared_ptr<const Tokenizer>> make(const TokenizerData& data);

  std::string token_bytes(std::int32_t id) const override {
    if (vocabulary_.has(id, Vocabulary::kControl)) return {};
    const std::string& text = vocabulary_.text(id);
    if (vocabulary_.has(id, Vocabulary::kByte)) {
      const auto byte = parse_byte_token(text);
      return byte ? std::string(1, static_cast<char>(*byte)) : std::string();
    }
    return replace_all(text, kSpace, " ");
  }
  bool is_control(std::int32_t id) const override {
    return vocabulary_.has(id, Vocabulary::kControl);
  }
  std::int64_t vocab_size() const override { return vocabulary_.size(); }
  std::int32_t find(std::string_view token) const override { return vocabulary_.find(token); }
  std::string kind() const override { return "spm"; }
  bool strips_leading_space() const override { return add_space_prefix_; }

 private:
  // A word on its way to pieces.
  struct Work {
    std::string_view text;
    std::vector<Symbol> symbols;
    std::priority_queue<Candidate, std::vector<Candidate>, Worse> queue;
    // How an unused piece was put together, to take it apart again: the size of its left part.
    std::unordered_map<std::string_view, std::int32_t> unused;
  };

  SpmTokenizer(Vocabulary vocabulary, std::vector<AddedToken> control, std::vector<AddedToken> user)
      : vocabulary_(std::move(vocabulary)), control_(std::move(control)), user_(std::move(user)) {}

  Result<std::vector<std::int32_t>> encode_checked(std::string_view text, bool parse_special,
                                                   const std::stop_token& stop) const override;
  Status encode_text(std::string_view text, std::vector<std::int32_t>& ids,
                     const std::stop_token& stop) const;
  Status encode_word(std::string_view word, std::vector<std::int32_t>& ids,
                     const std::stop_token& stop) const;
  void offer(Work& work, std::int32_t left) const;
  Status give_out(const Work& work, std::string_view piece, std::vector<std::int32_t>& ids) const;
  Status give_out_unknown(std::string_view piece, std::vector<std::int32_t>& ids) const;

  Vocabulary vocabulary_;
  AddedTokenSplitter control_, user_;
  std::vector<float> scores_;
  std::array<std::int32_t, 256> bytes_{};  // -1: no such token
  std::int32_t unknown_id_ = -1;
  bool add_space_prefix_ = true;
};

Result<std::shared_ptr<const Tokenizer>> SpmTokenizer::make(const TokenizerData& data) {
  LAMINA_ASSIGN_OR_RETURN(Vocabulary vocabulary, make_gguf_vocabulary(data));
  if (data.scores.empty()) return tokenizer_fault("the tokenizer has no scores", data.where);
  const auto nan =
      std::find_if(data.scores.begin(), data.scores.end(), [](float s) { return std::isnan(s); });
  if (nan != data.scores.end()) {
    return tokenizer_fault(fmt::format("the score of token {} is NaN", nan - data.scores.begin()),
                           data.where);
  }
  std::vector<AddedToken> control, user;
  std::array<std::int32_t, 256> bytes{};
  bytes.fill(-1);
  std::int32_t unknown = data.unknown_id;
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    AddedToken token;
    token.id = id;
    token.content = vocabulary.text(id);
    if (vocabulary.has(id, Vocabulary::kControl)) control.push_back(token);
    if (unknown < 0 && !data.types.empty() && data.types[static_cast<std::size_t>(id)] == 2)
      unknown = id;
    if (vocabulary.has(id, Vocabulary::kAdded)) {
      token.content = replace_all(token.content, " ", kSpace);
      user.push_back(token);
    }
    if (vocabulary.has(id, Vocabulary::kByte)) {
      const std::uint8_t byte = parse_byte_token(token.content).value_or(0);
      if (bytes[byte] >= 0) {
        return tokenizer_fault(
            fmt::format("the byte tokens {} and {} are the same byte", bytes[byte], id),
            data.where);
      }
      bytes[byte] = id;
    }
  }
  auto made = std::shared_ptr<SpmTokenizer>(
      new SpmTokenizer(std::move(vocabulary), std::move(control), std::move(user)));
  made->scores_ = data.scores;
  made->bytes_ = bytes;
  made->unknown_id_ = unknown;
  made->add_space_prefix_ = data.add_space_prefix;
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

Result<std::vector<std::int32_t>> SpmTokenizer::encode_checked(std::string_view text,
                                                               bool parse_special,
                                                               const std::stop_token& stop) const {
  std::vector<std::int32_t> ids;
  if (!parse_special) {
    if (!text.empty()) LAMINA_RETURN_IF_ERROR(encode_text(text, ids, stop));
    return ids;
  }
  for (const TextFragment& fragment : control_.split(text, true, stop)) {
    if (fragment.id >= 0) {
      ids.push_back(fragment.id);
    } else {
      LAMINA_RETURN_IF_ERROR(encode_text(fragment.text, ids, stop));
    }
  }
  return ids;
}

// A text between control tokens; user-defined tokens are part of it, as in SentencePiece.
Status SpmTokenizer::encode_text(std::string_view text, std::vector<std::int32_t>& ids,
                                 const std::stop_token& stop) const {
  const std::string escaped = (add_space_prefix_ ? std::string(kSpace) : std::string()) +
                              replace_all(text, " ", kSpace, stop);
  for (const TextFragment& fragment : user_.split(escaped, true, stop)) {
    if (fragment.id >= 0) {
      ids.push_back(fragment.id);
    } else {
      LAMINA_RETURN_IF_ERROR(encode_word(fragment.text, ids, stop));
    }
  }
  return Status::ok();
}

void SpmTokenizer::offer(Work& work, std::int32_t place) const {
  const Symbol& left = work.symbols[static_cast<std::size_t>(place)];
  if (left.next < 0) return;
  const Symbol& right = work.symbols[static_cast<std::size_t>(left.next)];
  const auto size = static_cast<std::size_t>(left.size) + static_cast<std::size_t>(right.size);
  if (size > vocabulary_.longest()) return;
  const std::string_view both = work.text.substr(static_cast<std::size_t>(left.begin), size);
  const std::int32_t id = vocabulary_.find_model(both);
  if (id < 0) return;
  work.queue.push({scores_[static_cast<std::size_t>(id)], place, static_cast<std::int32_t>(size)});
  if (vocabulary_.has(id, Vocabulary::kUnused)) work.unused.insert_or_assign(both, left.size);
}

Status SpmTokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& ids,
                                 const std::stop_token& stop) const {
  if (stop.stop_requested()) return Status::ok();
  Work work;
  work.text = word;
  for (std::size_t at = 0; at < word.size() && !stop.stop_requested();) {
    const std::size_t size = first_utf8_unit(word.substr(at)).bytes;
    const auto place = static_cast<std::int32_t>(work.symbols.size());
    work.symbols.push_back(
        {static_cast<std::int32_t>(at), static_cast<std::int32_t>(size), place - 1, place + 1});
    at += size;
  }
  if (stop.stop_requested()) return Status::ok();
  work.symbols.back().next = -1;
  const auto n = static_cast<std::int32_t>(work.symbols.size());
  for (std::int32_t i = 0; i + 1 < n && !stop.stop_requested(); ++i) offer(work, i);
  while (!work.queue.empty() && !stop.stop_requested()) {
    const Candidate best = work.queue.top();
    work.queue.pop();
    Symbol& left = work.symbols[static_cast<std::size_t>(best.left)];
    if (left.size == 0 || left.next < 0) continue;
    Symbol& right = work.symbols[static_cast<std::size_t>(left.next)];
    if (left.size + right.size != best.size) continue;  // one of them has grown since
    left.size = best.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) work.symbols[static_cast<std::size_t>(left.next)].previous = best.left;
    if (left.previous >= 0) offer(work, left.previous);
    offer(work, best.left);
  }
  for (const Symbol& symbol : work.symbols) {
    if (symbol.size == 0) continue;
    if (stop.stop_requested()) break;
    LAMINA_RETURN_IF_ERROR(give_out(
        work,
        word.substr(static_cast<std::size_t>(symbol.begin), static_cast<std::size_t>(symbol.size)),
        ids));
  }
  return Status::ok();
}

Status SpmTokenizer::give_out(const Work& work, std::string_view piece,
                              std::vector<std::int32_t>& ids) const {
  std::vector<std::string_view> rest = {piece};
  while (!rest.empty()) {
    const std::string_view next = rest.back();
    rest.pop_back();
    const std::int32_t id = vocabulary_.find_model(next);
    const auto parts = work.unused.find(next);
    if (id >= 0 && vocabulary_.has(id, Vocabulary::kUnused) && parts != work.unused.end()) {
      rest.push_back(next.substr(static_cast<std::size_t>(parts->second)));
      rest.push_back(next.substr(0, static_cast<std::size_t>(parts->second)));
    } else if (id >= 0) {
      ids.push_back(id);
    } else {
      LAMINA_RETURN_IF_ERROR(give_out_unknown(next, ids));
    }
  }
  return Status::ok();
}

Status SpmTokenizer::give_out_unknown(std::string_view piece,
                                      std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  for (char c : piece) {
    const std::int32_t id = bytes_[static_cast<std::uint8_t>(c)];
    if (id < 0) {
      ids.resize(before);
      break;
    }
    ids.push_back(id);
  }
  if (ids.size() > before) return Status::ok();
  if (unknown_id_ < 0) {
    return Status::bad_input(fmt::format("the vocabulary has no token for the character U+{:04X}",
                                         static_cast<std::uint32_t>(first_character(piece))),
                             "text", "remove it from the text");
  }
  // Adjacent unknown characters are one token.
  if (ids.empty() || ids.back() != unknown_id_) ids.push_back(unknown_id_);
  return Status::ok();
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_gguf_spm_tokenizer(const TokenizerData& data) {
  return SpmTokenizer::make(data);
}

}  // namespace lamina
