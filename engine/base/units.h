// SPDX-License-Identifier: Apache-2.0
// Bytes as people write and read them. 1 MB = 10^6 B, 1 MiB = 2^20 B.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace lamina {

// A budget in bytes: "136MB", "130MiB", "142606336", "14x" (full / 14) or "25%" (of full).
// full_bytes: the uncompressed cache. Rounded down to whole bytes, so that a budget of less than
// one byte is 0, which no solver can meet. Errors: kUsage for anything else, for zero written as
// such, negative, NaN or values beyond int64.
Result<std::int64_t> parse_budget(std::string_view text, std::int64_t full_bytes);

// "130.7 MB"; below 1 kB "812 B".
std::string format_mb(std::int64_t bytes);

}  // namespace lamina
