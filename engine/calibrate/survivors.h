// SPDX-License-Identifier: Apache-2.0
// Which tokens a layer keeps (spec sections 3 and 4). Includes ATen: for .cc files of this room
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/calibrate/query_statistics.h"
#include "engine/model/transformer.h"

namespace lamina {

struct SurvivorRule {
  std::string scorer;  // "streaming", "keydiff" or "triattention"
  int sinks = 4;
  int recent = 128;
  std::vector<double> keep;
};

// For every keep of the rule the ascending positions that survive among the layer's last
// min(tokens, window) tokens. statistics: of this layer, null unless the scorer is triattention.
std::vector<std::vector<std::int64_t>> layer_survivors(const Transformer& transformer, int layer,
                                                       const LayerQkv& qkv,
                                                       const SurvivorRule& rule,
                                                       const QueryStatistics* statistics);

// min(tokens, window) of the layer: the tokens that its cache can hold at the end of the prompt.
std::int64_t layer_tokens(const ModelConfig& config, int layer, std::int64_t tokens);

}  // namespace lamina
