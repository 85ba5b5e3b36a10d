// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of Hugging Face.
#include "engine/model/tokenizer_bpe.h"

namespace lamina {

Result<std::shared_ptr<const Tokenizer>> make_hf_tokenizer(const TokenizerData& data) {
  return Status::bad_input("tokenizer.json is not supported", data.where,
                           "give token ids instead of text");
}

}  // namespace lamina
