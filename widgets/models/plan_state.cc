// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/plan_state.h"

#include <QCoreApplication>
#include <algorithm>
#include <set>
#include <utility>

#include "widgets/models/limit_edits.h"
#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

MethodResult solveMethod(const Problem& problem, const Method& method, std::int64_t budget) {
  MethodResult result{method, {}, {}};
  if (auto solution = problem.solve(method, budget)) {
    result.solution = std::move(solution).value();
  } else {
    result.why_not = toQString(solution.status().message());
  }
  return result;
}

void fillRows(PlanState& state, const Problem& problem, const Limits& limits) {
  const CostTable& costs = problem.costs();
  std::set<int> distinct;
  state.rows.reserve(static_cast<std::size_t>(costs.layers));
  for (int layer = 0; layer < costs.layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    const int config = state.solution.configs[at];
    distinct.insert(config);
    state.rows.push_back(
        {state.solution.layers[at], config, costs.to_bytes(costs.at(layer, config)),
         problem.cells()[at][static_cast<std::size_t>(config)], pinOf(limits, layer).has_value()});
  }
  state.distinct = static_cast<int>(distinct.size());
}

}  // namespace

SolveOptions PlanInputs::options() const {
  SolveOptions options;
  options.bytes = kind;
  options.t_cache = t_cache;
  options.objective = objective;
  options.limits = limits;
  // A search that would hold up the slider (about 10 ms) gives up: the plan then says "not proven".
  options.max_states = std::int64_t{1} << 19;
  return options;
}

bool PlanInputs::sameProblem(const PlanInputs& other) const {
  return kind == other.kind && objective == other.objective && t_cache == other.t_cache &&
         limits == other.limits;
}

const MethodResult* PlanState::find(const Method& wanted) const {
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const MethodResult& result) {
    return result.method == wanted;
  });
  return found == methods.end() ? nullptr : &*found;
}

const std::vector<Method>& comparedMethods() {
  static const std::vector<Method> methods{
      methods::kExact,       methods::kGreedy,     methods::kGreedyAny,
      methods::k2dExact,     methods::kEvictExact, methods::kEdges2,
      methods::kUniformFree, methods::kUniform2d,  methods::k1d};
  return methods;
}

const std::vector<Method>& shownMethods() {
  static const std::vector<Method> methods{
      methods::kExact,      methods::kGreedy, methods::kGreedyAny, methods::k2dExact,
      methods::kEvictExact, methods::kEdges2, methods::kUniform2d};
  return methods;
}

void fillCapacity(PlanState& state, const Problem& problem, const Deployment& deployment) {
  state.capacity.reset();
  state.capacity_obstacle.clear();
  if (deployment.gpu_bytes == 0) return;
  if (!deployment.sizes) {
    state.capacity_obstacle =
        QCoreApplication::translate("lamina", "the model's sizes are unknown: open the model");
    return;
  }
  const SensitivityTable& table = problem.table();
  const StorageOptions storage = table.storage();
  const int evict_every = Plan{}.evict_every;
  Capacity capacity;
  capacity.request = {deployment.gpu_bytes, table.geometry.t_cache, 1};
  const auto requests = [&](const std::vector<LayerConfig>& layers) {
    return most_requests(*deployment.sizes, table.geometry, layers, evict_every, storage,
                         deployment.gpu_bytes, capacity.request.context);
  };
  const auto fits = requests(state.solution.layers);
  const auto full = requests(std::vector<LayerConfig>(state.solution.layers.size()));
  if (!fits || !full) {
    state.capacity_obstacle = toQString((fits ? full : fits).status().message());
    return;
  }
  capacity.requests = *fits;
  capacity.full_requests = *full;
  capacity.weights = deployment.sizes->weight_bytes;
  capacity.request.concurrency = std::max<std::int64_t>(1, *fits);
  if (const auto activations =
          estimate_activations(*deployment.sizes, table.geometry, capacity.request)) {
    capacity.activations = *activations;
  }
  state.capacity = capacity;
}

Result<std::shared_ptr<const PlanState>> solvePlan(const Problem& problem, const PlanInputs& inputs,
                                                   const Deployment& deployment,
                                                   std::uint64_t generation) {
  auto state = std::make_shared<PlanState>();
  LAMINA_ASSIGN_OR_RETURN(state->solution, problem.solve(inputs.method, inputs.budget));
  for (const Method& method : comparedMethods()) {
    state->methods.push_back(method == inputs.method ? MethodResult{method, state->solution, {}}
                                                     : solveMethod(problem, method, inputs.budget));
  }
  const CostTable& costs = problem.costs();
  state->generation = generation;
  state->budget = inputs.budget;
  state->kind = costs.kind;
  state->objective = inputs.objective;
  state->method = inputs.method;
  state->lower_bound = state->solution.lower_bound;
  state->full_bytes = costs.to_bytes(costs.full());
  state->t_cache = problem.table().geometry.t_cache;
  fillRows(*state, problem, inputs.limits);
  LAMINA_ASSIGN_OR_RETURN(
      state->peak_bytes,
      plan_peak_bytes(problem.table().geometry, state->t_cache, state->solution.layers,
                      Plan{}.evict_every, problem.table().storage()));
  LAMINA_ASSIGN_OR_RETURN(state->headroom, check_headroom(problem, state->solution, inputs.budget));
  fillCapacity(*state, problem, deployment);
  return std::shared_ptr<const PlanState>(std::move(state));
}

}  // namespace lamina::studio
