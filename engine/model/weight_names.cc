// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_names.h"

#include <array>
#include <charconv>

namespace lamina {
namespace {

struct NamedRole {
  std::string_view name;
  TensorRole role;
};

constexpr auto kGgufGlobal = std::to_array<NamedRole>({
    {"token_embd.weight", TensorRole::kEmbedding},
    {"output.weight", TensorRole::kOutput},
    {"output_norm.weight", TensorRole::kOutputNorm},
});

constexpr auto kGgufLayer = std::to_array<NamedRole>({
    {"attn_norm.weight", TensorRole::kAttnNorm},
    {"attn_q.weight", TensorRole::kQ},
    {"attn_k.weight", TensorRole::kK},
    {"attn_v.weight", TensorRole::kV},
    {"attn_output.weight", TensorRole::kO},
    {"attn_q.bias", TensorRole::kQBias},
    {"attn_k.bias", TensorRole::kKBias},
    {"attn_v.bias", TensorRole::kVBias},
    {"attn_q_norm.weight", TensorRole::kQNorm},
    {"attn_k_norm.weight", TensorRole::kKNorm},
    {"post_attention_norm.weight", TensorRole::kPostAttnNorm},
    {"ffn_norm.weight", TensorRole::kMlpNorm},
    {"ffn_gate.weight", TensorRole::kGate},
    {"ffn_up.weight", TensorRole::kUp},
    {"ffn_down.weight", TensorRole::kDown},
    {"post_ffw_norm.weight", TensorRole::kPostMlpNorm},
});

constexpr auto kHfGlobal = std::to_array<NamedRole>({
    {"model.embed_tokens.weight", TensorRole::kEmbedding},
    {"lm_head.weight", TensorRole::kOutput},
    {"model.norm.weight", TensorRole::kOutputNorm},
});

constexpr auto kHfLayer = std::to_array<NamedRole>({
    {"input_layernorm.weight", TensorRole::kAttnNorm},
    {"self_attn.q_proj.weight", TensorRole::kQ},
    {"self_attn.k_proj.weight", TensorRole::kK},
    {"self_attn.v_proj.weight", TensorRole::kV},
    {"self_attn.o_proj.weight", TensorRole::kO},
    {"self_attn.q_proj.bias", TensorRole::kQBias},
    {"self_attn.k_proj.bias", TensorRole::kKBias},
    {"self_attn.v_proj.bias", TensorRole::kVBias},
    {"self_attn.q_norm.weight", TensorRole::kQNorm},
    {"self_attn.k_norm.weight", TensorRole::kKNorm},
    {"post_attention_layernorm.weight", TensorRole::kMlpNorm},  // gemma3: kPostAttnNorm
    {"pre_feedforward_layernorm.weight", TensorRole::kMlpNorm},
    {"post_feedforward_layernorm.weight", TensorRole::kPostMlpNorm},
    {"mlp.gate_proj.weight", TensorRole::kGate},
    {"mlp.up_proj.weight", TensorRole::kUp},
    {"mlp.down_proj.weight", TensorRole::kDown},
});

std::optional<TensorRole> look_up(std::span<const NamedRole> table, std::string_view name) {
  for (const NamedRole& entry : table) {
    if (entry.name == name) return entry.role;
  }
  return std::nullopt;
}

// Splits "<prefix><number>.<rest>"; false where the name is not of that form.
bool split_layer(std::string_view name, std::string_view prefix, int& layer,
                 std::string_view& rest) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || layer < 0 || end == name.data() + name.size() || *end != '.')
    return false;
  if (name[0] == '0' && end != name.data() + 1) return false;  // "01" would alias "1"
  rest = name.substr(static_cast<std::size_t>(end - name.data()) + 1);
  return true;
}

// "model.X" from the places where multimodal files put their text model.
std::string text_model_name(std::string_view name) {
  for (std::string_view prefix : {"model.language_model.", "language_model.model."}) {
    if (name.starts_with(prefix)) return "model." + std::string(name.substr(prefix.size()));
  }
  if (name.starts_with("language_model.lm_head.")) name.remove_prefix(15);
  return std::string(name);
}

std::optional<WeightKey> gguf_key(std::string_view name) {
  if (auto role = look_up(kGgufGlobal, name)) return WeightKey{*role, -1};
  int layer = 0;
  std::string_view rest;
  if (!split_layer(name, "blk.", layer, rest)) return std::nullopt;
  auto role = look_up(kGgufLayer, rest);
  return role ? std::optional(WeightKey{*role, layer}) : std::nullopt;
}

std::optional<WeightKey> hf_key(std::string_view architecture, std::string_view original) {
  std::string name = text_model_name(original);
  if (auto role = look_up(kHfGlobal, name)) return WeightKey{*role, -1};
  int layer = 0;
  std::string_view rest;
  if (!split_layer(name, "model.layers.", layer, rest)) return std::nullopt;
  auto role = look_up(kHfLayer, rest);
  if (!role) return std::nullopt;
  bool gemma = architecture == "gemma3";
  if (rest == "post_attention_layernorm.weight" && gemma)
    return WeightKey{TensorRole::kPostAttnNorm, layer};
  if (rest.find("_feedforward_") != std::string_view::npos && !gemma) return std::nullopt;
  return WeightKey{*role, layer};
}

}  // namespace

std::optional<WeightKey> weight_key(NameScheme scheme, std::string_view architecture,
                                    std::string_view name) {
  return scheme == NameScheme::kGguf ? gguf_key(name) : hf_key(architecture, name);
}

std::string weight_name(NameScheme scheme, std::string_view architecture, const WeightKey& key) {
  const bool gguf = scheme == NameScheme::kGguf;
  const auto named = [&](std::span<const NamedRole> table, const std::string& prefix) {
    for (const NamedRole& entry : table) {
      std::string name = prefix + std::string(entry.name);
      if (weight_key(scheme, architecture, name) == key) return name;
    }
    return std::string();
  };
  if (key.layer < 0) {
    return gguf ? named(kGgufGlobal, "") : named(kHfGlobal, "");
  }
  const std::string layer = std::to_string(key.layer) + ".";
  return gguf ? named(kGgufLayer, "blk." + layer) : named(kHfLayer, "model.layers." + layer);
}

bool is_unused_weight(NameScheme scheme, std::string_view name) {
  if (scheme == NameScheme::kGguf) return name == "rope_freqs.weight";
  if (name.ends_with(".rotary_emb.inv_freq")) return true;
  for (std::string_view prefix : {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                                  "model.multi_modal_projector."}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::string_view to_string(TensorRole role) {
  switch (role) {
    case TensorRole::kEmbedding:
      return "token embedding";
    case TensorRole::kOutput:
      return "output head";
    case TensorRole::kOutputNorm:
      return "output norm";
    case TensorRole::kAttnNorm:
      return "attention norm";
    case TensorRole::kQ:
      return "query projection";
    case TensorRole::kK:
      return "key projection";
    case TensorRole::kV:
      return "value projection";
    case TensorRole::kO:
      return "attention output projection";
    case TensorRole::kQBias:
      return "query bias";
    case TensorRole::kKBias:
      return "key bias";
    case TensorRole::kVBias:
      return "value bias";
    case TensorRole::kQNorm:
      return "query norm";
    case TensorRole::kKNorm:
      return "key norm";
    case TensorRole::kPostAttnNorm:
      return "norm after attention";
    case TensorRole::kMlpNorm:
      return "MLP norm";
    case TensorRole::kGate:
      return "MLP gate projection";
    case TensorRole::kUp:
      return "MLP up projection";
    case TensorRole::kDown:
      return "MLP down projection";
    case TensorRole::kPostMlpNorm:
      return "norm after the MLP";
  }
  return "unknown role";
}

}  // namespace lamina
