// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_bpe.h"

#include <fmt/format.h>

#include <queue>
#include <tuple>

#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// A word's symbols as a list in one array.
struct Symbol {
  std::int32_t id = -1;
  std::int32_t previous = -1, next = -1;  // places in the array; -1: the end
};

struct Candidate {
  std::int32_t rank, place, merged;
};
struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return std::tie(a.rank, a.place) > std::tie(b.rank, b.place);
  }
};

class BpeTokenizer : public Tokenizer {
 public:
  BpeTokenizer(BpeParts parts, std::vector<AddedToken> raw, std::vector<AddedToken> normalized)
      : parts_(std::move(parts)),
        raw_all_(raw),
        raw_plain_(without_special(std::move(raw))),
        normalized_all_(normalized),
        normalized_plain_(without_special(std::move(normalized))) {}

  std::string token_bytes(std::int32_t id) const override {
    return parts_.vocabulary.contains(id) ? parts_.bytes[static_cast<std::size_t>(id)]
                                          : std::string();
  }
  bool is_control(std::int32_t id) const override {
    return parts_.vocabulary.has(id, Vocabulary::kControl);
  }
  std::int64_t vocab_size() const override { return parts_.vocabulary.size(); }
  std::int32_t find(std::string_view token) const override { return parts_.vocabulary.find(token); }
  std::string kind() const override { return parts_.kind; }
  bool strips_leading_space() const override { return parts_.strips_leading_space; }

 private:
  static std::vector<AddedToken> without_special(std::vector<AddedToken> tokens) {
    std::erase_if(tokens, [](const AddedToken& token) { return token.special; });
    return tokens;
  }

  Result<std::vector<std::int32_t>> encode_checked(std::string_view text, bool parse_special,
                                                   const std::stop_token& stop) const override {
    std::vector<std::int32_t> ids;
    const AddedTokenSplitter& raw_splitter = parse_special ? raw_all_ : raw_plain_;
    for (const TextFragment& raw : raw_splitter.split(text, true, stop)) {
      if (stop.stop_requested()) break;
      if (raw.id >= 0) {
        ids.push_back(raw.id);
        continue;
      }
      LAMINA_ASSIGN_OR_RETURN(const std::string clean, normalize(parts_.normalize, raw.text, stop));
      const AddedTokenSplitter& splitter = parse_special ? normalized_all_ : normalized_plain_;
      for (const TextFragment& fragment : splitter.split(clean, raw.at_start, stop)) {
        if (fragment.id >= 0) {
          ids.push_back(fragment.id);
        } else {
          LAMINA_RETURN_IF_ERROR(encode_words(fragment, ids, stop));
        }
      }
    }
    return ids;
  }

  Status encode_words(const TextFragment& fragment, std::vector<std::int32_t>& ids,
                      const std::stop_token& stop) const {
    std::vector<TextPiece> pieces = {{std::string(fragment.text), fragment.at_start}};
    for (const auto& step : parts_.split) LAMINA_RETURN_IF_ERROR(step->apply(pieces, stop));
    for (const TextPiece& piece : pieces) {
      if (stop.stop_requested()) break;
      LAMINA_RETURN_IF_ERROR(parts_.merger->encode(parts_.vocabulary, piece.text, ids, stop));
    }
    return Status::ok();
  }

  BpeParts parts_;
  AddedTokenSplitter raw_all_, raw_plain_, normalized_all_, normalized_plain_;
};

}  // namespace

std::size_t BpeMerger::PairHash::operator()(std::uint64_t key) const {
  key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9U;  // SplitMix64
  key = (key ^ key >> 27) * 0x94D049BB133111EBU;
  return static_cast<std::size_t>(key ^ key >> 31);
}

BpeMerger::BpeMerger(const std::vector<MergePair>& merges, bool first_wins, Options options)
    : options_(options) {
  rules_.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::uint64_t key = pair_key(merges[i].left, merges[i].right);
    const Rule rule{static_cast<std::int32_t>(i), merges[i].merged};
    if (first_wins) {
      rules_.try_emplace(key, rule);
    } else {
      rules_.insert_or_assign(key, rule);
    }
  }
}

const BpeMerger::Rule* BpeMerger::rule(std::int32_t left, std::int32_t right) const {
  const auto found = rules_.find(pair_key(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

Status BpeMerger::start(const Vocabulary& vocabulary, std::string_view word,
                        std::vector<std::int32_t>& symbols, const std::stop_token& stop) const {
  bool unknown_before = false;
  while (!word.empty() && !stop.stop_requested()) {
    const std::string_view character = word.substr(0, first_utf8_unit(word).bytes);
    word.remove_prefix(character.size());
    const std::int32_t id = vocabulary.find_model(character);
    if (id >= 0) {
      symbols.push_back(id);
      unknown_before = false;
      continue;
    }
    const std::size_t before = symbols.size();
    for (std::size_t i = 0; options_.byte_fallback && i < character.size(); ++i) {
      const std::int32_t byte =
          vocabulary.find_model(byte_token(static_cast<std::uint8_t>(character[i])));
      if (byte < 0) {
        symbols.resize(before);
        break;
      }
      symbols.push_back(byte);
    }
    if (symbols.size() > before) {
      unknown_before = false;
      continue;
    }
    if (options_.unknown_id < 0) {
      const auto byte = options_.byte_level ? from_byte_level(character) : std::nullopt;
      return Status::bad_input(
          byte ? fmt::format("the vocabulary has no token for the byte 0x{:02X}",
                             static_cast<unsigned char>((*byte)[0]))
               : fmt::format("the vocabulary has no token for the character U+{:04X}",
                             static_cast<std::uint32_t>(first_character(character))),
          "text", "remove it from the text");
    }
    if (!(options_.fuse_unknown && unknown_before)) symbols.push_back(options_.unknown_id);
    unknown_before = true;
  }
  return Status::ok();
}

Status BpeMerger::encode(const Vocabulary& vocabulary, std::string_view word,
                         std::vector<std::int32_t>& ids, const std::stop_token& stop) const {
  if (options_.ignore_merges) {
    const std::int32_t whole = vocabulary.find_model(word);
    if (whole >= 0 && !vocabulary.has(whole, Vocabulary::kControl)) {
      ids.push_back(whole);
      return Status::ok();
    }
  }
  std::vector<std::int32_t> first;
  LAMINA_RETURN_IF_ERROR(start(vocabulary, word, first, stop));
  const auto n = static_cast<std::int32_t>(first.size());
  std::vector<Symbol> symbols(first.size());
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue;
  const auto offer = [&](std::int32_t place) {
    const std::int32_t next = symbols[static_cast<std::size_t>(place)].next;
    if (next < 0) return;
    const Rule* found = rule(symbols[static_cast<std::size_t>(place)].id,
                             symbols[static_cast<std::size_t>(next)].id);
    if (found != nullptr) queue.push({found->rank, place, found->merged});
  };
  for (std::int32_t i = 0; i < n; ++i)
    symbols[static_cast<std::size_t>(i)] = {first[static_cast<std::size_t>(i)], i - 1,
                                            i + 1 < n ? i + 1 : -1};
  for (std::int32_t i = 0; i < n && !stop.stop_requested(); ++i) offer(i);
  while (!queue.empty() && !stop.stop_requested()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<std::size_t>(best.place)];
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    // A candidate whose pair has changed since is stale.
    const Rule* now = rule(left.id, right.id);
    if (now == nullptr || now->rank != best.rank) continue;
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.place;
    if (left.previous >= 0) offer(left.previous);
    offer(best.place);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) ids.push_back(symbol.id);
  }
  return Status::ok();
}

Result<std::shared_ptr<const Tokenizer>> make_bpe_tokenizer(BpeParts parts) {
  std::vector<AddedToken> raw, normalized;
  for (const AddedToken& token : parts.added) {
    if (!token.normalized) {
      raw.push_back(token);
      continue;
    }
    AddedToken changed = token;
    LAMINA_ASSIGN_OR_RETURN(changed.content, normalize(parts.normalize, token.content, {}));
    normalized.push_back(std::move(changed));
  }
  return std::shared_ptr<const Tokenizer>(
      std::make_shared<BpeTokenizer>(std::move(parts), std::move(raw), std::move(normalized)));
}

}  // namespace lamina
