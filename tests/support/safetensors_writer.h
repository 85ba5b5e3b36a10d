// SPDX-License-Identifier: Apache-2.0
// Small safetensors files and config.json documents for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.h"
#include "tests/support/gguf_writer.h"

namespace lamina::test {

struct SafetensorsWriter {
  OrderedJson header = OrderedJson::object();
  std::string data;

  SafetensorsWriter& add(const std::string& name, const std::string& type,
                         const std::vector<std::int64_t>& shape, const std::string& bytes) {
    header[name] = {{"dtype", type},
                    {"shape", shape},
                    {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
    return *this;
  }
  std::string build() const { return with_header(header.dump()); }
  std::string with_header(const std::string& text) const { return u64(text.size()) + text + data; }
};

// The tensors of a tiny llama layer stack: hidden 8, 2 query heads and 1 KV head of 4, MLP 6,
// vocabulary 5; untied unless `tied`.
inline SafetensorsWriter tiny_safetensors(int layers = 1, bool tied = true) {
  SafetensorsWriter w;
  w.add("model.embed_tokens.weight", "F32", {5, 8}, floats(ramp(40, -3)));
  w.add("model.norm.weight", "F32", {8}, floats(ramp(8, 1)));
  if (!tied) w.add("lm_head.weight", "F32", {5, 8}, floats(ramp(40, 20)));
  for (int layer = 0; layer < layers; ++layer) {
    std::string p = "model.layers." + std::to_string(layer) + ".";
    w.add(p + "input_layernorm.weight", "F32", {8}, floats(ramp(8, 2)));
    w.add(p + "self_attn.q_proj.weight", "F32", {8, 8}, floats(ramp(64, 3)));
    w.add(p + "self_attn.k_proj.weight", "F32", {4, 8}, floats(ramp(32, 4)));
    w.add(p + "self_attn.v_proj.weight", "F32", {4, 8}, floats(ramp(32, 5)));
    w.add(p + "self_attn.o_proj.weight", "F32", {8, 8}, floats(ramp(64, 6)));
    w.add(p + "post_attention_layernorm.weight", "F32", {8}, floats(ramp(8, 7)));
    w.add(p + "mlp.gate_proj.weight", "F32", {6, 8}, floats(ramp(48, 8)));
    w.add(p + "mlp.up_proj.weight", "F32", {6, 8}, floats(ramp(48, 9)));
    w.add(p + "mlp.down_proj.weight", "F32", {8, 6}, floats(ramp(48, 10)));
  }
  return w;
}

inline Json tiny_config(const std::string& model_type = "llama") {
  return {{"model_type", model_type},
          {"num_hidden_layers", 1},
          {"hidden_size", 8},
          {"intermediate_size", 6},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"head_dim", 4},
          {"max_position_embeddings", 64},
          {"vocab_size", 5},
          {"rms_norm_eps", 1e-5},
          {"tie_word_embeddings", true}};
}

}  // namespace lamina::test
