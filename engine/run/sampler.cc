// SPDX-License-Identifier: Apache-2.0
#include "engine/run/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lamina {

std::vector<std::int32_t> top_ids(std::span<const float> logits, std::int64_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), before);
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

Status Sampler::validate(const Sampling& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return Status::usage(
        fmt::format("temperature {} is not a number from 0 up", options.temperature), "sampling",
        "0 is greedy, 0.7 is common");
  }
  if (options.top_k < 0) {
    return Status::usage(fmt::format("top-k {} is below 0", options.top_k), "sampling",
                         "0 allows all tokens");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return Status::usage(fmt::format("top-p {} is not above 0 and at most 1", options.top_p),
                         "sampling", "1 allows all tokens");
  }
  return Status::ok();
}

std::int32_t Sampler::next(std::span<const float> logits) {
  if (options_.temperature == 0) return top_ids(logits, 1).front();
  const auto vocab = static_cast<std::int64_t>(logits.size());
  const std::int64_t kept =
      options_.top_k > 0 ? std::min<std::int64_t>(options_.top_k, vocab) : vocab;
  const std::vector<std::int32_t> ids = top_ids(logits, kept);
  std::vector<double> cumulative(ids.size());
  double total = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    total +=
        std::exp((static_cast<double>(logits[ids[i]]) - logits[ids[0]]) / options_.temperature);
    cumulative[i] = total;
  }
  std::size_t count = ids.size();
  if (options_.top_p < 1) {
    const auto end = std::lower_bound(cumulative.begin(), cumulative.end(), options_.top_p * total);
    count = std::min(ids.size(), static_cast<std::size_t>(end - cumulative.begin()) + 1);
  }
  const double uniform = static_cast<double>(random_() >> 11) * 0x1.0p-53;  // [0, 1)
  const double target = uniform * cumulative[count - 1];
  const auto drawn = std::upper_bound(cumulative.begin(), cumulative.begin() + count, target);
  return ids[std::min<std::size_t>(drawn - cumulative.begin(), count - 1)];
}

}  // namespace lamina
