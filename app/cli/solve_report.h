// SPDX-License-Identifier: Apache-2.0
// What `solve` prints: one plan with its gap, its rivals, and why it looks as it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/solve/explain.h"
#include "engine/solve/memory.h"
#include "engine/solve/solve.h"

namespace lamina::cli {

// A method at the same budget; without a solution it is infeasible.
struct Rival {
  Method method;
  std::optional<Solution> solution;
};

// The budget worked out from GPU memory, and what the plan makes of it.
struct MemoryReport {
  MemoryRequest request;
  ModelSizes model;
  MemoryBudget budget;
  std::int64_t most_requests = 0;
  std::int64_t longest_context = 0;
};

struct SolveReport {
  std::int64_t budget = 0;
  Solution solution;
  Plan plan;
  std::vector<Rival> rivals;
  std::optional<Headroom> headroom;  // for plans that route by layer
  std::optional<std::vector<LayerExplanation>> explanation;
  std::optional<MemoryReport> memory;
};

// predicted / lower_bound - 1; nothing where the bound is 0 and the plan is not.
std::optional<double> gap(const Solution& solution);

// "configs", and where the plan is off the grid also "layers".
void add_recipes(const Solution& solution, OrderedJson& object);

OrderedJson report_json(const Problem& problem, const SolveReport& report);
std::string report_text(const Problem& problem, const SolveReport& report);

}  // namespace lamina::cli
