// SPDX-License-Identifier: Apache-2.0
// The two clocks of the engine. Thread-safe.
#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace lamina {

// Seconds of a clock that never goes back, for measuring how long something takes.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The time of day as files store it: "2026-01-31T23:59:59Z".
inline std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

}  // namespace lamina
