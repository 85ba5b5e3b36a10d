// SPDX-License-Identifier: Apache-2.0
// The logits of one position as plain floats. Includes ATen: only for .cc files of targets that
// link LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/transformer.h"

namespace lamina {

// hidden: (1, hidden) -> (vocab). Errors: kRuntime naming the position where a logit is NaN or
// infinite.
Result<std::vector<float>> last_logits(const Transformer& transformer, const at::Tensor& hidden,
                                       std::int64_t position);

}  // namespace lamina
