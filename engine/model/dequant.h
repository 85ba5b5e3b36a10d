// SPDX-License-Identifier: Apache-2.0
// Stored weights to float32, bit for bit as the formats define them: every product and sum is one
// float32 rounding, none is fused. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/model/tensor_type.h"

namespace lamina {

float bfloat16_to_float(std::uint16_t bits);

// Values of whole blocks: out.size() must be a multiple of the type's block and `data` hold exactly
// its bytes. Large tensors are split over `threads` threads (0: all cores). false: the encoding is
// opaque or the sizes disagree; nothing is written then.
bool dequantize(const TensorType& type, std::span<const std::byte> data, std::span<float> out,
                int threads = 0);

}  // namespace lamina
