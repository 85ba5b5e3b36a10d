// SPDX-License-Identifier: Apache-2.0
// The input is a GGUF file: parsed, its configuration and tokenizer read, its tensors dequantised.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "engine/model/dequant.h"
#include "engine/model/gguf.h"
#include "engine/model/gguf_config.h"
#include "engine/model/support.h"

using namespace lamina;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!file) return 0;
  GgufTensorMap tensors;
  for (const GgufTensor& tensor : file->tensors) {
    tensors.emplace(tensor.name, &tensor);
    if (tensor.data.size() != tensor.bytes && file->cut == Cut::kNone) std::abort();
    if (tensor.data.empty()) continue;
    // What is there is no more than 12 times smaller than its float32 values.
    std::vector<float> values(static_cast<std::size_t>(tensor.elements));
    if (!dequantize(*tensor.type, tensor.data, values, 1) &&
        tensor.type->encoding != Encoding::kOpaque)
      std::abort();
  }
  auto config = gguf_config(file->metadata, tensors);
  if (!config) return 0;
  if (config->kv_bytes_per_token() < 0 && file->metadata.whole) std::abort();
  auto tokenizer = gguf_tokenizer(file->metadata, *config);
  (void)finish_config(*config, "fuzz.gguf", file->cut);
  return 0;
}
