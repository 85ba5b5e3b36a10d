// SPDX-License-Identifier: Apache-2.0
// The text of resources/targets.json, part of the library. Pure.
#pragma once

#include <string_view>

namespace lamina {

std::string_view builtin_targets_text();

}  // namespace lamina
