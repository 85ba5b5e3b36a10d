// SPDX-License-Identifier: Apache-2.0
// z-scores as spec sections 3 and 4 use them: over one head, and the maximum over heads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lamina::kernels {

// Raises best (n) to the z-scores of scores (n): population deviation, 0 where it is 0. Sums in
// double. A score that is not a number never raises. REQUIRES n >= 1.
template <class Score, class Best>
void raise_to_z_scores(const Score* scores, std::int64_t n, Best* best) {
  const auto [low, high] = std::minmax_element(scores, scores + n);
  // Equal scores have no deviation; the rounded sums below could say otherwise.
  const bool constant = *low == *high;
  double mean = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += scores[i];
  mean /= static_cast<double>(n);
  double variance = 0;
  for (std::int64_t i = 0; i < n; ++i) variance += (scores[i] - mean) * (scores[i] - mean);
  const double deviation = std::sqrt(variance / static_cast<double>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const Best z = constant ? Best{0} : static_cast<Best>((scores[i] - mean) / deviation);
    if (z > best[i]) best[i] = z;
  }
}

}  // namespace lamina::kernels
