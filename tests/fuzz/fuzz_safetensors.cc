// SPDX-License-Identifier: Apache-2.0
// The input is a safetensors file; its header is also read as a config.json.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "engine/base/json.h"
#include "engine/model/hf_config.h"
#include "engine/model/safetensors.h"
#include "engine/model/support.h"

using namespace lamina;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = SafetensorsFile::parse(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  if (file) {
    std::uint64_t total = 0;
    for (const SafetensorsEntry& entry : file->tensors) {
      if (file->cut == Cut::kNone && entry.data.size() != entry.bytes) std::abort();
      total += entry.data.size();
    }
    if (total > size) std::abort();
  }
  if (size < 8) return 0;
  auto json =
      parse_json(std::string_view(reinterpret_cast<const char*>(data) + 8, size - 8), "fuzz.json");
  if (!json) return 0;
  auto config = hf_config(*json, "fuzz.json");
  if (!config) return 0;
  if (config->kv_bytes_per_token() < 0) std::abort();
  (void)finish_config(*config, "fuzz.json");
  return 0;
}
