// SPDX-License-Identifier: Apache-2.0
// From a tensor's name in a file to what the weight does, for the GGUF and the Hugging Face naming.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/checkpoint.h"

namespace lamina {

enum class NameScheme : int { kGguf = 0, kHuggingFace = 1 };

struct WeightKey {
  TensorRole role;
  int layer;  // -1 for the global ones
  auto operator<=>(const WeightKey&) const = default;
};

// nullopt for a name that plays no part in the architectures that run. `architecture` decides what
// the Hugging Face name "post_attention_layernorm" means (gemma3 has norms on both sides).
std::optional<WeightKey> weight_key(NameScheme scheme, std::string_view architecture,
                                    std::string_view name);

// The name that weight_key() reads as `key`, for errors about a weight that is not there.
std::string weight_name(NameScheme scheme, std::string_view architecture, const WeightKey& key);

// Tensors that a text model's forward leaves alone: stored rotary tables and vision towers.
bool is_unused_weight(NameScheme scheme, std::string_view name);

}  // namespace lamina
