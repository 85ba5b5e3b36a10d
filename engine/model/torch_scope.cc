// SPDX-License-Identifier: Apache-2.0
#include "engine/model/torch_scope.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <optional>
#include <thread>

namespace lamina {
namespace {

// MemAvailable of /proc/meminfo in bytes.
std::optional<double> available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double value = 0;
  while (file >> key >> value) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return value * 1024;
  }
  return std::nullopt;
}

}  // namespace

int use_threads(const JobContext& context) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // More threads than cores only wait for each other.
  const int threads = context.threads > 0 ? std::min(context.threads, cores) : cores;
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
  return threads;
}

Status check_memory(double bytes, const std::string& what, const std::string& where,
                    const std::string& advice) {
  const std::optional<double> available = available_memory();
  if (!available) {
    return Status::runtime("cannot tell how much memory is free", "/proc/meminfo",
                           "mount /proc, which Lamina needs to check sizes");
  }
  if (bytes <= *available) return Status::ok();
  return Status::runtime(fmt::format("{} need {:.1f} GB of memory, {:.1f} GB are free", what,
                                     bytes / 1e9, *available / 1e9),
                         where, advice);
}

Status status_of_exception(const std::exception& error, const std::string& where) {
  std::string what = error.what();
  if (const auto* torch = dynamic_cast<const c10::Error*>(&error)) what = torch->msg();
  if (const auto line_end = what.find('\n'); line_end != std::string::npos) what.resize(line_end);
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                      what.find("allocate memory") != std::string::npos ||
                      what.find("not enough memory") != std::string::npos;
  if (memory) {
    return Status::runtime("not enough memory", where, "close other programs or use fewer tokens");
  }
  return Status::runtime("LibTorch failed: " + what, where,
                         "try again with fewer threads or tokens");
}

}  // namespace lamina
