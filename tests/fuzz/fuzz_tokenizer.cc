// SPDX-License-Identifier: Apache-2.0
// tokenizer.json as an enemy would write it: refused, or usable on any text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void use(const std::shared_ptr<const lamina::Tokenizer>& tokenizer, std::string_view text,
         bool special) {
  auto ids = tokenizer->encode(text, special);
  if (!ids.has_value()) return;
  std::string streamed;
  lamina::TokenDecoder decoder(tokenizer);
  for (std::int32_t id : *ids) {
    require(id >= 0 && id < tokenizer->vocab_size());
    require(!tokenizer->is_control(id) || tokenizer->token_bytes(id).empty());
    streamed += decoder.push(id);
  }
  streamed += decoder.finish();
  require(streamed == tokenizer->decode(*ids));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lamina::TokenizerData description;
  description.kind = lamina::TokenizerData::Kind::kHfJson;
  description.json.assign(reinterpret_cast<const char*>(data), size);
  description.where = "fuzz";
  auto made = lamina::Tokenizer::make(description);
  if (!made.has_value()) return 0;
  for (std::int32_t id : {-1, 0, 1, 2, 3, 1 << 20, INT32_MAX}) (void)(*made)->token_bytes(id);
  for (bool special : {false, true}) {
    use(*made, "", special);
    use(*made, "ab ba  abab\r\n1234 it's <end> a<end>b", special);
    use(*made,
        "\xE2\x96\x81"
        "a\xCC\x81\xE4\xB8\xAD\xF0\x9F\x99\x82\xC2\xA0",
        special);
    use(*made, description.json.substr(0, 400), special);
  }
  return 0;
}
