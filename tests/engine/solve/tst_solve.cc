// SPDX-License-Identifier: Apache-2.0
// The solvers against the reference's plans (tests/data/seed_table.json, solver_cases.json), and
// what a plan records.
#include "engine/solve/solve.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/units.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

constexpr std::int64_t kSeedFull = 1835008000;
constexpr std::int64_t kSeedBudget = 131072000;

SensitivityTable seed_table() {
  SensitivityTable table;
  table.geometry = samples::geometry(28, 16000, 8, 128);
  table.grid = ConfigGrid::default_grid();
  table.values = samples::oracle("seed_table.json")["S"].get<std::vector<std::vector<double>>>();
  return table;
}

// Every layer the same: f(keep) + g(K bits) + g(V bits).
SensitivityTable flat_table(const std::vector<double>& f, const std::vector<double>& g_k,
                            const std::vector<double>& g_v) {
  SensitivityTable table;
  table.geometry = samples::geometry(28, 16000, 8, 128);
  table.grid = ConfigGrid::default_grid();
  std::vector<double> row;
  for (int c = 0; c < 54; ++c) {
    row.push_back(f[table.grid.keep_i(c)] + g_k[table.grid.k_i(c)] + g_v[table.grid.v_i(c)]);
  }
  table.values.assign(28, row);
  return table;
}

Problem nominal(const SensitivityTable& table) {
  auto problem = Problem::make(table, {.bytes = BytesKind::kNominal});
  return *problem;
}

std::vector<int> ints(const Json& json) { return json.get<std::vector<int>>(); }

int distinct(const std::vector<int>& configs) {
  return static_cast<int>(std::set<int>(configs.begin(), configs.end()).size());
}

}  // namespace

class TestSolve : public QObject {
  Q_OBJECT

 private slots:
  void seed_table_greedy() {
    const Problem problem = nominal(seed_table());
    QCOMPARE(problem.full_bytes(), kSeedFull);
    QCOMPARE(*parse_budget("14x", problem.full_bytes()), kSeedBudget);
    auto solution = problem.solve(methods::kGreedy, kSeedBudget);
    QVERIFY2(solution, solution.status().message().c_str());
    const Json oracle = samples::oracle("seed_table.json")["greedy"];
    QCOMPARE(solution->configs, ints(oracle["plan"]));
    QVERIFY(std::abs(solution->predicted - 22.170453212937915) < 1e-9);
    QVERIFY(std::abs(solution->used_bytes - oracle["bytes"].get<double>()) < 0.5);
    QCOMPARE(format_mb(static_cast<std::int64_t>(solution->used_bytes)), std::string("130.7 MB"));
    QCOMPARE(distinct(solution->configs), 5);
  }

  void seed_table_uniform() {
    const Problem problem = nominal(seed_table());
    auto solution = problem.solve(methods::kUniform2d, kSeedBudget);
    QVERIFY(solution);
    QCOMPARE(solution->configs, std::vector<int>(28, 4));
    QVERIFY(std::abs(solution->predicted - 31.08) < 1e-9);
    QCOMPARE(solution->used_bytes, 91750400.0);
    QVERIFY(solution->method == methods::kUniform2d);
  }

  // With exactly the bytes that the reference has used after a step, the solver stops there.
  void seed_table_path() {
    const Json oracle = samples::oracle("seed_table.json")["greedy"];
    const Problem problem = nominal(seed_table());
    std::vector<int> configs(28, 0);
    for (const Json& entry : oracle["path"]) {  // layer, new configuration, bytes, total
      configs[entry[0].get<std::size_t>()] = entry[1].get<int>();
      auto solution =
          problem.solve(methods::kGreedy, static_cast<std::int64_t>(entry[2].get<double>()));
      QVERIFY(solution);
      QCOMPARE(solution->configs, configs);
      QCOMPARE(solution->used_bytes, entry[2].get<double>());
      QVERIFY(std::abs(solution->predicted - entry[3].get<double>()) < 1e-9);
    }
    QCOMPARE(configs, ints(oracle["plan"]));
    QCOMPARE(oracle["path"].size(), std::size_t{66});
  }

  void seed_table_budget_curve() {
    const Json curve = samples::oracle("seed_table.json")["budget_curve"];
    const Problem problem = nominal(seed_table());
    for (std::size_t i = 0; i < curve["budgets"].size(); ++i) {
      const auto budget = static_cast<std::int64_t>(std::floor(curve["budgets"][i].get<double>()));
      auto solution = problem.solve(methods::kGreedy, budget);
      QVERIFY(solution);
      QVERIFY(std::abs(solution->predicted - curve["greedy_total"][i].get<double>()) < 1e-9);
      QVERIFY(solution->used_bytes <= static_cast<double>(budget));
    }
    auto full = problem.solve(methods::kGreedy, kSeedFull);
    QCOMPARE(full->configs, std::vector<int>(28, 53));
    QCOMPARE(full->predicted, 0.0);
    QCOMPARE(full->used_bytes, 1835008000.0);
  }

  void flat_table_still_gains() {
    // Taken from the reference: identical layers, and greedy still beats the uniform setting.
    const Problem problem =
        nominal(flat_table({.81, .5625, .25, .0625, .01, 0}, {1, .15, 0}, {1, .15, 0}));
    const Json oracle = samples::oracle("seed_table.json")["flat_severity"];
    auto greedy = problem.solve(methods::kGreedy, kSeedBudget);
    auto uniform = problem.solve(methods::kUniform2d, kSeedBudget);
    QVERIFY(greedy && uniform);
    QCOMPARE(greedy->configs, ints(oracle["greedy_plan"]));
    QVERIFY(std::abs(greedy->predicted - 27.48) < 1e-9);
    QVERIFY(std::abs(uniform->predicted - 31.08) < 1e-9);
    QVERIFY(std::abs(100 * (1 - greedy->predicted / uniform->predicted) - 11.58) < 0.005);
  }

  void reference_cases_data() {
    QTest::addColumn<int>("index");
    const Json cases = samples::oracle("solver_cases.json")["cases"];
    QCOMPARE(cases.size(), std::size_t{20});
    for (std::size_t i = 0; i < cases.size(); ++i) {
      QTest::addRow("%d %s %.1fx", static_cast<int>(i), cases[i]["kind"].get<std::string>().c_str(),
                    cases[i]["ratio"].get<double>())
          << static_cast<int>(i);
    }
  }

  // t_cache 40, one KV head, d = 1: a byte is the reference's unit.
  void reference_cases() {
    QFETCH(int, index);
    const Json oracle =
        samples::oracle("solver_cases.json")["cases"][static_cast<std::size_t>(index)];
    SensitivityTable table;
    table.geometry = samples::geometry(oracle["layers"].get<int>(), 40, 1, 1);
    table.grid = ConfigGrid::default_grid();
    table.values = oracle["S"].get<std::vector<std::vector<double>>>();
    const std::int64_t budget = oracle["budget_units"].get<std::int64_t>();
    const Problem problem = nominal(table);
    SensitivityTable longer = table;  // the same layers in a longer cache of another shape
    longer.geometry = samples::geometry(oracle["layers"].get<int>(), 16000, 8, 128);
    const Problem scaled = nominal(longer);
    for (const auto& [method, key] : {std::pair{methods::kGreedy, "greedy"},
                                      {methods::kExact, "exact"},
                                      {methods::kUniform2d, "2d_uniform"},
                                      {methods::k1d, "1d"},
                                      {methods::k2dGreedy, "2d_greedy"},
                                      {methods::k2dExact, "2d_exact"},
                                      {methods::kEvictGreedy, "evict_hetero_greedy"},
                                      {methods::kEvictExact, "evict_hetero_exact"}}) {
      auto solution = problem.solve(method, budget);
      if (oracle[key].is_null()) {
        QCOMPARE(solution.status().kind(), ErrorKind::kRefused);
        continue;
      }
      QVERIFY2(solution, solution.status().message().c_str());
      const double total = oracle[key]["total"].get<double>();
      QVERIFY2(std::abs(solution->predicted - total) <= 1e-12 * total, key);
      QVERIFY(solution->used_units <= budget);
      QCOMPARE(problem.used_units(solution->configs), solution->used_units);
      if (method.search == Search::kGreedy || method == methods::kUniform2d) {  // ties included
        QCOMPARE(solution->configs, ints(oracle[key]["plan"]));
        QCOMPARE(solution->predicted, total);
        QCOMPARE(solution->used_units, oracle[key]["units"].get<std::int64_t>());
      }
      // Nothing but the unit changes.
      QCOMPARE(scaled.solve(method, budget * 409600)->configs, solution->configs);
    }
  }

  void infeasible_budgets_name_the_smallest() {
    const Problem problem = nominal(seed_table());
    QCOMPARE(problem.smallest_bytes(), std::int64_t{45875200});  // 28 * 4 units of 409600
    for (Method method : {methods::kGreedy, methods::kUniform2d}) {
      Status status = problem.solve(method, 45875199).status();
      QCOMPARE(status.kind(), ErrorKind::kRefused);
      QVERIFY2(status.message().find("the smallest feasible budget is 45875200 bytes (45.9 MB)") !=
                   std::string::npos,
               status.message().c_str());
      auto smallest = problem.solve(method, 45875200);
      QVERIFY(smallest);
      QCOMPARE(smallest->configs, std::vector<int>(28, 0));
      QCOMPARE(problem.solve(method, 0).status().kind(), ErrorKind::kRefused);
      QCOMPARE(problem.solve(method, -1).status().kind(), ErrorKind::kRefused);
    }
    // Fractions of a byte round up: 3 layers of 2.1 B need 7.
    SensitivityTable table = samples::table(3, 1);
    table.geometry = samples::geometry(3, 7, 1, 3);
    const Problem small = nominal(table);
    QCOMPARE(small.smallest_bytes(), std::int64_t{7});
    QVERIFY(!small.solve(methods::kGreedy, 6));
    QVERIFY(small.solve(methods::kGreedy, 7));
  }

  // 1x is feasible in actual bytes: a full layer stores no positions.
  void actual_bytes_of_everything() {
    SensitivityTable table = seed_table();
    for (std::vector<double>& row : table.values) row[53] = 0;
    auto problem = Problem::make(table, {.bytes = BytesKind::kActual});
    QVERIFY(problem);
    QCOMPARE(problem->full_bytes(), kSeedFull);
    auto solution = problem->solve(methods::kGreedy, kSeedFull);
    QVERIFY(solution);
    QCOMPARE(solution->configs, std::vector<int>(28, 53));
    QCOMPARE(solution->used_bytes, 1835008000.0);
    // At 14x metadata and positions leave fewer bytes for tokens and bits than the nominal count.
    auto tight = problem->solve(methods::kGreedy, kSeedBudget);
    QVERIFY(tight);
    QVERIFY(tight->used_bytes <= kSeedBudget);
    QVERIFY(tight->predicted > 22.1704);
  }

  // A step that costs nothing is taken first: with one token keep 1.0 needs less than keep 0.9, as
  // it stores no positions.
  void steps_without_cost() {
    SensitivityTable table;
    table.geometry = samples::geometry(2, 1, 1, 32);
    table.grid = {{0.9, 1.0}, {4, 16}, {16}};
    table.values = {{1.0, 0.1, 0.5, 0.0}, {1.0, 0.9, 0.8, 0.0}};
    auto problem = Problem::make(table, {.bytes = BytesKind::kActual});
    QVERIFY(problem);
    // Per layer: codes 64 (16 B or 64 B of K), V 64, scales 64 at 4 bits, positions 64 below 1.0.
    const CostTable& costs = problem->costs();
    QCOMPARE(costs.at(0, 0), std::int64_t{256});
    QCOMPARE(costs.at(0, 1), std::int64_t{192});
    QCOMPARE(costs.at(0, 2), std::int64_t{192});
    QCOMPARE(costs.at(0, 3), std::int64_t{128});
    QCOMPARE(problem->smallest_bytes(), std::int64_t{256});
    // Configuration 0 needs 512; below, the cheapest recipes are the start.
    for (std::int64_t budget : {256, 300, 512, 1000}) {
      auto solution = problem->solve(methods::kGreedy, budget);
      QVERIFY2(solution, solution.status().message().c_str());
      QCOMPARE(solution->configs, (std::vector<int>{3, 3}));
      QCOMPARE(solution->used_bytes, 256.0);
    }
    Status status = problem->solve(methods::kGreedy, 255).status();
    QVERIFY(status.message().find("256 bytes (256 B)") != std::string::npos);
  }

  void layers_of_their_own_shape() {
    SensitivityTable table = samples::table(2, 3);
    table.geometry = samples::geometry(2, 1000, 4, 64);
    table.geometry.layers[1] = {1, 64, 100};
    auto problem = Problem::make(table, {.bytes = BytesKind::kNominal});
    QVERIFY(problem);
    QCOMPARE(problem->full_bytes(), std::int64_t{1000 * 4 * 64 * 4 + 100 * 64 * 4});
    QCOMPARE(problem->smallest_bytes(), std::int64_t{100 * 4 * 64 + 10 * 64});
    // t_cache replaces the table's: the windowed layer stays as it is.
    auto longer = Problem::make(table, {.bytes = BytesKind::kNominal, .t_cache = 2000});
    QCOMPARE(longer->full_bytes(), std::int64_t{2000 * 4 * 64 * 4 + 100 * 64 * 4});
    QCOMPARE(longer->table().geometry.t_cache, std::int64_t{2000});
    QVERIFY(!Problem::make(table, {.bytes = BytesKind::kNominal, .t_cache = -1}));
  }

  void bad_tables_are_refused() {
    SensitivityTable table = samples::table(2, 3);
    table.values[1][20] = std::nan("");
    Status status = Problem::make(table, {.bytes = BytesKind::kNominal}).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("layer 1, configuration 20") != std::string::npos);
    table = samples::table(2, 3);
    table.values.pop_back();
    QVERIFY(!Problem::make(table, {.bytes = BytesKind::kNominal}));
    table = samples::table(2, 3);
    table.provenance = samples::provenance();
    table.provenance->quantizer.k = "kivi";
    QVERIFY(!Problem::make(table, {.bytes = BytesKind::kActual}));
    QVERIFY(Problem::make(table, {.bytes = BytesKind::kNominal}));
  }

  void plans_record_what_was_asked_and_used() {
    SensitivityTable table = samples::table(3, 5);
    table.model = samples::model();
    table.provenance = samples::provenance();
    auto problem = Problem::make(table, {.bytes = BytesKind::kNominal, .t_cache = 1024});
    auto solution = problem->solve(methods::kGreedy, 300000);
    QVERIFY(solution);
    auto plan = make_plan(*problem, *solution, 300000, std::string(64, '1'));
    QVERIFY2(plan, plan.status().message().c_str());
    QVERIFY(plan->model == *table.model);
    QCOMPARE(plan->geometry.t_cache, std::int64_t{1024});
    QCOMPARE(plan->scorer, std::string("triattention"));
    QVERIFY(plan->survivors == SurvivorMode::kPerHead);
    QVERIFY(plan->quantizer == table.provenance->quantizer);
    QVERIFY(*plan->grid == table.grid);
    std::int64_t peak = 0;
    for (std::size_t l = 0; l < 3; ++l) {
      QVERIFY(plan->layers[l] == table.grid.at(solution->configs[l]));
      const std::int64_t held =
          std::min<std::int64_t>(n_keep(plan->layers[l].keep, 1024) + 128, 1024);
      peak += *actual_layer_bytes({3, 64, 0}, plan->layers[l], held, table.storage());
    }
    QCOMPARE(plan->budget->bytes, std::int64_t{300000});
    QVERIFY(plan->budget->kind == BytesKind::kNominal);
    QCOMPARE(plan->budget->used, solution->used_bytes);
    QCOMPARE(plan->budget->full, 3.0 * 1024 * 3 * 64 * 4);
    QCOMPARE(plan->budget->peak, peak);
    QCOMPARE(plan->solver->method, std::string("greedy"));
    QCOMPARE(plan->solver->objective, std::string("S"));
    QCOMPARE(plan->solver->predicted, solution->predicted);
    QCOMPARE(*plan->solver->lower_bound, *problem->lower_bound(300000));
    QCOMPARE(plan->calibration->probe, std::string("prompt"));
    QCOMPARE(plan->calibration->tokens, std::int64_t{27});
    QCOMPARE(plan->calibration->table_sha256, std::string(64, '1'));
    QVERIFY(*plan_from_json(plan_to_json(*plan), "p") == *plan);
    // Actual bytes; a table without model and provenance gives a plan that any checkpoint may use.
    auto bare = Problem::make(samples::table(3, 5), {.bytes = BytesKind::kActual});
    auto uniform = bare->solve(methods::kUniform2d, 900000);
    auto open_plan = make_plan(*bare, *uniform, 900000, "");
    QVERIFY(open_plan);
    QVERIFY(open_plan->model == ModelId{});
    QVERIFY(open_plan->budget->peak >= static_cast<std::int64_t>(open_plan->budget->used));
    QVERIFY(*plan_from_json(plan_to_json(*open_plan), "p") == *open_plan);
  }

  void method_names() {
    std::set<std::string> names;
    for (const Method& method : all_methods()) {
      QVERIFY(*parse_method(to_string(method)) == method);
      QVERIFY(!describe(method).empty());
      names.insert(to_string(method));
    }
    QCOMPARE(names.size(), std::size_t{12});
    QVERIFY(*parse_method("2d_hetero:greedy") == methods::kGreedy);
    QVERIFY(*parse_method("2d") == methods::k2dExact);
    QVERIFY(*parse_method("evict_hetero") == methods::kEvictExact);
    QCOMPARE(parse_method("edges:7")->edge_layers, 7);
    for (const char* text : {"", "exactly", "edges", "edges:", "edges:0", "edges:-1", "edges:2x",
                             "edges:99999999999", "2d:lp", "Greedy", "1d:greedy"}) {
      QVERIFY2(parse_method(text).status().kind() == ErrorKind::kUsage, text);
    }
  }
};

QTEST_GUILESS_MAIN(TestSolve)
#include "tst_solve.moc"
