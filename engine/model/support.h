// SPDX-License-Identifier: Apache-2.0
// What the engine can run, shared by the readers of both checkpoint formats. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/model/config.h"
#include "engine/table/bytes.h"

namespace lamina {

// Bounds of hyper-parameters beside kMaxLayers; larger values are damage, not models.
constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxHeads = 65536;
constexpr std::int64_t kMaxHeadDim = 65536;
constexpr std::int64_t kMaxVocab = 1 << 28;
constexpr double kMaxAttentionScale = 1000;  // the usual is 1 / sqrt(head_dim)

bool is_known_architecture(std::string_view architecture);

// Notes why the model cannot be run; several reasons are joined, each once.
void add_reason(ModelConfig& config, const std::string& reason);

// The last look at a configuration: consistency of a known architecture as far as it was read
// (kBadInput), and `supported`.
Status finish_config(ModelConfig& config, const std::string& where, Cut cut = Cut::kNone);

}  // namespace lamina
