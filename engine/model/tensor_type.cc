// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tensor_type.h"

#include <algorithm>
#include <array>

#include "engine/model/checked.h"

namespace lamina {
namespace {

// Block sizes of the GGUF format; the numbers are frozen by it.
constexpr auto kTypes = std::to_array<TensorType>({
    {"F32", 0, 1, 4, Encoding::kF32},
    {"F16", 1, 1, 2, Encoding::kF16},
    {"Q4_0", 2, 32, 18, Encoding::kQ4_0},
    {"Q4_1", 3, 32, 20, Encoding::kQ4_1},
    {"Q5_0", 6, 32, 22, Encoding::kQ5_0},
    {"Q5_1", 7, 32, 24, Encoding::kQ5_1},
    {"Q8_0", 8, 32, 34, Encoding::kQ8_0},
    {"Q2_K", 10, 256, 84, Encoding::kQ2K},
    {"Q3_K", 11, 256, 110, Encoding::kQ3K},
    {"Q4_K", 12, 256, 144, Encoding::kQ4K},
    {"Q5_K", 13, 256, 176, Encoding::kQ5K},
    {"Q6_K", 14, 256, 210, Encoding::kQ6K},
    {"BF16", 30, 1, 2, Encoding::kBf16},
    {"IQ2_XXS", 16, 256, 66, Encoding::kOpaque},
    {"IQ2_XS", 17, 256, 74, Encoding::kOpaque},
    {"IQ3_XXS", 18, 256, 98, Encoding::kOpaque},
    {"IQ1_S", 19, 256, 50, Encoding::kOpaque},
    {"IQ4_NL", 20, 32, 18, Encoding::kOpaque},
    {"IQ3_S", 21, 256, 110, Encoding::kOpaque},
    {"IQ2_S", 22, 256, 82, Encoding::kOpaque},
    {"IQ4_XS", 23, 256, 136, Encoding::kOpaque},
    {"I8", 24, 1, 1, Encoding::kOpaque},
    {"I16", 25, 1, 2, Encoding::kOpaque},
    {"I32", 26, 1, 4, Encoding::kOpaque},
    {"I64", 27, 1, 8, Encoding::kOpaque},
    {"F64", 28, 1, 8, Encoding::kOpaque},
    {"IQ1_M", 29, 256, 56, Encoding::kOpaque},
    {"TQ1_0", 34, 256, 54, Encoding::kOpaque},
    {"TQ2_0", 35, 256, 66, Encoding::kOpaque},
    {"MXFP4", 39, 32, 17, Encoding::kOpaque},
    {"NVFP4", 40, 64, 36, Encoding::kOpaque},
    {"BOOL", -1, 1, 1, Encoding::kOpaque},
    {"U8", -1, 1, 1, Encoding::kOpaque},
    {"U16", -1, 1, 2, Encoding::kOpaque},
    {"U32", -1, 1, 4, Encoding::kOpaque},
    {"U64", -1, 1, 8, Encoding::kOpaque},
    {"F8_E4M3", -1, 1, 1, Encoding::kOpaque},
    {"F8_E5M2", -1, 1, 1, Encoding::kOpaque},
    {"F8_E8M0", -1, 1, 1, Encoding::kOpaque},
    {"C64", -1, 1, 8, Encoding::kOpaque},
});

const TensorType* find(auto&& predicate) {
  auto it = std::find_if(kTypes.begin(), kTypes.end(), predicate);
  return it == kTypes.end() ? nullptr : &*it;
}

}  // namespace

const TensorType* find_ggml_type(std::uint32_t id) {
  return find([id](const TensorType& t) {
    return t.ggml_id >= 0 && static_cast<std::uint32_t>(t.ggml_id) == id;
  });
}

const TensorType* find_safetensors_type(std::string_view name) {
  return find([name](const TensorType& t) { return t.block_elements == 1 && t.name == name; });
}

const TensorType* find_tensor_type(std::string_view name) {
  return find([name](const TensorType& t) { return t.name == name; });
}

bool tensor_bytes(const TensorType& type, std::uint64_t elements, std::uint64_t& bytes) {
  auto block = static_cast<std::uint64_t>(type.block_elements);
  return elements % block == 0 && checked_mul(elements / block, type.block_bytes, bytes);
}

}  // namespace lamina
