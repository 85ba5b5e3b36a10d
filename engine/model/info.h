// SPDX-License-Identifier: Apache-2.0
// The hyper-parameters as text: for `lamina info` and for the fingerprint. Pure functions.
#pragma once

#include <string>

#include "engine/model/config.h"

namespace lamina {

// What the fingerprint begins with: architecture and hyper-parameters, not the name, the path or
// the tokenizer. FROZEN: a change makes every table and plan made before belong to no checkpoint.
std::string fingerprint_header(const ModelConfig& config);

}  // namespace lamina
