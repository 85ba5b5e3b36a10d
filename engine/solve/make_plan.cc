// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/memory.h"
#include "engine/solve/solve.h"

namespace lamina {

Result<Plan> make_plan(const Problem& problem, const Solution& solution, std::int64_t budget,
                       const std::string& table_sha256) {
  const SensitivityTable& table = problem.table();
  const StorageOptions storage = table.storage();
  Plan plan;
  if (table.model) plan.model = *table.model;
  plan.geometry = table.geometry;
  plan.scorer = storage.scorer;
  plan.survivors = storage.survivors;
  plan.quantizer = storage.quantizer;
  if (!solution.configs.empty()) plan.grid = table.grid;
  plan.layers = solution.layers;

  PlanBudget spent;
  spent.bytes = budget;
  spent.kind = problem.costs().kind;
  spent.used = solution.used_bytes;
  spent.full = problem.costs().to_bytes(problem.costs().full());
  // In actual bytes, whatever the budget is counted in.
  LAMINA_ASSIGN_OR_RETURN(spent.peak, plan_peak_bytes(plan.geometry, plan.geometry.t_cache,
                                                      plan.layers, plan.evict_every, storage));
  // Another cache's bytes hold no slack that is known here.
  if (spent.kind == BytesKind::kActual && !table.bytes.empty()) {
    spent.peak = static_cast<std::int64_t>(spent.used);
  }
  plan.budget = spent;
  plan.solver =
      PlanSolver{to_string(solution.method), std::string(to_string(problem.options().objective)),
                 solution.predicted, solution.lower_bound};
  const std::string probe = table.provenance ? table.provenance->probe : "";
  const std::int64_t tokens = table.provenance ? table.provenance->tokens : 0;
  plan.calibration = PlanCalibration{probe, tokens, table_sha256};
  LAMINA_RETURN_IF_ERROR(plan.validate("plan"));
  return plan;
}

}  // namespace lamina
