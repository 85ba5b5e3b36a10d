// SPDX-License-Identifier: Apache-2.0
// The exact optimum, the LP bound and the greedies against brute force on small random tables, and
// against each other on tables of real size and of the kinds that are hard for a knapsack.
#include "engine/solve/exact.h"

#include <rapidcheck.h>

#include <QTest>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "engine/base/integer.h"
#include "engine/solve/solve.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

// Sums of the same cells in another order.
bool about(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(a, b); }

// Up to 5 layers of their own shapes, up to 8 recipes; not monotone, often with ties.
SensitivityTable small_table() {
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  SensitivityTable table;
  const int layers = *rc::gen::inRange(1, 6);
  table.geometry.t_cache = std::vector<std::int64_t>{1, 9, 40, 1000}[pick(4)];
  for (int l = 0; l < layers; ++l) {
    table.geometry.layers.push_back({1 + pick(3), 1 + pick(40), pick(3) == 0 ? 1 + pick(50) : 0});
  }
  const std::vector<ConfigGrid> grids = {{{1.0}, {16}, {16}},
                                         {{0.1, 1.0}, {4, 16}, {4, 16}},
                                         {{0.25, 0.5, 0.75, 1.0}, {8}, {4, 8}},
                                         {{0.5}, {4, 8, 16}, {16}}};
  table.grid = grids[pick(4)];
  const int levels = std::vector<int>{2, 5, 1000000}[pick(3)];
  for (int l = 0; l < layers; ++l) {
    std::vector<double> row;
    for (int c = 0; c < table.grid.size(); ++c) row.push_back(pick(levels) / 7.0);
    table.values.push_back(std::move(row));
  }
  return table;
}

// Every allowed plan.
void for_every_plan(const Problem& problem, const std::function<void(const std::vector<int>&)>& f) {
  const CostTable& costs = problem.costs();
  std::vector<int> configs(static_cast<std::size_t>(costs.layers), 0);
  for (;;) {
    bool allowed = true;
    for (int l = 0; l < costs.layers; ++l) allowed = allowed && problem.allowed(l, configs[l]);
    if (allowed) f(configs);
    int l = 0;
    while (l < costs.layers && ++configs[l] == costs.configs) configs[l++] = 0;
    if (l == costs.layers) return;
  }
}

bool fits(const Problem& problem, const std::vector<int>& configs, std::int64_t budget) {
  return Int128{problem.used_units(configs)} <= Int128{budget} * problem.costs().denominator;
}

// The least sum of cells of any allowed plan within the budget; infinite where none fits.
double brute_force(const Problem& problem, std::int64_t budget) {
  double best = std::numeric_limits<double>::infinity();
  for_every_plan(problem, [&](const std::vector<int>& configs) {
    if (fits(problem, configs, budget)) best = std::min(best, problem.predicted(configs));
  });
  return best;
}

// greedy_any by its definition: every step looks at every dearer choice of every layer.
std::vector<int> naive_any(const ChoiceTable& table, std::int64_t budget) {
  std::vector<int> at(table.begin.begin(), table.begin.end() - 1);
  std::int64_t room = budget - table.cheapest();
  for (;;) {
    double best = 0;
    int best_layer = -1, best_to = -1;
    for (int l = 0; l < table.layers(); ++l) {
      for (int to = at[l] + 1; to < table.begin[l + 1]; ++to) {
        const std::int64_t cost = table.choices[to].cost - table.choices[at[l]].cost;
        if (cost > room) continue;
        const double gain = table.choices[at[l]].value - table.choices[to].value;
        const double ratio = gain / static_cast<double>(cost);
        if (ratio > best) {
          best = ratio;
          best_layer = l;
          best_to = to;
        }
      }
    }
    if (best_layer < 0) return at;
    room -= table.choices[best_to].cost - table.choices[at[best_layer]].cost;
    at[best_layer] = best_to;
  }
}

SolveOptions any_options() {
  return {.bytes = *rc::gen::element(BytesKind::kNominal, BytesKind::kActual)};
}

std::int64_t any_budget(const Problem& problem) {
  const std::int64_t least = problem.smallest_bytes();
  const std::int64_t most = std::max(problem.full_bytes(), least);
  return least + (most - least) * *rc::gen::inRange<std::int64_t>(0, 1001) / 1000;
}

// 80 layers x 54: f(keep) + g(K) + g(V), the same in `kinds` kinds of layers.
SensitivityTable layered_table(int kinds) {
  SensitivityTable table = samples::table(80, 1);
  const std::vector<double> f = {.81, .5625, .25, .0625, .01, 0}, g = {1, .15, 0};
  for (int l = 0; l < 80; ++l) {
    const double scale = 1 + l % kinds * 0.37;
    for (int c = 0; c < 54; ++c) {
      table.values[l][c] =
          f[table.grid.keep_i(c)] + scale * g[table.grid.k_i(c)] + g[table.grid.v_i(c)] / scale;
    }
  }
  return table;
}

}  // namespace

class TestExact : public QObject {
  Q_OBJECT

  // RapidCheck prints the counterexample and the seed that reproduces it.
  template <class F>
  void holds(const char* name, F&& property) {
    QVERIFY2(rc::check(name, std::forward<F>(property)), name);
  }

 private slots:
  void equals_brute_force() {
    holds("exact is the optimum; greedy >= exact >= bound", [] {
      auto made = Problem::make(small_table(), any_options());
      RC_ASSERT(made.has_value());
      const Problem& problem = *made;
      const std::int64_t budget = any_budget(problem);
      const double best = brute_force(problem, budget);
      auto exact = problem.solve(methods::kExact, budget);
      RC_ASSERT(exact.has_value());
      RC_ASSERT(exact->proven);
      RC_ASSERT(fits(problem, exact->configs, budget));
      RC_ASSERT(problem.predicted(exact->configs) == exact->predicted);
      RC_ASSERT(about(exact->predicted, best));
      RC_ASSERT(exact->lower_bound <= best * (1 + 1e-12));
      for (const Method& method : {methods::kGreedy, methods::kGreedyAny, methods::kLp}) {
        auto other = problem.solve(method, budget);
        RC_ASSERT(other.has_value());
        RC_ASSERT(fits(problem, other->configs, budget));
        RC_ASSERT(other->predicted >= best * (1 - 1e-12));
        RC_ASSERT(about(other->lower_bound, exact->lower_bound));
      }
      // One byte below the cheapest plan nothing fits.
      RC_ASSERT(!problem.solve(methods::kExact, problem.smallest_bytes() - 1).has_value());
    });
  }

  void breakpoints() {
    holds("right at every budget where another plan begins to fit, and one byte beside it", [] {
      SensitivityTable table = small_table();
      const std::size_t layers = std::min<std::size_t>(table.values.size(), 2);
      table.values.resize(layers);
      table.geometry.layers.resize(layers);
      const Problem problem = *Problem::make(table, any_options());
      std::vector<std::int64_t> edges;
      for_every_plan(problem, [&](const std::vector<int>& configs) {
        edges.push_back(static_cast<std::int64_t>(
            ceil_div(problem.used_units(configs), problem.costs().denominator)));
      });
      for (std::int64_t edge : edges) {
        for (std::int64_t budget : {edge - 1, edge, edge + 1}) {
          const double best = brute_force(problem, budget);
          auto exact = problem.solve(methods::kExact, budget);
          RC_ASSERT(exact.has_value() == std::isfinite(best));
          if (exact) RC_ASSERT(about(exact->predicted, best));
        }
      }
    });
  }

  void limits_are_respected() {
    holds("pins and forbidden recipes bind every method; exact is the optimum among the rest", [] {
      const SensitivityTable table = small_table();
      SolveOptions options = any_options();
      const int layer = *rc::gen::inRange(0, table.layers());
      const int pinned = *rc::gen::inRange(0, table.grid.size());
      options.limits.pins = {{{layer, layer}, table.grid.at(pinned)}};
      if (table.grid.v_bits.size() > 1) {
        options.limits.forbid = {{{}, Axis::kVBits, Comparison::kEqual, 4}};
      }
      const Problem problem = *Problem::make(table, options);
      const std::int64_t budget = any_budget(problem);
      RC_ASSERT(
          about(problem.solve(methods::kExact, budget)->predicted, brute_force(problem, budget)));
      for (const Method& method : all_methods()) {
        if (method.family == Family::kEdges && table.layers() < 4) continue;
        auto solution = problem.solve(method, budget);
        if (!solution) {
          RC_ASSERT(solution.status().kind() == ErrorKind::kRefused);
          continue;
        }
        RC_ASSERT(solution->layers[layer] == table.grid.at(pinned));
        for (int l = 0; l < table.layers(); ++l) {
          RC_ASSERT(l == layer || table.grid.v_bits.size() == 1 || solution->layers[l].v_bits != 4);
        }
      }
    });
  }

  void more_budget_is_never_worse() {
    holds("exact and the bound fall with the budget, corners are optimal", [] {
      const Problem problem = *Problem::make(small_table(), any_options());
      double last = std::numeric_limits<double>::infinity(), last_bound = last;
      const std::int64_t least = problem.smallest_bytes();
      const std::int64_t step = std::max<std::int64_t>(1, (problem.full_bytes() - least) / 40);
      for (int i = 0; i <= 40; ++i) {
        const Solution exact = *problem.solve(methods::kExact, least + i * step);
        RC_ASSERT(exact.predicted <= last * (1 + 1e-12));
        RC_ASSERT(exact.lower_bound <= last_bound * (1 + 1e-12));
        last = exact.predicted;
        last_bound = exact.lower_bound;
      }
      // Where a budget in whole bytes is a corner's cost exactly.
      if (problem.costs().denominator != 1) return;
      for (std::int64_t corner : problem.corner_bytes()) {
        const Solution lp = *problem.solve(methods::kLp, corner);
        RC_ASSERT(about(lp.predicted, problem.solve(methods::kExact, corner)->predicted));
      }
    });
  }

  void greedy_any_equals_its_definition() {
    holds("greedy_any by binary search equals the step-by-step definition", [] {
      std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
      const SensitivityTable table = small_table();
      const CostTable costs =
          *make_cost_table(table.geometry, table.grid, BytesKind::kActual, table.storage());
      const std::vector<std::uint8_t> all(costs.units.size(), 1);
      const ChoiceTable choices = pareto_choices(table.values, costs, all, 1);
      const LpFrontier lp(choices);
      const std::int64_t range = lp.cost(lp.segments().size()) - lp.cost(0) + 1;
      for (int i = 0; i < 5; ++i) {
        const std::int64_t budget =
            lp.cost(0) + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range));
        RC_ASSERT(solve_greedy_any(lp, budget) == naive_any(choices, budget));
      }
    });
  }

  // On a table that is not monotone the paper's greedy can stop with budget left, and more budget
  // can make it worse; the exact optimum does neither.
  void greedy_can_be_stuck_and_get_worse() {
    SensitivityTable table;
    table.geometry = samples::geometry(1, 40, 1, 1);
    table.grid = {{0.25, 0.5, 1.0}, {16}, {16}};
    table.values = {{1.0, 2.0, 0.0}};
    const Problem stuck = *Problem::make(table, {.bytes = BytesKind::kNominal});
    QCOMPARE(stuck.solve(methods::kGreedy, 160)->configs, std::vector<int>{0});
    QCOMPARE(stuck.solve(methods::kGreedyAny, 160)->configs, std::vector<int>{2});
    QCOMPARE(stuck.solve(methods::kExact, 160)->configs, std::vector<int>{2});
    // 60 bytes more let the greedy take layer 0's step, the better one at first sight, which leaves
    // no room for layer 1's two steps, of which the second gains most.
    table.geometry = samples::geometry(2, 40, 1, 1);
    table.geometry.layers[0].head_dim = 3;
    table.grid = {{0.25, 0.5, 0.75}, {8}, {8}};
    table.values = {{3.3, 0.0, 0.0}, {11.0, 10.0, 0.0}};
    const Problem rising = *Problem::make(table, {.bytes = BytesKind::kNominal});
    QCOMPARE(rising.smallest_bytes(), std::int64_t{80});
    QCOMPARE(rising.solve(methods::kGreedy, 139)->predicted, 3.3);
    QCOMPARE(rising.solve(methods::kGreedy, 140)->predicted, 11.0);
    QCOMPARE(rising.solve(methods::kExact, 139)->predicted, 3.3);
    QCOMPARE(rising.solve(methods::kExact, 140)->predicted, 3.3);
    QCOMPARE(rising.solve(methods::kGreedyAny, 140)->predicted, 3.3);
  }

  void degenerate_tables() {
    // Equal sensitivities everywhere: nothing is worth a byte.
    SensitivityTable table = samples::table(6, 1);
    for (auto& row : table.values) std::fill(row.begin(), row.end(), 0.5);
    Problem problem = *Problem::make(table);
    for (const Method& method : {methods::kGreedy, methods::kGreedyAny, methods::kExact}) {
      const Solution solution = *problem.solve(method, problem.full_bytes());
      QCOMPARE(solution.predicted, 3.0);
      QCOMPARE(solution.configs, std::vector<int>(6, 0));
      QCOMPARE(solution.lower_bound, 3.0);
    }
    QCOMPARE(problem.corner_bytes(), std::vector<std::int64_t>{problem.smallest_bytes()});
    // One layer, one configuration.
    table = samples::table(1, 1);
    table.grid = {{1.0}, {16}, {16}};
    table.values = {{0.25}};
    problem = *Problem::make(table);
    QCOMPARE(problem.solve(methods::kExact, problem.full_bytes())->predicted, 0.25);
    QVERIFY(!problem.solve(methods::kExact, problem.full_bytes() - 1));
    // Zero everywhere.
    table = samples::table(4, 1);
    for (auto& row : table.values) std::fill(row.begin(), row.end(), 0.0);
    problem = *Problem::make(table);
    QCOMPARE(problem.solve(methods::kExact, problem.smallest_bytes())->predicted, 0.0);
  }

  // Cells whose falls per byte are smaller than any double.
  void denormal_cells() {
    SensitivityTable table;
    table.geometry = samples::geometry(2, 1000000, 8, 128);
    table.grid = {{1.0}, {8, 16}, {16}};
    table.values = {{1e-318, 0}, {1e-318, 0}};
    const Problem problem = *Problem::make(table);
    for (const Method& method : all_methods()) {
      if (method.family == Family::kEdges) continue;
      auto solution = problem.solve(method, problem.full_bytes());
      QVERIFY2(solution, to_string(method).c_str());
      QCOMPARE(solution->predicted, 0.0);
    }
  }

  // Bytes without a common measure, values that fall exactly with them: the number of partial plans
  // explodes, and the search ends at its limit of them.
  void subset_sums_end_at_the_limit() {
    std::mt19937_64 random(5);
    SensitivityTable table = samples::table(24, 1);
    for (int l = 0; l < 24; ++l) {
      std::vector<std::int64_t> bytes;
      for (int c = 0; c < 54; ++c) bytes.push_back(1 + static_cast<std::int64_t>(random() >> 31));
      for (int c = 0; c < 54; ++c) {
        table.values[l][c] = 1e-9 * static_cast<double>((std::int64_t{1} << 33) - bytes[c]);
      }
      table.bytes.push_back(bytes);
    }
    const CostTable costs =
        *make_cost_table(table.geometry, table.grid, BytesKind::kActual, table.storage());
    CostTable listed = costs;
    for (int l = 0; l < 24; ++l) {
      std::copy(table.bytes[l].begin(), table.bytes[l].end(), listed.units.begin() + 54 * l);
    }
    const std::vector<std::uint8_t> all(listed.units.size(), 1);
    const ChoiceTable choices = pareto_choices(table.values, listed, all, 1);
    const LpFrontier lp(choices);
    const std::int64_t range = lp.cost(lp.segments().size()) - lp.cost(0);
    constexpr std::int64_t kLimit = 300000;
    const ExactResult result = solve_exact(lp, (lp.cost(0) + range / 3) | 1, {}, kLimit);
    // One layer's candidates of one list at most beyond it.
    QVERIFY2(result.states < 3 * kLimit, qPrintable(QString::number(result.states)));
    std::int64_t cost = 0;
    for (int choice : result.choices) cost += choices.choices[choice].cost;
    QVERIFY(cost <= lp.cost(0) + range / 3 + 1);
  }

  // What is hard for a knapsack: many equal layers. Counted in partial plans, not in time.
  void adversarial_tables_need_few_states() {
    for (int kinds : {1, 2}) {
      const SensitivityTable table = layered_table(kinds);
      const CostTable costs =
          *make_cost_table(table.geometry, table.grid, BytesKind::kActual, table.storage());
      const std::vector<std::uint8_t> all(costs.units.size(), 1);
      const ChoiceTable choices = pareto_choices(table.values, costs, all, 1);
      const LpFrontier lp(choices);
      const std::int64_t range = lp.cost(lp.segments().size()) - lp.cost(0);
      for (int i = 0; i <= 200; ++i) {
        const std::int64_t budget = lp.cost(0) + range / 200 * i;
        const ExactResult result = solve_exact(lp, budget);
        QVERIFY(result.proven);
        QVERIFY2(result.states < 2000000, qPrintable(QString::number(result.states)));
      }
    }
  }

  void gives_up_honestly() {
    // Cells that fall exactly as their bytes rise: every plan that fills the budget is as good, and
    // proving that none fills it better can take forever.
    SensitivityTable table = samples::table(80, 1);
    for (int l = 0; l < 80; ++l) table.geometry.layers[l].head_dim = 64 + l;
    const CostTable costs =
        *make_cost_table(table.geometry, table.grid, BytesKind::kActual, table.storage());
    for (int l = 0; l < 80; ++l) {
      for (int c = 0; c < 54; ++c) {
        table.values[l][c] = 1e-9 * static_cast<double>(costs.at(l, 53) * 2 - costs.at(l, c));
      }
    }
    const Problem problem = *Problem::make(table, {.max_states = 1000});
    const std::int64_t budget = problem.full_bytes() / 3 + 37;
    const Solution solution = *problem.solve(methods::kExact, budget);
    QVERIFY(fits(problem, solution.configs, budget));
    QVERIFY(solution.predicted >= solution.lower_bound * (1 - 1e-12));
    QVERIFY(solution.predicted <= problem.solve(methods::kGreedyAny, budget)->predicted);
    if (!solution.proven) QVERIFY(solution.predicted > solution.lower_bound);
    std::stop_source stop;
    stop.request_stop();
    QCOMPARE(problem.solve(methods::kExact, budget, stop.get_token()).status().kind(),
             ErrorKind::kCancelled);
  }
};

QTEST_GUILESS_MAIN(TestExact)
#include "tst_exact.moc"
