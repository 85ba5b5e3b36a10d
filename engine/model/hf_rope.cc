// SPDX-License-Identifier: Apache-2.0
// The rotary embedding of a config.json, in the spelling of transformers 4 (rope_theta,
// rope_scaling) and 5 (rope_parameters).
#include <fmt/format.h>

#include <cmath>

#include "engine/model/hf_config.h"
#include "engine/model/json_fields.h"
#include "engine/model/support.h"

namespace lamina {
namespace {

constexpr std::int64_t kMaxContext = std::int64_t{1} << 40;

Status fault(std::string what, const std::string& where) {
  return Status::bad_input(std::move(what), where, "the file is damaged");
}

// YaRN's magnitude (arXiv 2309.00071): 0.1 m ln(factor) + 1.
double magnitude(double factor, double m) {
  return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1;
}

Status read_yarn(const JsonFields& params, ModelConfig& config, RopeConfig& rope) {
  LAMINA_ASSIGN_OR_RETURN(
      rope.original_context,
      params.integer("original_max_position_embeddings", config.context_length, 1, kMaxContext));
  LAMINA_ASSIGN_OR_RETURN(rope.beta_fast, params.number("beta_fast", 32));
  LAMINA_ASSIGN_OR_RETURN(rope.beta_slow, params.number("beta_slow", 1));
  LAMINA_ASSIGN_OR_RETURN(rope.attention_factor, params.number("attention_factor", 0));
  LAMINA_ASSIGN_OR_RETURN(double mscale, params.number("mscale", 0));
  LAMINA_ASSIGN_OR_RETURN(double mscale_all, params.number("mscale_all_dim", 0));
  LAMINA_ASSIGN_OR_RETURN(bool truncate, params.boolean("truncate", true));
  if (rope.attention_factor == 0 && mscale != 0 && mscale_all != 0) {
    rope.attention_factor = magnitude(rope.factor, mscale) / magnitude(rope.factor, mscale_all);
  }
  if (!truncate) add_reason(config, "yarn without truncated bounds");
  return Status::ok();
}

Status read_llama3(const JsonFields& params, RopeConfig& rope) {
  for (const char* key :
       {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (!params.has(key))
      return fault(fmt::format("'{}' of the llama3 rope is missing", key), params.where());
  }
  LAMINA_ASSIGN_OR_RETURN(rope.low_freq_factor, params.number("low_freq_factor", 1));
  LAMINA_ASSIGN_OR_RETURN(rope.high_freq_factor, params.number("high_freq_factor", 4));
  LAMINA_ASSIGN_OR_RETURN(rope.original_context,
                          params.integer("original_max_position_embeddings", 0, 1, kMaxContext));
  if (!(rope.low_freq_factor > 0 && rope.high_freq_factor > rope.low_freq_factor)) {
    return fault("the llama3 rope needs 0 < low_freq_factor < high_freq_factor", params.where());
  }
  return Status::ok();
}

Result<RopeConfig> read_rope(const JsonFields& params, double usual_theta, double usual_partial,
                             ModelConfig& config) {
  RopeConfig rope;
  LAMINA_ASSIGN_OR_RETURN(rope.theta, params.number("rope_theta", usual_theta));
  LAMINA_ASSIGN_OR_RETURN(double partial, params.number("partial_rotary_factor", usual_partial));
  if (!(partial > 0 && partial <= 1))
    return fault("'partial_rotary_factor' must lie between 0 and 1", params.where());
  int head_dim = config.kv.empty() ? 0 : config.kv[0].head_dim;
  rope.rotary_dim = static_cast<int>(head_dim * partial);
  LAMINA_ASSIGN_OR_RETURN(std::string old_type, params.text("type", "default"));
  LAMINA_ASSIGN_OR_RETURN(std::string type, params.text("rope_type", old_type));
  if (type == "default" || type == "none") return rope;
  if (type != "linear" && type != "llama3" && type != "yarn") {
    add_reason(config, fmt::format("rope scaling '{}'", type));
    return rope;
  }
  if (!params.has("factor"))
    return fault(fmt::format("'factor' of the {} rope is missing", type), params.where());
  LAMINA_ASSIGN_OR_RETURN(rope.factor, params.number("factor", 1));
  if (!(rope.factor > 0)) return fault("the rope factor must be above 0", params.where());
  rope.scaling = type == "linear" ? RopeScaling::kLinear
                 : type == "yarn" ? RopeScaling::kYarn
                                  : RopeScaling::kLlama3;
  if (rope.scaling == RopeScaling::kYarn) LAMINA_RETURN_IF_ERROR(read_yarn(params, config, rope));
  if (rope.scaling == RopeScaling::kLlama3) LAMINA_RETURN_IF_ERROR(read_llama3(params, rope));
  return rope;
}

}  // namespace

Status hf_rope(const Json& text, const std::string& where, ModelConfig& config) {
  JsonFields fields(text, where);
  bool gemma = config.architecture == "gemma3";
  const Json empty = Json::object();
  LAMINA_ASSIGN_OR_RETURN(double theta, fields.number("rope_theta", gemma ? 1e6 : 1e4));
  LAMINA_ASSIGN_OR_RETURN(double local_theta, fields.number("rope_local_base_freq", 1e4));
  LAMINA_ASSIGN_OR_RETURN(double partial, fields.number("partial_rotary_factor", 1));
  const Json* global = fields.find("rope_parameters");
  if (global == nullptr) global = fields.find("rope_scaling");
  if (global == nullptr) global = &empty;
  if (!global->is_object()) return fault("the rope parameters must be an object", where);
  const Json* local = nullptr;  // its own parameters, where they are given by layer type
  if (global->contains("full_attention") || global->contains("sliding_attention")) {
    const Json* by_type = global;
    JsonFields types(*by_type, where);
    global = types.find("full_attention");
    local = types.find("sliding_attention");
    if (global == nullptr) global = &empty;
    if (!global->is_object() || (local != nullptr && !local->is_object())) {
      return fault("the rope parameters must be objects", where);
    }
  }
  LAMINA_ASSIGN_OR_RETURN(config.rope,
                          read_rope(JsonFields(*global, where), theta, partial, config));
  config.rope_local = config.rope;
  if (local != nullptr || gemma) {
    JsonFields params(local != nullptr ? *local : empty, where);
    LAMINA_ASSIGN_OR_RETURN(config.rope_local, read_rope(params, local_theta, partial, config));
  }
  return Status::ok();
}

}  // namespace lamina
