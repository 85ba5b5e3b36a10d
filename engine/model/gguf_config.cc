// SPDX-License-Identifier: Apache-2.0
#include "engine/model/gguf_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/model/dequant.h"
#include "engine/model/support.h"

namespace lamina {
namespace {

constexpr std::int64_t kMaxContext = std::int64_t{1} << 40;

// Keys of one architecture: "<architecture>.<name>".
class Keys {
 public:
  Keys(const GgufMetadata& metadata, std::string architecture)
      : metadata_(metadata), architecture_(std::move(architecture)) {}

  std::string key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }
  bool has(std::string_view name) const { return metadata_.find(key(name)) != nullptr; }
  // Not read, but possibly in the part of the file that is missing.
  bool unknown(std::string_view name) const { return !metadata_.whole && !has(name); }
  // -1 where it is unknown.
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback, std::int64_t min,
                               std::int64_t max) const {
    if (unknown(name)) return std::int64_t{-1};
    return metadata_.integer(key(name), fallback, min, max);
  }
  Result<double> number(std::string_view name, double fallback) const {
    return metadata_.number(key(name), fallback);
  }
  // -1 for every layer where it is unknown, nothing where the number of layers is.
  Result<std::vector<std::int64_t>> per_layer(std::string_view name, int layers,
                                              std::int64_t fallback, std::int64_t min,
                                              std::int64_t max) const {
    if (layers < 0) return std::vector<std::int64_t>();
    const auto count = static_cast<std::size_t>(layers);
    if (unknown(name)) return std::vector<std::int64_t>(count, -1);
    return metadata_.per_layer(key(name), count, fallback, min, max);
  }
  const GgufMetadata& metadata() const { return metadata_; }
  Status missing(std::string_view name) const {
    return Status::bad_input(fmt::format("'{}' is missing", key(name)), metadata_.where,
                             "the file is damaged or was written by a faulty converter");
  }

 private:
  const GgufMetadata& metadata_;
  std::string architecture_;
};

// The largest value of all layers; nothing is known where the number of layers is not.
int largest(const std::vector<std::int64_t>& values, const ModelConfig& config) {
  if (values.empty()) return config.layers < 0 ? -1 : 0;
  return static_cast<int>(*std::max_element(values.begin(), values.end()));
}

// Sizes. A known architecture must say them; of others, what is there is listed.
Status read_sizes(const Keys& keys, bool known, ModelConfig& config) {
  if (known && keys.metadata().whole) {
    for (std::string_view name :
         {"block_count", "embedding_length", "feed_forward_length", "attention.head_count",
          "context_length", "attention.layer_norm_rms_epsilon"}) {
      if (!keys.has(name)) return keys.missing(name);
    }
  }
  std::int64_t least = known ? 1 : 0;
  LAMINA_ASSIGN_OR_RETURN(std::int64_t layers, keys.integer("block_count", 0, least, kMaxLayers));
  config.layers = static_cast<int>(layers);
  LAMINA_ASSIGN_OR_RETURN(std::int64_t hidden,
                          keys.integer("embedding_length", 0, least, kMaxWidth));
  config.hidden = static_cast<int>(hidden);
  LAMINA_ASSIGN_OR_RETURN(
      auto widths, keys.per_layer("feed_forward_length", config.layers, 0, least, kMaxWidth));
  config.intermediate = largest(widths, config);
  if (known &&
      std::adjacent_find(widths.begin(), widths.end(), std::not_equal_to<>()) != widths.end()) {
    add_reason(config, "MLP widths that differ between layers");
  }
  LAMINA_ASSIGN_OR_RETURN(
      auto heads, keys.per_layer("attention.head_count", config.layers, 0, least, kMaxHeads));
  config.heads = largest(heads, config);
  if (known &&
      std::adjacent_find(heads.begin(), heads.end(), std::not_equal_to<>()) != heads.end()) {
    add_reason(config, "query head counts that differ between layers");
  }
  LAMINA_ASSIGN_OR_RETURN(config.context_length,
                          keys.integer("context_length", 0, least, kMaxContext));
  config.norm_eps = -1;
  if (keys.unknown("attention.layer_norm_rms_epsilon")) return Status::ok();
  LAMINA_ASSIGN_OR_RETURN(config.norm_eps, keys.number("attention.layer_norm_rms_epsilon", 1e-5));
  if (known && !(config.norm_eps > 0 && config.norm_eps < 1)) {
    return keys.metadata().wrong_type(keys.key("attention.layer_norm_rms_epsilon"),
                                      "between 0 and 1");
  }
  return Status::ok();
}

// Which layers attend to a window: a list of truth values, a period (every n-th layer is global),
// or the architecture's own period where the file does not say.
Result<std::vector<bool>> windowed_layers(const Keys& keys, const ModelConfig& config) {
  auto count = static_cast<std::size_t>(config.layers);
  std::vector<bool> windowed(count, false);
  std::int64_t period = 0;  // 0: all layers
  if (config.architecture == "gemma3") period = 6;
  if (config.architecture == "gemma2" || config.architecture == "gpt-oss") period = 2;
  if (config.architecture == "cohere2") period = 4;
  std::string key = keys.key("attention.sliding_window_pattern");
  const GgufValue* pattern = keys.metadata().find(key);
  if (pattern != nullptr && !std::holds_alternative<std::int64_t>(*pattern)) {
    if (const auto* flags = std::get_if<std::vector<bool>>(pattern);
        flags != nullptr && flags->size() == count) {
      return *flags;
    }
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(pattern);
        numbers != nullptr && numbers->size() == count) {
      for (std::size_t i = 0; i < count; ++i) windowed[i] = (*numbers)[i] != 0;
      return windowed;
    }
    return keys.metadata().wrong_type(key,
                                      fmt::format("a period or a list of {} truth values", count));
  }
  LAMINA_ASSIGN_OR_RETURN(period, keys.metadata().integer(key, period, 0, kMaxLayers));
  for (std::size_t i = 0; i < count; ++i) {
    auto index = static_cast<std::int64_t>(i);
    windowed[i] = period == 0 || index % period < period - 1;
  }
  return windowed;
}

Status read_geometry(const Keys& keys, bool known, ModelConfig& config) {
  LAMINA_ASSIGN_OR_RETURN(auto kv_heads, keys.per_layer("attention.head_count_kv", config.layers,
                                                        config.heads, known ? 1 : 0, kMaxHeads));
  std::int64_t even = config.heads > 0 ? config.hidden / config.heads : 0;
  LAMINA_ASSIGN_OR_RETURN(std::int64_t k_dim,
                          keys.integer("attention.key_length", even, known ? 1 : 0, kMaxHeadDim));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t v_dim,
                          keys.integer("attention.value_length", even, known ? 1 : 0, kMaxHeadDim));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t k_local,
                          keys.integer("attention.key_length_swa", k_dim, 0, kMaxHeadDim));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t v_local,
                          keys.integer("attention.value_length_swa", v_dim, 0, kMaxHeadDim));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t window,
                          keys.integer("attention.sliding_window", 0, 0, kMaxContext));
  LAMINA_ASSIGN_OR_RETURN(std::vector<bool> windowed, windowed_layers(keys, config));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t latent,
                          keys.integer("attention.kv_lora_rank", 0, 0, kMaxHeadDim / 2));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t latent_rope,
                          keys.integer("rope.dimension_count", 0, 0, kMaxHeadDim / 2));
  for (std::size_t i = 0; i < kv_heads.size(); ++i) {
    bool local = window > 0 && windowed[i];
    std::int64_t k = local ? k_local : k_dim, v = local ? v_local : v_dim;
    LayerGeometry layer{static_cast<int>(kv_heads[i]), static_cast<int>(k), local ? window : 0};
    std::int64_t values = kv_heads[i] * (k + v);
    if (latent > 0) {
      layer.kv_heads = 1;
      layer.head_dim = static_cast<int>(latent + latent_rope);
      values = latent + latent_rope;
    }
    config.kv.push_back(layer);
    config.kv_values.push_back(values);
    if (k != v && latent == 0) add_reason(config, "keys and values of different widths");
    if (k != k_dim) add_reason(config, "head widths that differ between layers");
    if (known && config.heads % layer.kv_heads != 0) {
      return keys.metadata().wrong_type(
          keys.key("attention.head_count_kv"),
          fmt::format("a divisor of the {} query heads", config.heads));
    }
  }
  if (latent > 0) add_reason(config, "multi-head latent attention (MLA)");
  return Status::ok();
}

// Of metadata that are cut: what the keys of an architecture that runs say themselves. A window is
// unknown, and so is all of an architecture whose other keys could change what these mean.
Status read_known_geometry(const Keys& keys, ModelConfig& config) {
  LAMINA_ASSIGN_OR_RETURN(
      auto kv_heads, keys.per_layer("attention.head_count_kv", config.layers, -1, 1, kMaxHeads));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t k, keys.integer("attention.key_length", -1, 1, kMaxHeadDim));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t v,
                          keys.integer("attention.value_length", -1, 1, kMaxHeadDim));
  for (std::int64_t heads : kv_heads) {
    config.kv.push_back({static_cast<int>(heads), k == v ? static_cast<int>(k) : -1, -1});
  }
  return Status::ok();
}

Status read_rope_scaling(const Keys& keys, RopeConfig& rope, ModelConfig& config) {
  LAMINA_ASSIGN_OR_RETURN(double old_factor, keys.number("rope.scale_linear", 0));
  LAMINA_ASSIGN_OR_RETURN(double factor, keys.number("rope.scaling.factor", old_factor));
  LAMINA_ASSIGN_OR_RETURN(std::string type, keys.metadata().text(keys.key("rope.scaling.type"),
                                                                 factor > 0 ? "linear" : "none"));
  if (type == "none" || (type == "linear" && factor == 0)) return Status::ok();
  if (factor <= 0 && (type == "linear" || type == "yarn"))
    return keys.missing("rope.scaling.factor");
  rope.factor = factor;
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
    return Status::ok();
  }
  if (type != "yarn") {
    add_reason(config, fmt::format("rope scaling '{}'", type));
    return Status::ok();
  }
  rope.scaling = RopeScaling::kYarn;
  LAMINA_ASSIGN_OR_RETURN(
      rope.original_context,
      keys.integer("rope.scaling.original_context_length", config.context_length, 1, kMaxContext));
  LAMINA_ASSIGN_OR_RETURN(rope.beta_fast, keys.number("rope.scaling.yarn_beta_fast", 32));
  LAMINA_ASSIGN_OR_RETURN(rope.beta_slow, keys.number("rope.scaling.yarn_beta_slow", 1));
  LAMINA_ASSIGN_OR_RETURN(double attn_factor, keys.number("rope.scaling.attn_factor", 1));
  LAMINA_ASSIGN_OR_RETURN(double yarn_attn_factor, keys.number("rope.scaling.yarn_attn_factor", 1));
  LAMINA_ASSIGN_OR_RETURN(double ext_factor, keys.number("rope.scaling.yarn_ext_factor", 1));
  LAMINA_ASSIGN_OR_RETURN(double log_mul, keys.number("rope.scaling.yarn_log_multiplier", 0));
  // Both attention factors multiply the magnitude 0.1 ln(factor) + 1.
  double extra = attn_factor * yarn_attn_factor;
  if (extra != 1) rope.attention_factor = extra * (0.1 * std::log(std::max(1.0, factor)) + 1);
  if (ext_factor != 1) add_reason(config, "a yarn extrapolation factor");
  if (log_mul != 0) add_reason(config, "a yarn log multiplier");
  return Status::ok();
}

Status read_rope(const Keys& keys, const GgufTensorMap& tensors, ModelConfig& config) {
  int head_dim = config.kv.empty() ? 0 : config.kv[0].head_dim;
  RopeConfig& rope = config.rope;
  LAMINA_ASSIGN_OR_RETURN(rope.theta, keys.number("rope.freq_base", 10000));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t rotary,
                          keys.integer("rope.dimension_count", head_dim, 0, kMaxHeadDim));
  rope.rotary_dim = static_cast<int>(rotary);
  LAMINA_RETURN_IF_ERROR(read_rope_scaling(keys, rope, config));
  if (auto it = tensors.find("rope_freqs.weight"); it != tensors.end()) {
    const GgufTensor& tensor = *it->second;
    if (tensor.elements != rotary / 2 || tensor.type->encoding != Encoding::kF32) {
      return Status::bad_input(
          fmt::format("tensor 'rope_freqs.weight' holds {} {} values, expected {} F32",
                      tensor.elements, tensor.type->name, rotary / 2),
          keys.metadata().where, "the file is damaged");
    }
    if (!tensor.data.empty()) {
      rope.freq_divisors.resize(static_cast<std::size_t>(tensor.elements));
      dequantize(*tensor.type, tensor.data, rope.freq_divisors, 1);
      for (float divisor : rope.freq_divisors) {
        if (!(std::isfinite(divisor) && divisor > 0)) {
          return Status::bad_input("tensor 'rope_freqs.weight' holds a value that is not positive",
                                   keys.metadata().where, "the file is damaged");
        }
      }
    }
  }
  if (tensors.contains("rope_factors_long.weight")) add_reason(config, "rope scaling 'longrope'");
  config.rope_local = rope;
  if (config.architecture == "gemma3") {
    config.rope_local = RopeConfig{};
    config.rope_local.rotary_dim = rope.rotary_dim;
    LAMINA_ASSIGN_OR_RETURN(config.rope_local.theta, keys.number("rope.freq_base_swa", 10000));
  } else {
    LAMINA_ASSIGN_OR_RETURN(config.rope_local.theta, keys.number("rope.freq_base_swa", rope.theta));
  }
  return Status::ok();
}

// Features that the forward does not compute.
Status read_refusals(const Keys& keys, const GgufTensorMap& tensors, ModelConfig& config) {
  LAMINA_ASSIGN_OR_RETURN(std::int64_t experts, keys.integer("expert_count", 0, 0, 1 << 20));
  if (experts > 0) add_reason(config, fmt::format("experts ({})", experts));
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(".attn_sinks.weight")) {
      add_reason(config, "learned attention sinks");
      break;
    }
  }
  struct Neutral {
    std::string_view name;
    double value;
    std::string_view reason;
  };
  for (const Neutral& item : {Neutral{"attn_logit_softcapping", 0, "attention logit soft-capping"},
                              Neutral{"attention.max_alibi_bias", 0, "ALiBi"},
                              Neutral{"attention.clamp_kqv", 0, "clamped q, k, v"},
                              Neutral{"attention.temperature_scale", 0, "an attention temperature"},
                              Neutral{"logit_scale", 1, "a logit scale"},
                              Neutral{"residual_scale", 1, "a residual scale"},
                              Neutral{"embedding_scale", 1, "an embedding scale"}}) {
    LAMINA_ASSIGN_OR_RETURN(double value, keys.number(item.name, item.value));
    if (value != item.value && value != 0) add_reason(config, std::string(item.reason));
  }
  LAMINA_ASSIGN_OR_RETURN(bool causal, keys.metadata().boolean(keys.key("attention.causal"), true));
  if (!causal) add_reason(config, "attention that is not causal");
  return Status::ok();
}

Status read_architecture(const Keys& keys, const GgufTensorMap& tensors, ModelConfig& config) {
  config.tied_embeddings = !tensors.contains("output.weight");
  config.qkv_bias = config.architecture == "qwen2" || tensors.contains("blk.0.attn_q.bias");
  config.qk_norm = config.architecture == "qwen3" || config.architecture == "gemma3";
  LAMINA_ASSIGN_OR_RETURN(config.attention_scale, keys.number("attention.scale", 0));
  if (config.attention_scale < 0 || config.attention_scale > kMaxAttentionScale) {
    return keys.metadata().wrong_type(keys.key("attention.scale"),
                                      fmt::format("from 0 (the usual) to {}", kMaxAttentionScale));
  }
  LAMINA_ASSIGN_OR_RETURN(config.final_logit_softcap, keys.number("final_logit_softcapping", 0));
  if (config.architecture == "gemma3") {
    config.post_norms = true;
    config.gelu_tanh = true;
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
    // The 27B model, the one with 62 layers, scales by hidden / heads = 168 instead of its head
    // width; its files do not say so.
    if (config.attention_scale == 0 && config.layers == 62) {
      config.attention_scale = 1 / std::sqrt(static_cast<double>(config.hidden) / config.heads);
    }
  } else if (config.final_logit_softcap != 0) {
    add_reason(config, "final logit soft-capping");
  }
  return Status::ok();
}

// A file that ends before its architecture.
ModelConfig unknown_config() {
  ModelConfig config;
  config.layers = config.hidden = config.intermediate = config.heads = -1;
  config.vocab = config.context_length = -1;
  config.norm_eps = -1;
  return config;
}

}  // namespace

Result<ModelConfig> gguf_config(const GgufMetadata& metadata, const GgufTensorMap& tensors) {
  ModelConfig config;
  LAMINA_ASSIGN_OR_RETURN(config.architecture, metadata.text("general.architecture", ""));
  if (config.architecture.empty() && !metadata.whole) return unknown_config();
  if (config.architecture.empty()) {
    return Status::bad_input("'general.architecture' is missing", metadata.where,
                             "the file holds no model or is damaged");
  }
  LAMINA_ASSIGN_OR_RETURN(config.name, metadata.text("general.name", ""));
  bool known = is_known_architecture(config.architecture);
  if (!known) add_reason(config, fmt::format("architecture '{}'", config.architecture));
  Keys keys(metadata, config.architecture);
  LAMINA_RETURN_IF_ERROR(read_sizes(keys, known, config));
  if (!metadata.whole) {
    LAMINA_ASSIGN_OR_RETURN(config.vocab, keys.integer("vocab_size", -1, 0, kMaxVocab));
    if (known) LAMINA_RETURN_IF_ERROR(read_known_geometry(keys, config));
    return config;
  }
  LAMINA_RETURN_IF_ERROR(read_refusals(keys, tensors, config));
  LAMINA_RETURN_IF_ERROR(read_geometry(keys, known, config));
  LAMINA_RETURN_IF_ERROR(read_rope(keys, tensors, config));
  LAMINA_RETURN_IF_ERROR(read_architecture(keys, tensors, config));
  LAMINA_ASSIGN_OR_RETURN(config.vocab, keys.integer("vocab_size", 0, 0, kMaxVocab));
  if (auto it = tensors.find("token_embd.weight");
      it != tensors.end() && it->second->shape.size() == 2) {
    config.vocab = it->second->shape[0];
  }
  return config;
}

}  // namespace lamina
