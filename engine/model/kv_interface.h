// SPDX-License-Identifier: Apache-2.0
// Through this attention reads and writes K and V, so that the transformer does not know how a
// cache keeps them. One object holds one sequence; it is not thread-safe. Includes ATen: only for
// .cc files of targets that link LibTorch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "engine/base/status.h"
#include "engine/model/transformer.h"

namespace lamina {

// What a layer holds now.
struct KvLayerUse {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;  // allocated
  int k_bits = 0;
  int v_bits = 0;
};

class KvCache {
 public:
  virtual ~KvCache() = default;

  // Takes the next tokens of the stream, which stand at first_position and after, and returns the
  // causal attention of their queries over what the layer holds, their own K, V included: (heads,
  // tokens, head_dim). A layer gets its tokens in order and without gaps; layers are independent of
  // each other. Errors: kRuntime naming the layer (and head and token where a cache that rounds
  // meets NaN or Inf).
  virtual Result<at::Tensor> attend(int layer, const LayerQkv& qkv,
                                    std::int64_t first_position) = 0;

  // The layer has been given a whole prompt: its attention used the unrounded K, V of that prompt,
  // and what is kept for later tokens may be packed and evicted now (spec section 8).
  virtual Status end_prompt(int layer) = 0;

  virtual KvLayerUse use(int layer) const = 0;
};

}  // namespace lamina
