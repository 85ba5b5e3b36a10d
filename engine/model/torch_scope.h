// SPDX-License-Identifier: Apache-2.0
// What every job that computes with LibTorch needs around it: threads, exceptions turned into
// errors, and a look at the memory before it is taken. Includes ATen: only for .cc files of targets
// that link LibTorch.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <exception>
#include <string>
#include <utility>

#include "engine/base/progress.h"
#include "engine/base/status.h"

namespace lamina {

// Makes LibTorch compute with context.threads threads (0: all cores this process may use) from now
// on. The count belongs to the process: jobs that run at the same time share the last one set.
// Returns it.
int use_threads(const JobContext& context);

// Refuses (kRuntime) where `bytes` exceed what /proc/meminfo calls available. `what` names the
// taker, e.g. "the weights in float32"; sizes are doubles so that no product of them can overflow.
Status check_memory(double bytes, const std::string& what, const std::string& where,
                    const std::string& advice);

// The error of an exception that LibTorch or the allocator threw.
Status status_of_exception(const std::exception& error, const std::string& where);

// Runs f, which returns a Status or a Result, without recording gradients; what it throws becomes
// an error. Every public function that calls LibTorch goes through it.
template <class F>
auto guarded(const std::string& where, F&& f) -> decltype(f()) {
  try {
    c10::NoGradGuard no_gradients;
    return std::forward<F>(f)();
  } catch (const std::exception& error) {
    return status_of_exception(error, where);
  }
}

}  // namespace lamina
