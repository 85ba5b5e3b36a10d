// SPDX-License-Identifier: Apache-2.0
// Pickle checkpoints are never opened: they can run code when they are read. Pure functions.
#pragma once

#include <filesystem>

#include "engine/base/status.h"

namespace lamina {

bool is_pickle_name(const std::filesystem::path& path);
Status refuse_pickle(const std::filesystem::path& path);

}  // namespace lamina
