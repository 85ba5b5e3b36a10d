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

// What the file's early end hides is null.
OrderedJson known(std::int64_t value) {
  return value < 0 ? OrderedJson(nullptr) : OrderedJson(value);
}
OrderedJson known(const std::string& value) {
  return value.empty() ? OrderedJson(nullptr) : OrderedJson(value);
}

template <class Get>
OrderedJson per_layer(const ModelConfig& config, Get get) {
  OrderedJson list = OrderedJson::array();
  for (const LayerGeometry& layer : config.kv) {
    if (get(layer) < 0) return nullptr;
    list.push_back(get(layer));
  }
  return list;
}

OrderedJson hyper_parameters(const ModelConfig& config) {
  return {{"layers", known(config.layers)},
          {"hidden", known(config.hidden)},
          {"intermediate", known(config.intermediate)},
          {"heads", known(config.heads)},
          {"vocab", known(config.vocab)},
          {"context_length", known(config.context_length)},
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
  const bool metadata_cut = checkpoint.cut() == Cut::kMetadata;
  const bool directory_cut = checkpoint.cut() >= Cut::kDirectory;
  OrderedJson json = {{"path", checkpoint.path().string()},
                      {"format", checkpoint.format()},
                      {"architecture", known(config.architecture)},
                      {"name", metadata_cut ? known(config.name) : OrderedJson(config.name)},
                      {"supported", config.supported},
                      {"unsupported_reason", config.unsupported_reason}};
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
  json["tokenizer"] = known(config.tokenizer);
  json["bos_id"] = known(config.bos_id);
  json["eos_ids"] = config.eos_ids;
  json["kv_bytes_per_token"] = known(config.kv_bytes_per_token());
  json["parameters"] = parameters;
  json["tensor_bytes"] = bytes;
  json["tensor_types"] = types;
  json["fingerprint"] = known(fingerprint);
  json["complete"] = checkpoint.complete();
  // What the missing part of the header may still change.
  if (directory_cut) {
    for (const char* key : {"parameters", "tensor_bytes", "tensor_types"}) json[key] = nullptr;
    if (checkpoint.format() == "gguf") json["tied_embeddings"] = nullptr;
    if (config.unsupported_reason.empty()) json["supported"] = nullptr;
  }
  if (metadata_cut) {
    for (const char* key : {"rope", "rope_local", "eos_ids"}) json[key] = nullptr;
    if (config.norm_eps < 0) json["norm_eps"] = nullptr;
    if (config.kv.empty()) json["kv_heads"] = json["head_dim"] = json["window"] = nullptr;
  }
  return dump(json, 2);
}

}  // namespace lamina
