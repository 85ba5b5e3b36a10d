// SPDX-License-Identifier: Apache-2.0
// A method's predicted error against bytes: what a plot of the trade-off shows. Pure.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/base/status.h"
#include "engine/solve/solve.h"

namespace lamina {

struct FrontierPoint {
  std::int64_t budget = 0;  // bytes of the problem's kind that it was solved at
  Solution solution;        // a prediction, not a measurement
};

struct FrontierOptions {
  int points = 96;  // budgets at most, log-spaced from the smallest feasible to the full cache; the
                    // families with one recipe give every corner instead
};

// The plans of one method over all budgets, bytes ascending, plans that repeat left out; no plan of
// the list is dearer and worse than another, except for greedy searches, whose error can rise with
// the budget: they are listed as they come. Empty where the method has no feasible plan (target,
// limits). Errors: kUsage as solve(), kCancelled.
Result<std::vector<FrontierPoint>> method_frontier(const Problem& problem, const Method& method,
                                                   const FrontierOptions& options = {},
                                                   std::stop_token stop = {});

}  // namespace lamina
