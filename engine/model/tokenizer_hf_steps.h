// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json that are lists of steps: normalizer, pre_tokenizer and decoder.
// Whatever is not known here is refused by name. Include only in .cc files (json.h). Pure
// functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/model/tokenizer_normalize.h"
#include "engine/model/tokenizer_split.h"

namespace lamina {

// A member that may be absent or null. Errors: kBadInput where it is not a boolean.
Result<bool> json_bool_or(const Json& object, const char* key, bool otherwise,
                          const std::string& where);

// null gives no steps. Errors: kBadInput naming the step or field that is not supported.
Result<NormalizeSteps> parse_hf_normalizer(const Json& json, const std::string& where);

struct HfSplit {
  SplitSteps steps;
  bool byte_level = false;  // words are in the byte-level alphabet
};
Result<HfSplit> parse_hf_pre_tokenizer(const Json& json, const std::string& where);

// How tokens become bytes, one token at a time.
class HfDecoder {
 public:
  // byte_level: what stands for a decoder that is null.
  static Result<HfDecoder> parse(const Json& json, bool byte_level, const std::string& where);
  // added: an added token, which is written as it is and not in the byte-level alphabet.
  std::string bytes_of(const std::string& token, bool added) const;
  bool strips_leading_space() const { return strips_leading_space_; }

 private:
  enum class Kind { kByteLevel, kByteFallback, kReplace };
  struct Step {
    Kind kind = Kind::kByteLevel;
    std::string from, to;
  };
  Status add(const std::string& type, const Json& step, bool& fused, const std::string& where);
  std::vector<Step> steps_;
  bool strips_leading_space_ = false;
};

}  // namespace lamina
