// SPDX-License-Identifier: Apache-2.0
// Properties of the greedy on random problems of any shape: it equals the definition written out
// naively below, its plans fit, and the same problem gives the same plan.
#include <rapidcheck.h>

#include <QTest>
#include <array>
#include <limits>
#include <numeric>

#include "engine/base/integer.h"
#include "engine/solve/solve.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

// Spec section 7, step by step, every step looking at every upgrade of every layer.
std::vector<int> naive_greedy(const SensitivityTable& table, const CostTable& costs,
                              std::int64_t budget, std::int64_t unit) {
  const ConfigGrid& grid = table.grid;
  std::vector<int> configs(static_cast<std::size_t>(costs.layers), 0);
  auto used = [&] {
    std::int64_t sum = 0;
    for (int l = 0; l < costs.layers; ++l) sum += costs.at(l, configs[l]);
    return sum;
  };
  for (;;) {
    double best = -1;
    int best_layer = -1;
    int best_config = -1;
    for (int l = 0; l < costs.layers; ++l) {
      for (int axis = 0; axis < 3; ++axis) {
        std::array<std::size_t, 3> at = {static_cast<std::size_t>(grid.keep_i(configs[l])),
                                         static_cast<std::size_t>(grid.k_i(configs[l])),
                                         static_cast<std::size_t>(grid.v_i(configs[l]))};
        const std::array<std::size_t, 3> ends = {grid.keep.size(), grid.k_bits.size(),
                                                 grid.v_bits.size()};
        if (at[axis] + 1 == ends[axis]) continue;
        ++at[axis];
        const LayerConfig next{grid.keep[at[0]], grid.k_bits[at[1]], grid.v_bits[at[2]]};
        const int config = grid.find(next);
        const std::int64_t extra = costs.at(l, config) - costs.at(l, configs[l]);
        const double gain = table.values[l][configs[l]] - table.values[l][config];
        if (gain <= 0 || used() + extra > budget) continue;
        const double ratio = extra <= 0 ? std::numeric_limits<double>::infinity()
                                        : gain / static_cast<double>(extra / unit);
        if (ratio > best) {
          best = ratio;
          best_layer = l;
          best_config = config;
        }
      }
    }
    if (best_layer < 0) return configs;
    configs[best_layer] = best_config;
  }
}

std::int64_t common_factor(const CostTable& costs) {
  std::int64_t factor = 0;
  for (std::int64_t units : costs.units) factor = std::gcd(factor, units);
  return factor;
}

template <class T>
std::vector<T> axis(std::vector<T> from) {
  const int count = *rc::gen::inRange<int>(1, static_cast<int>(from.size()) + 1);
  while (static_cast<int>(from.size()) > count) {
    from.erase(from.begin() + *rc::gen::inRange<int>(0, static_cast<int>(from.size())));
  }
  return from;
}

// Any grid, any shapes and windows; values random, or of few levels so that ties are common.
SensitivityTable any_table() {
  SensitivityTable table;
  const int layers = *rc::gen::inRange(1, 9);
  table.geometry.t_cache = *rc::gen::element(1, 2, 27, 100, 1000, 16000);
  for (int l = 0; l < layers; ++l) {
    table.geometry.layers.push_back({*rc::gen::inRange(1, 5), *rc::gen::element(1, 7, 32, 80, 128),
                                     *rc::gen::element(0, 0, 1, 64, 5000)});
  }
  table.grid = {axis(std::vector<double>{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0}),
                axis(std::vector<int>{2, 4, 8, 16}), axis(std::vector<int>{1, 4, 8, 16})};
  const int levels = *rc::gen::element(3, 10, 1000000);
  for (int l = 0; l < layers; ++l) {
    std::vector<double> row;
    for (int c = 0; c < table.grid.size(); ++c) row.push_back(*rc::gen::inRange(0, levels) / 8.0);
    table.values.push_back(std::move(row));
  }
  table.provenance = samples::provenance();
  table.provenance->scorer = *rc::gen::element<std::string>("streaming", "h2o");
  table.provenance->survivors = *rc::gen::element(SurvivorMode::kShared, SurvivorMode::kPerHead);
  return table;
}

}  // namespace

class TestSolveProperties : public QObject {
  Q_OBJECT

  // RapidCheck prints the counterexample and the seed that reproduces it.
  template <class F>
  void holds(const char* name, F&& property) {
    QVERIFY2(rc::check(name, std::forward<F>(property)), name);
  }

 private slots:
  void equals_the_definition() {
    holds("greedy equals the definition", [] {
      const SensitivityTable table = any_table();
      const BytesKind kind = *rc::gen::element(BytesKind::kNominal, BytesKind::kActual);
      auto problem = Problem::make(table, {.bytes = kind});
      RC_ASSERT(problem.has_value());
      const CostTable& costs = problem->costs();
      // Budgets from the first configuration everywhere upwards: that is where the definition
      // starts.
      const std::vector<int> start(static_cast<std::size_t>(costs.layers), 0);
      const std::int64_t least = problem->used_units(start) / costs.denominator + 1;
      const std::int64_t most = std::max(problem->full_bytes(), least);
      const std::int64_t budget =
          least + (most - least) * *rc::gen::inRange<std::int64_t>(0, 1001) / 1000;
      auto solution = problem->solve(methods::kGreedy, budget);
      RC_ASSERT(solution.has_value());
      const std::int64_t unit = kind == BytesKind::kNominal ? common_factor(costs) : 1;
      RC_ASSERT(solution->configs ==
                naive_greedy(problem->table(), costs, costs.budget_units(budget), unit));
    });
  }

  void plans_fit_and_repeat() {
    holds("plans fit, or the smallest budget is named", [] {
      const SensitivityTable table = any_table();
      const BytesKind kind = *rc::gen::element(BytesKind::kNominal, BytesKind::kActual);
      auto problem = Problem::make(table, {.bytes = kind});
      RC_ASSERT(problem.has_value());
      const std::int64_t budget =
          problem->full_bytes() * *rc::gen::inRange<std::int64_t>(0, 1301) / 1000;
      for (Method method : {methods::kGreedy, methods::kUniform2d}) {
        auto solution = problem->solve(method, budget);
        auto again = Problem::make(table, {.bytes = kind})->solve(method, budget);
        RC_ASSERT(solution.has_value() == again.has_value());
        if (!solution) {
          RC_ASSERT(solution.status().kind() == ErrorKind::kRefused);
          RC_ASSERT(method == methods::kUniform2d || budget < problem->smallest_bytes());
          continue;
        }
        RC_ASSERT(solution->configs == again->configs);
        RC_ASSERT(Int128{solution->used_units} <= Int128{budget} * problem->costs().denominator);
        RC_ASSERT(problem->used_units(solution->configs) == solution->used_units);
        RC_ASSERT(problem->predicted(solution->configs) == solution->predicted);
      }
      auto smallest = problem->solve(methods::kGreedy, problem->smallest_bytes());
      RC_ASSERT(smallest.has_value());
      RC_ASSERT(!problem->solve(methods::kGreedy, problem->smallest_bytes() - 1).has_value());
    });
  }

  void uniform_is_the_best_of_its_kind() {
    holds("no other single configuration fits and hurts less", [] {
      const SensitivityTable table = any_table();
      auto problem = Problem::make(table, {.bytes = BytesKind::kActual});
      RC_ASSERT(problem.has_value());
      const std::int64_t budget =
          problem->full_bytes() * *rc::gen::inRange<std::int64_t>(100, 1101) / 1000;
      auto solution = problem->solve(methods::kUniform2d, budget);
      for (int c = 0; c < table.grid.size(); ++c) {
        const std::vector<int> other(table.values.size(), c);
        if (problem->used_units(other) > budget) continue;
        RC_ASSERT(solution.has_value());
        const double value = problem->predicted(other);
        RC_ASSERT(value > solution->predicted ||
                  (value == solution->predicted && c >= solution->configs[0]));
      }
    });
  }

  void plans_read_back() {
    holds("make_plan gives a plan that reads back the same", [] {
      const SensitivityTable table = any_table();
      auto problem = Problem::make(table, {.bytes = BytesKind::kActual});
      RC_ASSERT(problem.has_value());
      const std::int64_t budget = std::max(problem->full_bytes(), problem->smallest_bytes());
      auto solution = problem->solve(methods::kGreedy, budget);
      RC_ASSERT(solution.has_value());
      auto plan = make_plan(*problem, *solution, budget, std::string(64, '0'));
      RC_ASSERT(plan.has_value());
      auto back = plan_from_json(plan_to_json(*plan), "p");
      RC_ASSERT(back.has_value());
      RC_ASSERT(*back == *plan);
    });
  }
};

QTEST_GUILESS_MAIN(TestSolveProperties)
#include "tst_solve_properties.moc"
