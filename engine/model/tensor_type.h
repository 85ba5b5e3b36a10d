// SPDX-License-Identifier: Apache-2.0
// Element types of checkpoint tensors: their names, and how many bytes a block of values takes.
// Plain constant data.
#pragma once

#include <cstdint>
#include <string_view>

namespace lamina {

// What dequantize() can read; kOpaque: only the size is known.
enum class Encoding : int {
  kOpaque = 0,
  kF32,
  kF16,
  kBf16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K
};

struct TensorType {
  std::string_view name;        // "Q4_K"
  int ggml_id;                  // the number in GGUF files; -1: safetensors only
  std::int64_t block_elements;  // values of a block
  std::uint64_t block_bytes;    // bytes of a block
  Encoding encoding;
};

// nullptr for a number that no known GGUF file uses.
const TensorType* find_ggml_type(std::uint32_t id);
// By the name in a safetensors header, e.g. "BF16"; nullptr for an unknown one.
const TensorType* find_safetensors_type(std::string_view name);
// By its name in this table, e.g. "Q4_K"; nullptr for an unknown one.
const TensorType* find_tensor_type(std::string_view name);

// Bytes of `elements` values; false where they are no whole blocks or the product overflows.
bool tensor_bytes(const TensorType& type, std::uint64_t elements, std::uint64_t& bytes);

}  // namespace lamina
