// SPDX-License-Identifier: Apache-2.0
// A Hugging Face folder's config.json to hyper-parameters, and its tokenizer files to what a
// tokenizer is built from. Pure functions of the files.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/json.h"
#include "engine/model/config.h"
#include "engine/model/tokenizer.h"

namespace lamina {

// where: the path of config.json. Errors: kBadInput: a hyper-parameter that a known architecture
// needs is missing, of the wrong type or out of range. Unknown architectures and features that the
// engine cannot compute give supported = false and the reason.
Result<ModelConfig> hf_config(const Json& config, const std::string& where);

// Rope of a text config: rope_theta with rope_scaling, or rope_parameters (flat, or one per layer
// type). config: what has been read so far; receives reasons, rope and rope_local.
Status hf_rope(const Json& text, const std::string& where, ModelConfig& config);

// Fills config's tokenizer, bos_id, eos_ids and add_bos from generation_config.json, config.json,
// tokenizer_config.json and tokenizer.json. Errors: kBadInput for files that are there but
// malformed.
Result<TokenizerData> hf_tokenizer(const std::filesystem::path& folder, const Json& config_json,
                                   ModelConfig& config);

}  // namespace lamina
