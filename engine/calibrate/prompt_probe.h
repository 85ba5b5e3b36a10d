// SPDX-License-Identifier: Apache-2.0
// The probe `prompt` of spec section 6: how far a layer's attention output moves under every
// recipe. Includes ATen: for .cc files of this room only.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/transformer.h"
#include "engine/table/grid.h"

namespace lamina {

// What the temporary tensors of one block of queries may take.
inline constexpr std::int64_t kProbeBlockBytes = std::int64_t{256} << 20;

// ||O_c - O_full||_F / ||O_full||_F for every recipe c of the grid, (grid.size()). survivors: those
// of layer_survivors() for the grid's keeps. Work is shared: every bit width is quantised once, q.k
// is computed once per K width, the softmax once per (keep, K width), and values and output
// projection are batched over the widths. Queries are taken in blocks so that the temporary tensors
// stay near block_bytes. Errors: kBadInput where the full output is zero or not finite; cancelled.
Result<std::vector<double>> prompt_sensitivity(
    const Transformer& transformer, int layer, const LayerQkv& qkv,
    const std::vector<std::vector<std::int64_t>>& survivors, const ConfigGrid& grid,
    const JobContext& context, std::int64_t block_bytes = kProbeBlockBytes);

}  // namespace lamina
