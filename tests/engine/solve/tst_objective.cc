// SPDX-License-Identifier: Apache-2.0
// Objectives and standard errors, and what a table must hold for them.
#include "engine/solve/objective.h"

#include <QTest>
#include <cmath>

#include "engine/solve/solve.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

SensitivityTable two_by_two() {
  SensitivityTable table;
  table.geometry = samples::geometry(2, 40, 1, 1);
  table.grid = {{1.0}, {4, 16}, {16}};
  table.values = {{0.5, 0.25}, {2.0, 0.0}};
  return table;
}

using Cells = std::vector<std::vector<double>>;

}  // namespace

class TestObjective : public QObject {
  Q_OBJECT

 private slots:
  void cells_of_every_objective() {
    SensitivityTable table = two_by_two();
    QVERIFY(*objective_cells(table, Objective::kS, 0) == table.values);
    QVERIFY(*objective_cells(table, Objective::kS2, 0) == (Cells{{0.25, 0.0625}, {4.0, 0.0}}));
    table.weights = {2, 0.5};
    QVERIFY(*objective_cells(table, Objective::kWeighted, 0) == (Cells{{0.5, 0.125}, {2.0, 0.0}}));
    table.propagated = {{1, 2}, {3, 4}};
    table.kl = {{5, 6}, {7, 8}};
    QVERIFY(*objective_cells(table, Objective::kPropagated, 0) == table.propagated);
    QVERIFY(*objective_cells(table, Objective::kKl, 0) == table.kl);
  }

  void what_is_missing_is_named() {
    const SensitivityTable table = two_by_two();
    for (const auto& [objective, key] : {std::pair{Objective::kWeighted, "'weights'"},
                                         {Objective::kPropagated, "'propagated'"},
                                         {Objective::kKl, "'kl'"}}) {
      const Status status = objective_cells(table, objective, 0).status();
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY2(status.message().find(key) != std::string::npos, status.message().c_str());
      QCOMPARE(Problem::make(table, {.objective = objective}).status().kind(),
               ErrorKind::kBadInput);
    }
    QCOMPARE(objective_cells(table, Objective::kS, 1).status().kind(), ErrorKind::kBadInput);
    for (double z : {-1.0, std::nan(""), HUGE_VAL}) {
      QCOMPARE(objective_cells(table, Objective::kS, z).status().kind(), ErrorKind::kUsage);
    }
  }

  void robust_cells() {
    SensitivityTable table = two_by_two();
    table.value_errors = {{0.125, 0}, {0, 1}};
    QVERIFY(*objective_cells(table, Objective::kS, 2) == (Cells{{0.75, 0.25}, {2.0, 2.0}}));
    QVERIFY(*objective_cells(table, Objective::kS2, 2) == (Cells{{0.5625, 0.0625}, {4.0, 4.0}}));
    // Upgrading layer 1 gains nothing for certain.
    const Problem plain = *Problem::make(table);
    const Problem robust = *Problem::make(table, {.robust_z = 2});
    QCOMPARE(plain.cells()[1][1], 0.0);
    QCOMPARE(robust.cells()[1][1], 2.0);
    const std::int64_t all = plain.full_bytes();
    QCOMPARE(plain.solve(methods::kExact, all)->predicted, 0.25);
    QCOMPARE(robust.solve(methods::kExact, all)->predicted, 2.25);
  }

  void errors_follow_the_objective() {
    SensitivityTable table = two_by_two();
    QVERIFY(objective_errors(table, Objective::kS).empty());
    table.value_errors = {{0.1, 0.2}, {0.3, 0.4}};
    table.weights = {2, 3};
    QVERIFY(objective_errors(table, Objective::kS) == table.value_errors);
    const Cells squared = objective_errors(table, Objective::kS2);  // d(S^2) = 2 S dS
    QCOMPARE(squared[0][0], 0.1 * (2 * 0.5));
    QCOMPARE(squared[1][1], 0.0);
    QCOMPARE(objective_errors(table, Objective::kWeighted)[1][0], 0.3 * (2 * 2.0) * 3);
    QVERIFY(objective_errors(table, Objective::kKl).empty());
  }

  void names() {
    for (Objective objective : {Objective::kS, Objective::kS2, Objective::kWeighted,
                                Objective::kPropagated, Objective::kKl}) {
      QVERIFY(*parse_objective(to_string(objective)) == objective);
      QVERIFY(!describe(objective).empty());
    }
    QCOMPARE(parse_objective("KL").status().kind(), ErrorKind::kUsage);
  }

  // Another order of layers wins when large errors count more.
  void squares_change_the_plan() {
    SensitivityTable table;
    table.geometry = samples::geometry(2, 40, 1, 1);
    table.grid = {{1.0}, {8, 16}, {16}};
    table.values = {{1.0, 0.4}, {0.7, 0.0}};
    // Room for one upgrade: S gains 0.6 or 0.7, S^2 gains 0.84 or 0.49.
    const std::int64_t budget = 2 * 120 + 40;
    const auto solve = [&](Objective objective) {
      return Problem::make(table, {.bytes = BytesKind::kNominal, .objective = objective})
          ->solve(methods::kExact, budget)
          ->configs;
    };
    QCOMPARE(solve(Objective::kS), (std::vector<int>{0, 1}));
    QCOMPARE(solve(Objective::kS2), (std::vector<int>{1, 0}));
  }

  void too_large_to_square() {
    SensitivityTable table = two_by_two();
    table.values[1][0] = 1e200;
    const Status status = Problem::make(table, {.objective = Objective::kS2}).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("layer 1, configuration 0") != std::string::npos);
  }

  void listed_bytes_replace_the_computed() {
    SensitivityTable table = two_by_two();
    table.bytes = {{10, 30}, {11, 31}};
    const Problem actual = *Problem::make(table);
    QCOMPARE(actual.smallest_bytes(), std::int64_t{21});
    QCOMPARE(actual.full_bytes(), std::int64_t{61});
    QCOMPARE(actual.solve(methods::kExact, 41)->configs, (std::vector<int>{0, 1}));
    QCOMPARE(Problem::make(table, {.t_cache = 41}).status().kind(), ErrorKind::kBadInput);
    QVERIFY(Problem::make(table, {.t_cache = 40}));
    QCOMPARE(Problem::make(table, {.bytes = BytesKind::kNominal})->full_bytes(),
             std::int64_t{2 * 160});
    for (std::int64_t bad : {0, -5}) {
      table.bytes[1][1] = bad;
      const Status status = Problem::make(table).status();
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY(status.message().find("layer 1, configuration 1") != std::string::npos);
    }
  }
};

QTEST_GUILESS_MAIN(TestObjective)
#include "tst_objective.moc"
