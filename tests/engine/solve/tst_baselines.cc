// SPDX-License-Identifier: Apache-2.0
// The families that a plan per layer is compared with, and every method's frontier.
#include <QTest>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/solve/frontier.h"
#include "engine/solve/solve.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

// 4 layers of two shapes, 3 x 2 x 2 recipes, falling but not evenly.
SensitivityTable small_table(std::uint32_t seed) {
  SensitivityTable table = samples::table(4, seed);
  table.geometry.layers[1] = {1, 80, 0};
  table.geometry.layers[3] = {2, 64, 700};
  table.grid = {{0.25, 0.5, 1.0}, {4, 16}, {8, 16}};
  for (std::vector<double>& row : table.values) row.resize(12);
  return table;
}

bool fits(const Problem& problem, const std::vector<int>& configs, std::int64_t budget) {
  return problem.used_units(configs) <= problem.costs().budget_units(budget);
}

// The least sum of cells over all plans of 4 layers that `in_family` lets pass.
double brute_force(const Problem& problem, std::int64_t budget,
                   const std::function<bool(const std::vector<LayerConfig>&)>& in_family) {
  const ConfigGrid& grid = problem.table().grid;
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> c(4);
  for (c[0] = 0; c[0] < grid.size(); ++c[0]) {
    for (c[1] = 0; c[1] < grid.size(); ++c[1]) {
      for (c[2] = 0; c[2] < grid.size(); ++c[2]) {
        for (c[3] = 0; c[3] < grid.size(); ++c[3]) {
          std::vector<LayerConfig> layers;
          for (int config : c) layers.push_back(grid.at(config));
          if (in_family(layers) && fits(problem, c, budget)) {
            best = std::min(best, problem.predicted(c));
          }
        }
      }
    }
  }
  return best;
}

bool one_keep(const std::vector<LayerConfig>& layers) {
  for (const LayerConfig& layer : layers) {
    if (layer.keep != layers[0].keep) return false;
  }
  return true;
}

bool one_pair(const std::vector<LayerConfig>& layers) {
  for (const LayerConfig& layer : layers) {
    if (layer.k_bits != layers[0].k_bits || layer.v_bits != layers[0].v_bits) return false;
  }
  return true;
}

// The middle layers alike; the outer ones of the same keep at 16 or 8 bit.
bool edges_of_one(const std::vector<LayerConfig>& layers) {
  const LayerConfig& edge = layers[0];
  return one_keep(layers) && layers[1] == layers[2] && layers[3] == edge &&
         edge.k_bits == edge.v_bits && (edge.k_bits == 16 || edge.k_bits == 8);
}

}  // namespace

class TestBaselines : public QObject {
  Q_OBJECT

 private slots:
  void families_equal_brute_force() {
    const std::vector<std::pair<Method, std::function<bool(const std::vector<LayerConfig>&)>>>
        families = {
            {methods::k2dExact, one_keep},
            {methods::kEvictExact, one_pair},
            {methods::kUniform2d,
             [](const auto& layers) { return one_keep(layers) && one_pair(layers); }},
            {methods::k1d,
             [](const auto& layers) {
               return one_keep(layers) && one_pair(layers) && layers[0].k_bits == 16 &&
                      layers[0].v_bits == 16;
             }},
            {Method{Family::kEdges, Search::kExact, 1}, edges_of_one},
        };
    for (std::uint32_t seed : {1u, 2u, 3u}) {
      const SensitivityTable table = small_table(seed);
      for (BytesKind kind : {BytesKind::kNominal, BytesKind::kActual}) {
        const Problem problem = *Problem::make(table, {.bytes = kind});
        for (int percent : {5, 12, 20, 33, 50, 80, 100}) {
          const std::int64_t budget = problem.full_bytes() * percent / 100;
          for (const auto& [method, in_family] : families) {
            const double best = brute_force(problem, budget, in_family);
            auto solution = problem.solve(method, budget);
            QCOMPARE(solution.has_value(), std::isfinite(best));
            if (!solution) {
              QCOMPARE(solution.status().kind(), ErrorKind::kRefused);
              continue;
            }
            QVERIFY(std::abs(solution->predicted - best) <= 1e-12 * best);
            QVERIFY(in_family(solution->layers));
            QVERIFY(fits(problem, solution->configs, budget));
            QVERIFY(solution->lower_bound <= best * (1 + 1e-12));
          }
          for (const Method& method : {methods::k2dGreedy, methods::kEvictGreedy}) {
            auto greedy = problem.solve(method, budget);
            if (!greedy) continue;
            const auto& in_family = method.family == Family::k2d ? one_keep : one_pair;
            QVERIFY(in_family(greedy->layers));
            QVERIFY(greedy->predicted >= brute_force(problem, budget, in_family) * (1 - 1e-12));
          }
        }
      }
    }
  }

  // 1d keeps 16 bits, so that at keep 0.1 it ends at 10x.
  void one_d_ends_at_ten() {
    const Problem problem = *Problem::make(samples::table(5, 3), {.bytes = BytesKind::kNominal});
    QVERIFY(problem.solve(methods::k1d, problem.full_bytes() / 10 + 1));
    const Status status = problem.solve(methods::k1d, problem.full_bytes() / 11).status();
    QCOMPARE(status.kind(), ErrorKind::kRefused);
    QVERIFY(status.message().find("smallest feasible budget is") != std::string::npos);
    SensitivityTable low = small_table(1);
    low.grid = {{0.25, 0.5, 1.0}, {4, 8}, {4, 8}};
    QCOMPARE(Problem::make(low)->solve(methods::k1d, 1 << 30).status().kind(), ErrorKind::kRefused);
  }

  // The continuum: all of the budget used, and the error that a straight line between the two
  // neighbouring keeps gives.
  void uniform_free_by_hand() {
    SensitivityTable table;
    table.geometry = samples::geometry(2, 1000, 1, 4);  // 16 B a token and layer at 16 bit
    table.grid = {{0.5, 1.0}, {8, 16}, {16}};
    table.values = {{0.8, 0.6, 0.3, 0.0}, {0.4, 0.2, 0.1, 0.0}};
    const Problem problem = *Problem::make(table, {.bytes = BytesKind::kNominal});
    // K8 V16 costs 24000 B at keep 1.0, K16 V16 32000 B. At 18000 B: keep 0.75 or 0.5625.
    const Solution solution = *problem.solve(methods::kUniformFree, 18000);
    // K8: (1.2 + 0.4) / 2 = 0.8. K16: 0.8 * (1 - 0.125) = 0.7.
    QVERIFY(solution.configs.empty());
    QVERIFY(solution.layers[0] == (LayerConfig{0.5625, 16, 16}));
    QVERIFY(solution.layers[1] == solution.layers[0]);
    QVERIFY(std::abs(solution.predicted - 0.7) < 1e-12);
    QCOMPARE(solution.used_bytes, 18000.0);
    // At 25000 B K8 keeps everything: 0.4, all it can use; K16 at 0.78125 gives 0.35.
    QVERIFY(std::abs(problem.solve(methods::kUniformFree, 25000)->predicted - 0.35) < 1e-12);
    // At exactly 24000 B: K16 at 0.75 gives 0.4 as well; the first pair stays.
    const Solution even = *problem.solve(methods::kUniformFree, 24000);
    QCOMPARE(even.configs, (std::vector<int>{2, 2}));
    const Solution all = *problem.solve(methods::kUniformFree, 32000);
    QCOMPARE(all.configs, (std::vector<int>{3, 3}));
    QCOMPARE(all.predicted, 0.0);
    const Status status = problem.solve(methods::kUniformFree, 11999).status();
    QVERIFY(status.message().find("smallest feasible budget is 12000 bytes") != std::string::npos);
  }

  void uniform_free_uses_the_budget() {
    for (BytesKind kind : {BytesKind::kNominal, BytesKind::kActual}) {
      SensitivityTable table = samples::table(30, 7);
      table.geometry.t_cache = 8192;
      table.geometry.layers[4].window = 512;
      const Problem problem = *Problem::make(table, {.bytes = kind});
      for (double ratio : {1.05, 1.6, 2.0, 3.2, 6.6, 14.0}) {
        const auto budget =
            static_cast<std::int64_t>(static_cast<double>(problem.full_bytes()) / ratio);
        const Solution solution = *problem.solve(methods::kUniformFree, budget);
        const double share = solution.used_bytes / static_cast<double>(budget);
        QVERIFY(share <= 1);
        QVERIFY2(share >= 0.99 || solution.layers[0].keep == 1.0,
                 qPrintable(QString("%1 at %2x").arg(share).arg(ratio)));
        if (kind == BytesKind::kActual) {  // the bytes are those of the recipe it names
          std::int64_t bytes = 0;
          for (int l = 0; l < 30; ++l) {
            const std::int64_t tokens = problem.table().geometry.layer_tokens(l);
            bytes += *actual_layer_bytes(table.geometry.layers[l], solution.layers[l],
                                         n_keep(solution.layers[l].keep, tokens), table.storage());
          }
          QCOMPARE(static_cast<double>(bytes), solution.used_bytes);
        }
      }
    }
  }

  // Keeps that no millionth hits, forbidden keeps at the ends and in the middle: where 2d_uniform
  // has a plan the continuum has one at least as dear, and the smallest budget it names is right.
  void uniform_free_within_any_grid_and_limits() {
    for (const std::vector<double>& keeps : std::vector<std::vector<double>>{
             {1.0 / 3}, {0.1234567, 0.1234568}, {1e-7}, {0.3, 1.0 / 3, 0.7, 1.0}}) {
      SensitivityTable table = samples::table(3, 2);
      table.grid = {keeps, {4, 16}, {8}};
      for (std::vector<double>& row : table.values) row.resize(2 * keeps.size());
      for (BytesKind kind : {BytesKind::kNominal, BytesKind::kActual}) {
        SolveOptions options;
        options.bytes = kind;
        const Problem problem = *Problem::make(table, options);
        for (std::int64_t budget : {problem.smallest_bytes() - 1, problem.smallest_bytes(),
                                    problem.full_bytes() / 2, problem.full_bytes()}) {
          auto uniform = problem.solve(methods::kUniform2d, budget);
          auto free = problem.solve(methods::kUniformFree, budget);
          QCOMPARE(free.has_value(), uniform.has_value());
          if (!free) continue;
          QVERIFY(free->layers[0].keep >= keeps.front() && free->layers[0].keep <= keeps.back());
          QVERIFY(free->used_bytes <= static_cast<double>(budget));
          QVERIFY(free->lower_bound <= free->predicted);
          double worst = 0;
          for (const auto& row : table.values) worst += *std::max_element(row.begin(), row.end());
          QVERIFY(free->predicted >= 0 && free->predicted <= worst);
        }
      }
    }
    const SensitivityTable table = samples::table(5, 9);
    for (const char* rule : {"keep>=0.9", "keep=1", "keep!=0.5", "keep<0.5", "keep=0.5"}) {
      SolveOptions options;
      options.limits.forbid = {*parse_forbid(rule)};
      const Problem problem = *Problem::make(table, options);
      for (const std::int64_t budget : {problem.full_bytes(), problem.full_bytes() / 2,
                                        problem.smallest_bytes(), problem.smallest_bytes() - 1}) {
        auto uniform = problem.solve(methods::kUniform2d, budget);
        auto free = problem.solve(methods::kUniformFree, budget);
        QVERIFY2(free.has_value() == uniform.has_value(), rule);
        if (!free) QCOMPARE(free.status().advice(), uniform.status().advice());
      }
    }
  }

  void pins_stay_in_every_family() {
    SolveOptions options;
    const LayerConfig pinned{0.5, 4, 8};
    options.limits.pins = {{{2, 2}, pinned}};
    const Problem problem = *Problem::make(small_table(5), options);
    const std::int64_t budget = problem.full_bytes() / 2;
    for (const Method& method : all_methods()) {
      auto solution = problem.solve(method, budget);
      QVERIFY2(solution, to_string(method).c_str());
      QVERIFY(solution->layers[2] == pinned);
      if (method.family == Family::kUniform || method.family == Family::kUniformFree) {
        QVERIFY(solution->layers[0] == solution->layers[1]);
        QVERIFY(solution->layers[0] == solution->layers[3]);
      }
    }
  }

  void targets_rule_out_what_they_cannot_run() {
    SolveOptions options;
    options.limits.target =
        Target{"one", "One", "", PlanShape::kUniform, {1.0}, {{16, 16}, {4, 8}}};
    const Problem uniform = *Problem::make(small_table(5), options);
    for (const Method& method : all_methods()) {
      auto solution = uniform.solve(method, uniform.full_bytes());
      const bool one = method.family == Family::k1d || method.family == Family::kUniform ||
                       method.family == Family::kUniformFree;
      QCOMPARE(solution.has_value(), one);
      if (one) {
        QCOMPARE(solution->layers[0].keep, 1.0);
      } else {
        QCOMPARE(solution.status().kind(), ErrorKind::kRefused);
        QVERIFY(solution.status().message().find("2d_uniform") != std::string::npos);
      }
    }
    // The continuum ends at what the target can keep.
    const Solution tight = *uniform.solve(methods::kUniformFree, uniform.full_bytes() / 2);
    QVERIFY(tight.layers[0] == (LayerConfig{1.0, 4, 8}));
    options.limits.target->shape = PlanShape::kEdges;
    const Problem edges = *Problem::make(small_table(5), options);
    QVERIFY(edges.solve(methods::kEdges2, edges.full_bytes()));
    QVERIFY(!edges.solve(methods::kExact, edges.full_bytes()));
    options.limits.target->shape = PlanShape::kPerLayer;
    const Problem any = *Problem::make(small_table(5), options);
    const Solution half = *any.solve(methods::kExact, any.full_bytes() / 2);
    for (const LayerConfig& layer : half.layers) {
      QCOMPARE(layer.keep, 1.0);
    }
  }

  void edges_that_do_not_fit() {
    const Problem problem = *Problem::make(small_table(5));
    for (int n : {0, -1, 3, 1000}) {
      const Method method{Family::kEdges, Search::kExact, n};
      QCOMPARE(problem.solve(method, problem.full_bytes()).status().kind(), ErrorKind::kUsage);
    }
  }

  void frontiers() {
    const Problem problem = *Problem::make(samples::table(12, 4));
    for (const Method& method : all_methods()) {
      auto points = method_frontier(problem, method, {.points = 24});
      QVERIFY2(points, points.status().message().c_str());
      QVERIFY2(!points->empty(), to_string(method).c_str());
      const bool greedy = method.search == Search::kGreedy || method.search == Search::kGreedyAny;
      for (std::size_t i = 0; i < points->size(); ++i) {
        const FrontierPoint& point = (*points)[i];
        QVERIFY(point.solution.method == method);
        QVERIFY(point.solution.used_bytes <= static_cast<double>(point.budget));
        const Solution again = *problem.solve(method, point.budget);
        QCOMPARE(again.predicted, point.solution.predicted);
        if (i == 0) continue;
        QVERIFY(point.budget > (*points)[i - 1].budget);
        QVERIFY(greedy || point.solution.predicted < (*points)[i - 1].solution.predicted);
      }
    }
    // Whole corners of one-recipe families: as many as there are undominated recipes.
    auto uniform = *method_frontier(problem, methods::kUniform2d);
    for (const FrontierPoint& point : uniform) {
      QCOMPARE(point.solution.used_bytes, static_cast<double>(point.budget));
    }
    auto lp = *method_frontier(problem, methods::kLp);
    QCOMPARE(lp.size(), problem.corner_bytes().size());
    std::stop_source stop;
    stop.request_stop();
    QCOMPARE(method_frontier(problem, methods::kExact, {}, stop.get_token()).status().kind(),
             ErrorKind::kCancelled);
  }
};

QTEST_GUILESS_MAIN(TestBaselines)
#include "tst_baselines.moc"
