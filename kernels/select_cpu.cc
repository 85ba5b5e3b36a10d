// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/scores.h"
#include "kernels/z_scores.h"

namespace lamina::kernels {

void select_shared(const float* scores, int kv_heads, std::int64_t tokens, std::int64_t n,
                   int sinks, int recent, std::int64_t* out) {
  const std::int64_t first = std::min<std::int64_t>(sinks, n / 4);
  const std::int64_t last = std::min<std::int64_t>(recent, n / 4);
  const std::int64_t candidates = tokens - first - last;
  const std::int64_t places = n - first - last;
  std::vector<std::int64_t> order(static_cast<std::size_t>(candidates));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (places < candidates) {
    std::vector<double> best(static_cast<std::size_t>(candidates),
                             -std::numeric_limits<double>::infinity());
    for (int head = 0; head < kv_heads; ++head) {
      raise_to_z_scores(scores + head * tokens + first, candidates, best.data());
    }
    const auto higher = [&best](std::int64_t a, std::int64_t b) {
      const double za = best[static_cast<std::size_t>(a)], zb = best[static_cast<std::size_t>(b)];
      return za != zb ? za > zb : a > b;
    };
    std::nth_element(order.begin(), order.begin() + places, order.end(), higher);
    std::sort(order.begin(), order.begin() + places);
  }
  for (std::int64_t i = 0; i < first; ++i) *out++ = i;
  for (std::int64_t i = 0; i < places; ++i) *out++ = first + order[static_cast<std::size_t>(i)];
  for (std::int64_t i = tokens - last; i < tokens; ++i) *out++ = i;
}

}  // namespace lamina::kernels
