// SPDX-License-Identifier: Apache-2.0
#include "engine/run/logits.h"

#include <fmt/format.h>

#include <cmath>

namespace lamina {

Result<std::vector<float>> last_logits(const Transformer& transformer, const at::Tensor& hidden,
                                       std::int64_t position) {
  const at::Tensor logits = transformer.logits(hidden).contiguous();
  const float* values = logits.data_ptr<float>();
  std::vector<float> out(values, values + logits.numel());
  for (std::size_t id = 0; id < out.size(); ++id) {
    if (std::isfinite(out[id])) continue;
    return Status::runtime(fmt::format("the logit of id {} is {}", id, out[id]),
                           fmt::format("position {}", position),
                           "the checkpoint's weights overflow in float32 or are damaged");
  }
  return out;
}

}  // namespace lamina
