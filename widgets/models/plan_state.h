// SPDX-License-Identifier: GPL-3.0-or-later
// What a user decides about a plan, and what comes of it. Plain values: the inputs are what undo
// keeps, a state is announced whole, so that no view can show figures of two plans.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/solve/explain.h"
#include "engine/solve/memory.h"
#include "engine/solve/solve.h"

namespace lamina::studio {

struct PlanInputs {
  std::int64_t budget = 0;  // bytes of `kind`
  BytesKind kind = BytesKind::kActual;
  Objective objective = Objective::kS;
  std::int64_t t_cache = 0;  // tokens of one request's cache; 0: the table's
  Limits limits;
  Method method = methods::kExact;  // whose plan is shown and exported

  SolveOptions options() const;
  // Both make the same Problem: they differ at most in budget and method.
  bool sameProblem(const PlanInputs& other) const;
  bool operator==(const PlanInputs&) const = default;
};

// One layer of the plan, as the tables show it.
struct PlanRow {
  LayerConfig config;
  int index = -1;    // of the grid
  double bytes = 0;  // of PlanState::kind
  double error = 0;  // the layer's cell of the objective, predicted
  bool pinned = false;
};

// One method at the budget.
struct MethodResult {
  Method method;
  std::optional<Solution> solution;
  QString why_not;  // where there is no solution: the engine's words
};

// How many requests the GPU holds. Weights and activations are estimates.
struct Capacity {
  MemoryRequest request;
  std::int64_t weights = 0;
  std::int64_t activations = 0;    // at `requests`
  std::int64_t requests = 0;       // under the plan, each of request.context tokens
  std::int64_t full_requests = 0;  // with the uncompressed cache
};

// A solved budget. Immutable once announced.
struct PlanState {
  std::uint64_t generation = 0;  // of the problem; FrontierSet has the same
  std::int64_t budget = 0;
  BytesKind kind = BytesKind::kActual;
  Objective objective = Objective::kS;
  Method method;
  Solution solution;                  // of `method`
  std::vector<MethodResult> methods;  // in the order of comparedMethods()
  double lower_bound = 0;
  Headroom headroom;
  std::vector<PlanRow> rows;  // (layers)
  double full_bytes = 0;
  std::int64_t peak_bytes = 0;  // actual bytes + eviction slack
  int distinct = 0;
  std::int64_t t_cache = 0;
  std::optional<Capacity> capacity;  // where GPU memory is told and the model's sizes are known
  QString capacity_obstacle;         // why not, where GPU memory is told

  // Null where the method is not among those compared.
  const MethodResult* find(const Method& method) const;
};

// The methods a summary lists, best first.
const std::vector<Method>& comparedMethods();
// Those whose plan can be shown: their recipes are on the grid.
const std::vector<Method>& shownMethods();

// Where a plan is to run.
struct Deployment {
  std::int64_t gpu_bytes = 0;  // 0: not told
  std::optional<ModelSizes> sizes;
};

// Solves the budget with every method. Errors: those of Problem::solve for the method shown.
Result<std::shared_ptr<const PlanState>> solvePlan(const Problem& problem, const PlanInputs& inputs,
                                                   const Deployment& deployment,
                                                   std::uint64_t generation);

// Fills capacity and capacity_obstacle.
void fillCapacity(PlanState& state, const Problem& problem, const Deployment& deployment);

}  // namespace lamina::studio
