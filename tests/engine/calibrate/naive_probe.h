// SPDX-License-Identifier: Apache-2.0
// The probe `prompt` computed recipe by recipe and query by query from spec sections 5 and 6, in
// double: slow, and written without the code it checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/calibrate/calibrate.h"

namespace lamina::testing {

using Positions = std::vector<std::int64_t>;

// S of one layer, (grid.size()); survivors: per keep of the grid.
std::vector<double> naive_sensitivity(const Model& model, const std::vector<std::int32_t>& ids,
                                      int layer, const std::vector<Positions>& survivors,
                                      const ConfigGrid& grid);

// The survivors of one layer and keep: streaming, keydiff, or triattention (spec section 4), whose
// keys are un-rotated from the post-RoPE ones as a cache would do it. statistics_ids:
// triattention's.
Positions naive_survivors(const Model& model, const std::vector<std::int32_t>& ids,
                          const std::vector<std::int32_t>& statistics_ids,
                          const std::string& scorer, int layer, double keep);

// The engine's own probe with a limit on the temporary tensors.
std::vector<double> blocked_sensitivity(const Model& model, const std::vector<std::int32_t>& ids,
                                        int layer, const std::vector<Positions>& survivors,
                                        const ConfigGrid& grid, std::int64_t block_bytes);

// What the engine says of K and V of 4 heads and 9 tokens when one value of K or of V is `bad`.
Status checked_planes(bool in_v, int layer, int head, int token, float bad);

}  // namespace lamina::testing
