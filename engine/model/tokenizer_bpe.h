// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding by merge rank, and the tokenizer built around it: added tokens, normalisation,
// splitting, merging. GGUF files and tokenizer.json are two ways to describe one. Immutable,
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/tokenizer.h"
#include "engine/model/tokenizer_normalize.h"
#include "engine/model/tokenizer_split.h"
#include "engine/model/tokenizer_vocab.h"

namespace lamina {

// Two adjacent tokens and the one they become; the position in the list is the rank.
struct MergePair {
  std::int32_t left = -1, right = -1, merged = -1;
};

class BpeMerger {
 public:
  struct Options {
    bool byte_fallback = false;  // a character that is no token becomes its bytes' <0xHH>
    bool fuse_unknown = false;   // adjacent unknown characters become one token
    bool ignore_merges = false;  // a word that is a token is that token
    std::int32_t unknown_id = -1;
    bool byte_level = false;  // words are in the byte-level alphabet (for the wording of errors)
  };
  // first_wins: of equal pairs the first counts, otherwise the last.
  BpeMerger(const std::vector<MergePair>& merges, bool first_wins, Options options);

  // Appends the word's tokens: merges by lowest rank, then leftmost, in O(n log n). Errors:
  // kBadInput naming a character that is no token, where there is neither byte nor unknown token
  // for it. After a stop request it returns soon, with anything.
  Status encode(const Vocabulary& vocabulary, std::string_view word, std::vector<std::int32_t>& ids,
                const std::stop_token& stop) const;

 private:
  struct Rule {
    std::int32_t rank = 0, merged = -1;
  };
  struct PairHash {
    std::size_t operator()(std::uint64_t key) const;
  };
  Status start(const Vocabulary& vocabulary, std::string_view word,
               std::vector<std::int32_t>& symbols, const std::stop_token& stop) const;
  const Rule* rule(std::int32_t left, std::int32_t right) const;

  std::unordered_map<std::uint64_t, Rule, PairHash> rules_;
  Options options_;
};

// Everything a BpeTokenizer consists of.
struct BpeParts {
  std::string kind;
  Vocabulary vocabulary;  // indexed
  std::vector<AddedToken> added;
  NormalizeSteps normalize;
  SplitSteps split;
  std::unique_ptr<const BpeMerger> merger;
  std::vector<std::string> bytes;  // (vocabulary.size()) what each token decodes to
  bool strips_leading_space = false;
};

// Errors: those of normalising the added tokens.
Result<std::shared_ptr<const Tokenizer>> make_bpe_tokenizer(BpeParts parts);

// From tokenizer.ggml.* of the model "gpt2".
Result<std::shared_ptr<const Tokenizer>> make_gguf_bpe_tokenizer(const TokenizerData& data);
// From tokenizer.ggml.* of the model "llama".
Result<std::shared_ptr<const Tokenizer>> make_gguf_spm_tokenizer(const TokenizerData& data);
// From tokenizer.json.
Result<std::shared_ptr<const Tokenizer>> make_hf_tokenizer(const TokenizerData& data);

// Checks the list lengths of a GGUF tokenizer and enters its tokens with their flags.
Result<Vocabulary> make_gguf_vocabulary(const TokenizerData& data);

}  // namespace lamina
