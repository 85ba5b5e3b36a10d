// SPDX-License-Identifier: Apache-2.0
#include "engine/model/info.h"

#include <map>

#include "engine/base/json.h"
#include "engine/model/checkpoint.h"

namespace lamina {
namespace {

std::string_view scaling_name(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::kNone:
      return "none";
    case RopeScaling::kLinear:
      return "linear";
    case RopeScaling::kLlama3:
      return "llama3";
    case RopeScaling::kYarn:
      return "yarn";
  }
  return "none";
}

OrderedJson rope_json(const RopeConfig& rope) {
  OrderedJson json = {{"theta", rope.theta},
                      {"rotary_dim", rope.rotary_dim},
                      {"scaling", scaling_name(rope.scaling)}};
  if (rope.scaling != RopeScaling::kNone) json["factor"] = rope.factor;
  if (rope.scaling == RopeScaling::kLlama3) {
    json["low_freq_factor"] = rope.low_freq_factor;
    json["high_freq_factor"] = rope.high_freq_factor;
    json["original_context"] = rope.original_context;
  }
  if (rope.scaling == RopeScaling::kYarn) {
    json["original_context"] = rope.original_context;
    json["beta_fast"] = rope.beta_fast;
    json["beta_slow"] = rope.beta_slow;
    json["attention_factor"] = rope.attention_factor;
  }
  json["freq_divisors"] = !rope.freq_divisors.empty();
  return json;
}

template <class Get>
OrderedJson per_layer(const ModelConfig& config, Get get) {
  OrderedJson list = OrderedJson::array();
  for (const LayerGeometry& layer : config.kv) list.push_back(get(layer));
  return list;
}

OrderedJson hyper_parameters(const ModelConfig& config) {
  return {{"layers", config.layers},
          {"hidden", config.hidden},
          {"intermediate", config.intermediate},
          {"heads", config.heads},
          {"vocab", config.vocab},
          {"context_length", config.context_length},
          {"kv_heads", per_layer(config, [](const LayerGeometry& l) { return l.kv_heads; })},
          {"head_dim", per_layer(config, [](const LayerGeometry& l) { return l.head_dim; })},
          {"window", per_layer(config, [](const LayerGeometry& l) { return l.window; })},
          {"norm_eps", config.norm_eps},
          {"rope", rope_json(config.rope)},
          {"rope_local", rope_json(config.rope_local)}};
}

std::string dump(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

std::string fingerprint_header(const ModelConfig& config) {
  return "lamina-fingerprint 1\n" + config.architecture + "\n" +
         dump(hyper_parameters(config), -1) + "\n";
}

std::string info_json(const Checkpoint& checkpoint, const std::string& fingerprint) {
  const ModelConfig& config = checkpoint.config();
  OrderedJson json = {
      {"path", checkpoint.path().string()},  {"format", checkpoint.format()},
      {"architecture", config.architecture}, {"name", config.name},
      {"supported", config.supported},       {"unsupported_reason", config.unsupported_reason}};
  json.update(hyper_parameters(config));
  std::int64_t parameters = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::int64_t> types;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    parameters += tensor.elements;
    bytes += tensor.bytes;
    ++types[tensor.type];
  }
  json["tied_embeddings"] = config.tied_embeddings;
  json["tokenizer"] = config.tokenizer;
  json["bos_id"] = config.bos_id < 0 ? OrderedJson(nullptr) : OrderedJson(config.bos_id);
  json["eos_ids"] = config.eos_ids;
  json["kv_bytes_per_token"] = config.kv_bytes_per_token();
  json["parameters"] = parameters;
  json["tensor_bytes"] = bytes;
  json["tensor_types"] = types;
  json["fingerprint"] = fingerprint.empty() ? OrderedJson(nullptr) : OrderedJson(fingerprint);
  json["complete"] = checkpoint.complete();
  return dump(json, 2);
}

}  // namespace lamina
