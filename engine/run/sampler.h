// SPDX-License-Identifier: Apache-2.0
// Choosing the next token from logits. Plain C++; one object per sequence, not thread-safe.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "engine/run/generate.h"

namespace lamina {

// Ids by falling logit, equal logits by lower id; the first `count` of them (count <=
// logits.size()).
std::vector<std::int32_t> top_ids(std::span<const float> logits, std::int64_t count);

// Temperature, then top-k, then top-p (the smallest set of the likeliest tokens whose probability
// reaches top_p; arXiv 1904.09751), then one draw. The same logits and seed give the same token on
// every machine: std::mt19937_64 is fixed by the C++ standard, and the draw takes its upper 53 bits
// instead of a std distribution, which is not.
class Sampler {
 public:
  // REQUIRES options that validate() accepted.
  explicit Sampler(const Sampling& options) : options_(options), random_(options.seed) {}
  // temperature finite and >= 0, top_k >= 0, top_p in (0, 1]. Errors: kUsage.
  static Status validate(const Sampling& options);
  // logits: (vocab), non-empty, free of NaN.
  std::int32_t next(std::span<const float> logits);

 private:
  Sampling options_;
  std::mt19937_64 random_;
};

}  // namespace lamina
