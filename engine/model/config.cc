// SPDX-License-Identifier: Apache-2.0
#include "engine/model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/model/support.h"

namespace lamina {

std::int64_t ModelConfig::kv_bytes_per_token() const {
  const auto unknown = [](const LayerGeometry& layer) {
    return layer.kv_heads < 0 || layer.head_dim < 0;
  };
  if (layers < 0 || (kv.empty() && layers > 0) || std::any_of(kv.begin(), kv.end(), unknown)) {
    return -1;
  }
  std::int64_t values = 0;
  for (std::size_t i = 0; i < kv.size(); ++i) {
    values +=
        i < kv_values.size() ? kv_values[i] : std::int64_t{2} * kv[i].kv_heads * kv[i].head_dim;
  }
  return 2 * values;
}

bool is_known_architecture(std::string_view architecture) {
  constexpr std::array<std::string_view, 4> kKnown = {"llama", "qwen2", "qwen3", "gemma3"};
  return std::find(kKnown.begin(), kKnown.end(), architecture) != kKnown.end();
}

void add_reason(ModelConfig& config, const std::string& reason) {
  std::string& text = config.unsupported_reason;
  if (text.empty()) {
    text = reason;
  } else if (("; " + text + "; ").find("; " + reason + "; ") == std::string::npos) {
    text += "; " + reason;
  }
}

Status finish_config(ModelConfig& config, const std::string& where, Cut cut) {
  config.supported = config.unsupported_reason.empty() && cut < Cut::kDirectory;
  if (cut == Cut::kMetadata) return Status::ok();
  if (is_known_architecture(config.architecture) && config.unsupported_reason.empty()) {
    auto fault = [&](std::string what) {
      return Status::bad_input(std::move(what), where, "the checkpoint is damaged");
    };
    if (config.layers < 1 || config.hidden < 1 || config.intermediate < 1 || config.heads < 1 ||
        (config.vocab < 1 && cut < Cut::kDirectory) || config.context_length < 1 ||
        config.kv.size() != static_cast<std::size_t>(config.layers)) {
      return fault("a size of the model is missing or zero");
    }
    for (std::size_t i = 0; i < config.kv.size(); ++i) {
      const LayerGeometry& layer = config.kv[i];
      if (layer.kv_heads < 1 || layer.head_dim < 2 || layer.head_dim % 2 != 0) {
        return fault(fmt::format("layer {} has {} KV heads of {} values; an even width is needed",
                                 i, layer.kv_heads, layer.head_dim));
      }
    }
    for (const RopeConfig* rope : {&config.rope, &config.rope_local}) {
      if (rope->rotary_dim < 0 || rope->rotary_dim % 2 != 0 ||
          rope->rotary_dim > config.kv[0].head_dim) {
        return fault(fmt::format("{} rotated dimensions of a head of {} are impossible",
                                 rope->rotary_dim, config.kv[0].head_dim));
      }
      if (!(rope->theta > 1) || !(rope->factor > 0)) {
        return fault(
            fmt::format("the rope base {} or factor {} is impossible", rope->theta, rope->factor));
      }
    }
  }
  return Status::ok();
}

}  // namespace lamina
