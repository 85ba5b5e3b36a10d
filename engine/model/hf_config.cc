// SPDX-License-Identifier: Apache-2.0
#include "engine/model/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/model/json_fields.h"
#include "engine/model/support.h"

namespace lamina {
namespace {

constexpr std::int64_t kMaxContext = std::int64_t{1} << 40;

// What a config.json may leave out, by model_type: the defaults of the published configuration
// classes.
struct Defaults {
  std::string_view model_type;
  std::string_view architecture;           // ours
  std::int64_t heads, kv_heads, head_dim;  // 0: as many as heads; hidden / heads
  std::int64_t window;
  bool window_is_optional;  // only where use_sliding_window says so
  bool tied;
};
constexpr std::array<Defaults, 6> kDefaults = {{
    {"llama", "llama", 32, 0, 0, 0, false, false},
    {"mistral", "llama", 32, 8, 0, 4096, false, false},
    {"qwen2", "qwen2", 32, 32, 0, 4096, true, false},
    {"qwen3", "qwen3", 32, 32, 128, 4096, true, false},
    {"gemma3_text", "gemma3", 8, 4, 256, 4096, false, true},
    {"gemma3", "gemma3", 8, 4, 256, 4096, false, true},
}};

const Defaults* find_defaults(std::string_view model_type) {
  auto it = std::find_if(kDefaults.begin(), kDefaults.end(),
                         [&](const Defaults& d) { return d.model_type == model_type; });
  return it == kDefaults.end() ? nullptr : &*it;
}

// The first of several names of one size that is there (older families have names of their own).
Result<std::int64_t> first_integer(const JsonFields& fields,
                                   std::initializer_list<const char*> keys, std::int64_t fallback,
                                   std::int64_t max) {
  for (const char* key : keys) {
    if (fields.has(key)) return fields.integer(key, fallback, 0, max);
  }
  return fallback;
}

Status read_sizes(const JsonFields& fields, const Defaults* known, ModelConfig& config) {
  LAMINA_ASSIGN_OR_RETURN(
      std::int64_t layers,
      first_integer(fields, {"num_hidden_layers", "n_layer", "num_layers"}, 0, kMaxLayers));
  LAMINA_ASSIGN_OR_RETURN(
      std::int64_t hidden,
      first_integer(fields, {"hidden_size", "n_embd", "d_model"}, 0, kMaxWidth));
  LAMINA_ASSIGN_OR_RETURN(
      std::int64_t inner,
      first_integer(fields, {"intermediate_size", "n_inner", "ffn_dim"}, 0, kMaxWidth));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t heads,
                          first_integer(fields, {"num_attention_heads", "n_head", "num_heads"},
                                        known ? known->heads : 0, kMaxHeads));
  LAMINA_ASSIGN_OR_RETURN(config.context_length,
                          first_integer(fields, {"max_position_embeddings", "n_positions", "n_ctx"},
                                        config.architecture == "gemma3" ? 131072 : 0, kMaxContext));
  LAMINA_ASSIGN_OR_RETURN(
      config.vocab,
      fields.integer("vocab_size", config.architecture == "gemma3" ? 262208 : 0, 0, kMaxVocab));
  LAMINA_ASSIGN_OR_RETURN(config.norm_eps, fields.number("rms_norm_eps", 1e-6));
  LAMINA_ASSIGN_OR_RETURN(config.tied_embeddings,
                          fields.boolean("tie_word_embeddings", known && known->tied));
  config.layers = static_cast<int>(layers);
  config.hidden = static_cast<int>(hidden);
  config.intermediate = static_cast<int>(inner);
  config.heads = static_cast<int>(heads);
  if (!known) return Status::ok();
  struct Needed {
    const char* key;
    std::int64_t value;
  };
  for (const Needed& needed :
       {Needed{"num_hidden_layers", layers}, Needed{"hidden_size", hidden},
        Needed{"intermediate_size", inner}, Needed{"num_attention_heads", heads},
        Needed{"max_position_embeddings", config.context_length},
        Needed{"vocab_size", config.vocab}}) {
    if (needed.value < 1) {
      return Status::bad_input(fmt::format("'{}' is missing or zero", needed.key), fields.where(),
                               "the folder is incomplete");
    }
  }
  if (!(config.norm_eps > 0 && config.norm_eps < 1)) {
    return Status::bad_input("'rms_norm_eps' must lie between 0 and 1", fields.where(),
                             "the file is damaged");
  }
  return Status::ok();
}

// The kind of each layer, where the file lists them: "full_attention", "sliding_attention", ...
Result<std::vector<std::string>> layer_types(const JsonFields& fields, const ModelConfig& config) {
  std::vector<std::string> types;
  const Json* list = fields.find("layer_types");
  if (list == nullptr) return types;
  if (!list->is_array() || list->size() != static_cast<std::size_t>(config.layers)) {
    return Status::bad_input(fmt::format("'layer_types' must list {} layers", config.layers),
                             fields.where(), "the file is damaged");
  }
  for (const Json& type : *list) {
    if (!type.is_string())
      return Status::bad_input("'layer_types' must be texts", fields.where(),
                               "the file is damaged");
    types.push_back(type.get<std::string>());
  }
  return types;
}

// Whether a layer attends to a window by the rule of its family, where layer_types is absent.
Result<bool> windowed_by_rule(const JsonFields& fields, const std::string& model_type, int layer) {
  if (model_type == "llama") return false;
  if (model_type == "qwen2" || model_type == "qwen3") {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t from,
                            fields.integer("max_window_layers", 28, 0, kMaxLayers));
    return layer >= from;
  }
  std::int64_t usual = 0;  // every n-th layer is global; 0: none
  if (model_type.starts_with("gemma3")) usual = 6;
  if (model_type == "cohere2") usual = 4;
  if (model_type == "gemma2") usual = 2;
  const char* key =
      fields.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  LAMINA_ASSIGN_OR_RETURN(std::int64_t period, fields.integer(key, usual, 0, kMaxLayers));
  return period == 0 || (layer + 1) % period != 0;
}

// A null member means "none", an absent one the family's default.
Result<std::int64_t> window_size(const JsonFields& fields, const Json& text,
                                 const Defaults* known) {
  LAMINA_ASSIGN_OR_RETURN(bool use, fields.boolean("use_sliding_window",
                                                   known == nullptr || !known->window_is_optional));
  if (!use) return std::int64_t{0};
  std::int64_t usual = known != nullptr && !text.contains("sliding_window") ? known->window : 0;
  return fields.integer("sliding_window", usual, 0, kMaxContext);
}

Result<LayerGeometry> head_geometry(const JsonFields& fields, const Json& text,
                                    const Defaults* known, const ModelConfig& config) {
  std::int64_t usual_kv = config.heads,
               usual_dim = config.heads > 0 ? config.hidden / config.heads : 0;
  if (known != nullptr && known->kv_heads > 0 && !text.contains("num_key_value_heads"))
    usual_kv = known->kv_heads;
  if (known != nullptr && known->head_dim > 0 && !text.contains("head_dim"))
    usual_dim = known->head_dim;
  LAMINA_ASSIGN_OR_RETURN(bool multi_query, fields.boolean("multi_query", false));
  if (multi_query) usual_kv = 1;
  std::int64_t least = known != nullptr ? 1 : 0;
  LAMINA_ASSIGN_OR_RETURN(std::int64_t kv_heads,
                          fields.integer("num_key_value_heads", usual_kv, least, kMaxHeads));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t head_dim,
                          fields.integer("head_dim", usual_dim, least, kMaxHeadDim));
  if (known != nullptr && config.heads % kv_heads != 0) {
    return Status::bad_input(
        fmt::format("{} query heads cannot share {} KV heads", config.heads, kv_heads),
        fields.where(), "the file is damaged");
  }
  return LayerGeometry{static_cast<int>(kv_heads), static_cast<int>(head_dim), 0};
}

Status read_geometry(const JsonFields& fields, const Json& text, const std::string& model_type,
                     const Defaults* known, ModelConfig& config) {
  LAMINA_ASSIGN_OR_RETURN(LayerGeometry usual, head_geometry(fields, text, known, config));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t window, window_size(fields, text, known));
  LAMINA_ASSIGN_OR_RETURN(std::vector<std::string> types, layer_types(fields, config));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t latent,
                          fields.integer("kv_lora_rank", 0, 0, kMaxHeadDim / 2));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t latent_rope,
                          fields.integer("qk_rope_head_dim", 0, 0, kMaxHeadDim / 2));
  if (latent > 0) {
    usual = {1, static_cast<int>(latent + latent_rope), 0};
    add_reason(config, "multi-head latent attention (MLA)");
  }
  for (int i = 0; i < config.layers; ++i) {
    LayerGeometry layer = usual;
    LAMINA_ASSIGN_OR_RETURN(bool windowed, windowed_by_rule(fields, model_type, i));
    if (!types.empty()) {
      const std::string& type = types[static_cast<std::size_t>(i)];
      windowed = type == "sliding_attention";
      if (!windowed && type != "full_attention") {
        add_reason(config, fmt::format("layers of the type '{}'", type));
        if (type != "chunked_attention") layer.kv_heads = 0;  // a recurrent state, no K and V
      }
    }
    if (windowed) layer.window = window;
    config.kv.push_back(layer);
    config.kv_values.push_back((latent > 0 ? std::int64_t{1} : std::int64_t{2}) * layer.kv_heads *
                               layer.head_dim);
  }
  return Status::ok();
}

// Features that the forward does not compute.
Status read_refusals(const JsonFields& fields, const Json& text, ModelConfig& config) {
  for (const char* key :
       {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"}) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t experts, fields.integer(key, 0, 0, 1 << 20));
    if (experts > 0) add_reason(config, fmt::format("experts ({})", experts));
  }
  struct Flag {
    const char* key;
    const char* reason;
  };
  for (const Flag& flag : {Flag{"attention_bias", "a bias on the attention output projection"},
                           Flag{"mlp_bias", "biases in the MLP"}, Flag{"alibi", "ALiBi"},
                           Flag{"use_bidirectional_attention", "attention that is not causal"}}) {
    LAMINA_ASSIGN_OR_RETURN(bool set, fields.boolean(flag.key, false));
    if (set) add_reason(config, flag.reason);
  }
  LAMINA_ASSIGN_OR_RETURN(double cap, fields.number("attn_logit_softcapping", 0));
  if (cap != 0) add_reason(config, "attention logit soft-capping");
  if (const Json* quantization = fields.find("quantization_config")) {
    std::string method = "unnamed";
    if (auto it = quantization->find("quant_method");
        quantization->is_object() && it != quantization->end() && it->is_string()) {
      method = it->get<std::string>();
    }
    add_reason(config, fmt::format("weights quantised by '{}'", method));
  }
  const char* key = text.contains("hidden_activation") ? "hidden_activation" : "hidden_act";
  LAMINA_ASSIGN_OR_RETURN(
      std::string activation,
      fields.text(key, config.architecture == "gemma3" ? "gelu_pytorch_tanh" : "silu"));
  config.gelu_tanh = activation == "gelu_pytorch_tanh";
  if (!config.gelu_tanh && activation != "silu")
    add_reason(config, fmt::format("the activation '{}'", activation));
  return Status::ok();
}

Status read_architecture(const JsonFields& fields, ModelConfig& config) {
  config.qkv_bias = config.architecture == "qwen2";
  config.qk_norm = config.architecture == "qwen3" || config.architecture == "gemma3";
  LAMINA_ASSIGN_OR_RETURN(config.final_logit_softcap, fields.number("final_logit_softcapping", 0));
  if (config.architecture != "gemma3") {
    if (config.final_logit_softcap != 0) add_reason(config, "final logit soft-capping");
    return Status::ok();
  }
  config.post_norms = true;
  config.norm_plus_one = true;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
  LAMINA_ASSIGN_OR_RETURN(double scalar, fields.number("query_pre_attn_scalar", 256));
  config.attention_scale = 1 / std::sqrt(scalar);
  if (!(scalar > 0) || config.attention_scale > kMaxAttentionScale) {
    return Status::bad_input(fmt::format("'query_pre_attn_scalar' must be at least {}",
                                         1 / std::pow(kMaxAttentionScale, 2)),
                             fields.where(), "the file is damaged");
  }
  return Status::ok();
}

}  // namespace

Result<ModelConfig> hf_config(const Json& json, const std::string& where) {
  if (!json.is_object())
    return Status::bad_input("a JSON object was expected", where, "the file is damaged");
  ModelConfig config;
  LAMINA_ASSIGN_OR_RETURN(std::string model_type, json_string(json, "model_type", where));
  const Defaults* known = find_defaults(model_type);
  config.architecture = known ? std::string(known->architecture) : model_type;
  if (!known) add_reason(config, fmt::format("architecture '{}'", model_type));
  // Multimodal files nest the text model; its own type names the architecture where it runs.
  const Json* text = &json;
  if (auto it = json.find("text_config");
      it != json.end() && it->is_object() && model_type != "gemma3_text")
    text = &*it;
  JsonFields fields(*text, where);
  LAMINA_RETURN_IF_ERROR(read_refusals(fields, *text, config));
  LAMINA_RETURN_IF_ERROR(read_sizes(fields, known, config));
  LAMINA_RETURN_IF_ERROR(read_geometry(fields, *text, model_type, known, config));
  LAMINA_RETURN_IF_ERROR(read_architecture(fields, config));
  LAMINA_RETURN_IF_ERROR(hf_rope(*text, where, config));
  return config;
}

}  // namespace lamina
