// SPDX-License-Identifier: Apache-2.0
// One layer of the uncompressed model over a whole prompt, in pieces small enough that a job can be
// cancelled between them. Includes ATen: for .cc files of this room only.
#pragma once

#include <ATen/ATen.h>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/transformer.h"

namespace lamina {

// Queries, keys and values of all tokens of x (tokens, hidden), which begin at position 0.
// Errors: cancelled.
Result<LayerQkv> layer_qkv(const Transformer& transformer, int layer, const at::Tensor& x,
                           const JobContext& context);

// The hidden states (tokens, hidden) that leave the layer which x entered. Errors: cancelled.
Result<at::Tensor> finish_layer(const Transformer& transformer, int layer, const at::Tensor& x,
                                const LayerQkv& qkv, const JobContext& context);

// The first NaN or Inf of K or V. Errors: kBadInput naming layer, head and token.
Status check_finite(const LayerQkv& qkv, int layer);

}  // namespace lamina
