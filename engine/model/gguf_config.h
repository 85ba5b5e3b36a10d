// SPDX-License-Identifier: Apache-2.0
// GGUF metadata to hyper-parameters and to what a tokenizer is built from. Pure functions.
#pragma once

#include <map>
#include <string_view>

#include "engine/model/config.h"
#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"

namespace lamina {

using GgufTensorMap = std::map<std::string_view, const GgufTensor*>;

// Errors: kBadInput: no architecture, a hyper-parameter that a known architecture needs is missing,
// of the wrong type or out of range. Unknown architectures and features that the engine cannot
// compute give supported = false and the reason. Of metadata that are cut, what is missing is
// unknown (see ModelConfig).
Result<ModelConfig> gguf_config(const GgufMetadata& metadata, const GgufTensorMap& tensors);

// Moves the token lists out of the metadata. Fills config's tokenizer, bos_id, eos_ids and add_bos.
// Errors: kBadInput: token lists of the wrong type, ids out of range.
Result<TokenizerData> gguf_tokenizer(GgufMetadata& metadata, ModelConfig& config);

}  // namespace lamina
