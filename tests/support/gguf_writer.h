// SPDX-License-Identifier: Apache-2.0
// Small GGUF files for tests, whole or with one fault: every count, type and offset can be
// overridden.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lamina::test {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
  return out;
}
inline std::string u32(std::uint64_t value) { return little_endian(value, 4); }
inline std::string u64(std::uint64_t value) { return little_endian(value, 8); }
inline std::string f32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return u32(bits);
}
inline std::string floats(const std::vector<float>& values) {
  std::string out;
  for (float value : values) out += f32(value);
  return out;
}
inline std::string text(const std::string& value) { return u64(value.size()) + value; }

// Value types of GGUF metadata.
enum GgufType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

struct GgufWriter {
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;  // in the file's order, innermost first
    std::uint32_t type = 0;
    std::string data;
    std::optional<std::uint64_t> offset;  // overrides the right one
    std::optional<std::uint32_t> dims_count;
  };
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::string metadata;  // raw entries, appended by add()
  std::uint64_t metadata_count = 0;
  std::vector<Tensor> tensors;
  std::optional<std::uint64_t> claimed_tensors, claimed_metadata;

  GgufWriter& add(const std::string& key, std::uint32_t type, const std::string& value) {
    metadata += text(key) + u32(type) + value;
    ++metadata_count;
    return *this;
  }
  GgufWriter& add(const std::string& key, std::uint32_t value) {
    return add(key, kU32, u32(value));
  }
  GgufWriter& add(const std::string& key, float value) { return add(key, kF32, f32(value)); }
  GgufWriter& add(const std::string& key, const char* value) {
    return add(key, kString, text(value));
  }
  GgufWriter& add_texts(const std::string& key, const std::vector<std::string>& values) {
    std::string raw = u32(kString) + u64(values.size());
    for (const std::string& value : values) raw += text(value);
    return add(key, kArray, raw);
  }
  GgufWriter& add_ints(const std::string& key, const std::vector<std::int32_t>& values) {
    std::string raw = u32(kI32) + u64(values.size());
    for (std::int32_t value : values) raw += u32(static_cast<std::uint32_t>(value));
    return add(key, kArray, raw);
  }
  GgufWriter& tensor(const std::string& name, std::vector<std::uint64_t> dims,
                     const std::vector<float>& values) {
    tensors.push_back({name, std::move(dims), 0, floats(values), {}, {}});
    return *this;
  }

  std::string build() const {
    std::string out = magic + u32(version) + u64(claimed_tensors.value_or(tensors.size())) +
                      u64(claimed_metadata.value_or(metadata_count)) + metadata;
    std::uint64_t offset = 0;
    for (const Tensor& t : tensors) {
      out += text(t.name) + u32(t.dims_count.value_or(static_cast<std::uint32_t>(t.dims.size())));
      for (std::uint64_t dim : t.dims) out += u64(dim);
      out += u32(t.type) + u64(t.offset.value_or(offset));
      offset = (offset + t.data.size() + alignment - 1) / alignment * alignment;
    }
    for (const Tensor& t : tensors) {
      out.resize((out.size() + alignment - 1) / alignment * alignment);
      out += t.data;
    }
    return out;
  }
};

// Values that differ from one another, so that a permuted or shifted read shows.
inline std::vector<float> ramp(std::size_t count, float start) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = start + 0.25f * static_cast<float>(i);
  return values;
}

// Sizes of the tiny model: hidden 8, 2 query heads and 1 KV head of 4, MLP 6, vocabulary 5.
inline GgufWriter tiny_metadata(const std::string& architecture = "llama",
                                std::uint32_t layers = 1) {
  GgufWriter w;
  const std::string a = architecture + ".";
  w.add("general.architecture", architecture.c_str());
  w.add("general.name", "Tiny");
  w.add(a + "block_count", layers);
  w.add(a + "embedding_length", 8u);
  w.add(a + "feed_forward_length", 6u);
  w.add(a + "attention.head_count", 2u);
  w.add(a + "attention.head_count_kv", 1u);
  w.add(a + "context_length", 64u);
  w.add(a + "attention.layer_norm_rms_epsilon", 1e-5f);
  w.add("tokenizer.ggml.model", "gpt2");
  w.add("tokenizer.ggml.pre", "gpt-2");
  w.add_texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<|im_end|>", "<s>"});
  w.add_ints("tokenizer.ggml.token_type", {1, 1, 1, 3, 3});
  w.add_texts("tokenizer.ggml.merges", {"a b"});
  w.add("tokenizer.ggml.bos_token_id", 4u);
  return w;
}

inline GgufWriter& add_tiny_tensors(GgufWriter& w, std::uint32_t layers = 1) {
  w.tensor("token_embd.weight", {8, 5}, ramp(40, -3));
  w.tensor("output_norm.weight", {8}, ramp(8, 1));
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    std::string p = "blk." + std::to_string(layer) + ".";
    w.tensor(p + "attn_norm.weight", {8}, ramp(8, 2));
    w.tensor(p + "attn_q.weight", {8, 8}, ramp(64, 3));
    w.tensor(p + "attn_k.weight", {8, 4}, ramp(32, 4));
    w.tensor(p + "attn_v.weight", {8, 4}, ramp(32, 5));
    w.tensor(p + "attn_output.weight", {8, 8}, ramp(64, 6));
    w.tensor(p + "ffn_norm.weight", {8}, ramp(8, 7));
    w.tensor(p + "ffn_gate.weight", {8, 6}, ramp(48, 8));
    w.tensor(p + "ffn_up.weight", {8, 6}, ramp(48, 9));
    w.tensor(p + "ffn_down.weight", {6, 8}, ramp(48, 10));
  }
  return w;
}

inline GgufWriter tiny_gguf() {
  GgufWriter w = tiny_metadata();
  add_tiny_tensors(w);
  return w;
}

}  // namespace lamina::test
