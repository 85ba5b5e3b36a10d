// SPDX-License-Identifier: Apache-2.0
// The uncompressed cache: float32 K and V of every token, or of the window on windowed layers.
// Includes ATen: only for .cc files of targets that link LibTorch.
#pragma once

#include <memory>
#include <vector>

#include "engine/model/kv_interface.h"

namespace lamina {

class FullCache : public KvCache {
 public:
  // expected_tokens: room for so many is taken when the first token comes; buffers double when
  // full. REQUIRES a non-null transformer that outlives the cache.
  FullCache(const Transformer* transformer, std::int64_t expected_tokens);

  Result<at::Tensor> attend(int layer, const LayerQkv& qkv, std::int64_t first_position) override;
  Status end_prompt(int layer) override;
  KvLayerUse use(int layer) const override;

 private:
  struct Layer {
    at::Tensor k, v;         // (kv_heads, capacity, head_dim); tokens begin..end are held
    std::int64_t begin = 0;  // moves forward on windowed layers
    std::int64_t end = 0;
    std::int64_t next_position = 0;
  };
  void make_room(Layer& layer, const LayerQkv& qkv, std::int64_t window) const;

  const Transformer* transformer_;
  std::int64_t expected_tokens_;
  std::vector<Layer> layers_;
};

}  // namespace lamina
