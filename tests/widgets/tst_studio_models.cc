// SPDX-License-Identifier: GPL-3.0-or-later
// The item models and the session, without a window.
#include <QAbstractItemModelTester>
#include <QTest>
#include <limits>

#include "engine/base/units.h"
#include "studio_testing.h"
#include "widgets/models/comparison_model.h"
#include "widgets/models/heatmap_model.h"
#include "widgets/models/limit_edits.h"
#include "widgets/models/plan_table_model.h"

namespace lamina::studio {

using testing::openAndWait;
using testing::seedTable;
using testing::syntheticTable;
using testing::writeTable;

class TestStudioModels : public QObject {
  Q_OBJECT
 private slots:
  void heatmapModelKeepsTheRulesOfItemModels();
  void heatmapStatesAndTexts();
  void heatmapLogRange();
  void planModelKeepsTheRulesOfItemModels();
  void comparisonModelKeepsTheRulesOfItemModels();
  void limitEdits();
  void fittingMethods();
  void gapTexts();
  void planRowsAreTheSolution();
  void oneBudgetChangeOneSignal();
  void seedTableFigures();
  void defaultBudgetIs14xOrTheSmallest();
  void typedBudgets_data();
  void typedBudgets();
  void refusedBudgetChangesNothing();
  void bytesKindKeepsTheRatio();
  void badFileKeepsTheDocument();
  void badFilesOfEveryKind_data();
  void badFilesOfEveryKind();
  void exportedPlanEqualsMakePlan();
  void limitsThatLeaveNoChoiceChangeNothing();
  void pinRaisesTheBudgetWhereItMust();
  void contextScalesTheProblem();
  void requestsOfAGpu();
  void staleFrontierIsNeverShown();
  void frontierFollowsTheProblem();
  void automaticProjectNames();
  void texts();
};

void TestStudioModels::heatmapModelKeepsTheRulesOfItemModels() {
  HeatmapModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  const SensitivityTable table = syntheticTable(3);
  model.setRows(table.grid, std::vector<std::vector<double>>(3));
  for (int layer = 0; layer < 3; ++layer) model.setRow(layer, table.values[layer]);
  model.setCosts(*make_cost_table(table.geometry, table.grid, BytesKind::kActual, table.storage()));
  model.setChosen({0, 10, 53});
  QCOMPARE(model.rowCount(), 3);
  QCOMPARE(model.columnCount(), 54);
  model.setRows(table.grid, table.values);
  model.clear();
  QCOMPARE(model.rowCount(), 0);
  QCOMPARE(model.columnCount(), 0);
}

void TestStudioModels::heatmapStatesAndTexts() {
  SensitivityTable table = syntheticTable(2);
  table.values[0][3] = 0.0123456789;
  HeatmapModel model;
  std::vector<std::vector<double>> rows = table.values;
  rows[1].clear();
  model.setRows(table.grid, rows);
  QCOMPARE(model.state(0, 3), CellState::kPositive);
  QCOMPARE(model.state(0, 53), CellState::kZero);
  QCOMPARE(model.state(1, 3), CellState::kMissing);
  QVERIFY(std::isnan(model.value(1, 3)));
  QCOMPARE(model.data(model.index(0, 3), HeatmapModel::kLogRole).toDouble(),
           std::log10(0.0123456789));
  QVERIFY(!model.data(model.index(0, 53), HeatmapModel::kLogRole).isValid());
  // Index 3 = keep 0.1, K 8, V 4.
  QCOMPARE(model.cellText(0, 3), QStringLiteral("Layer 0 · keep 0.1 · K8 · V4 · S = 0.0123457"));
  QCOMPARE(model.cellText(0, 53), QStringLiteral("Layer 0 · keep 1.0 · K16 · V16 · S = 0 exactly"));
  QCOMPARE(model.cellText(1, 0), QStringLiteral("Layer 1 · keep 0.1 · K4 · V4 · not measured yet"));
  const CostTable costs =
      *make_cost_table(table.geometry, table.grid, BytesKind::kNominal, table.storage());
  model.setCosts(costs);
  model.setChosen({3, 3});
  const QString tip = model.data(model.index(0, 3), Qt::ToolTipRole).toString();
  for (const char* part : {"Layer 0", "keep 0.1", "K 8 bit", "V 4 bit", "0.0123457",
                           "(nominal bytes)", "chosen by the plan"}) {
    QVERIFY2(tip.contains(QLatin1String(part)), part);
  }
  // 0.1 * 4096 tokens * 4 heads * 64 * 12 bits / 8 = 157,286.4 B
  QVERIFY2(tip.contains(QStringLiteral("0.16 MB")), qPrintable(tip));
}

void TestStudioModels::heatmapLogRange() {
  HeatmapModel model;
  QVERIFY(model.logRange().isEmpty());
  const ConfigGrid grid{{0.5, 1.0}, {8}, {8}};
  model.setRows(grid, {{0.01, 0.0}, {}});
  QCOMPARE(model.logRange().lower, -2.0);
  QCOMPARE(model.logRange().upper, -2.0);
  model.setRow(1, {10.0, 0.001});
  QCOMPARE(model.logRange().lower, -3.0);
  QCOMPARE(model.logRange().upper, 1.0);
}

void TestStudioModels::planModelKeepsTheRulesOfItemModels() {
  PlanTableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  auto plan = std::make_shared<PlanState>();
  const ConfigGrid grid = ConfigGrid::default_grid();
  plan->rows = {{{0.5, 4, 8}, grid.find({0.5, 4, 8}), 1.5e6, 0.25, true},
                {{1.0, 16, 16}, grid.full_index(), 12.34e6, 0.0, false}};
  model.setGrid(grid);
  model.setPlan(plan);
  QCOMPARE(model.rowCount(), 2);
  QStringList flat;
  for (int row = 0; row < model.rowCount(); ++row) {
    QStringList cells;
    for (int column = 0; column < model.columnCount(); ++column) {
      cells << model.index(row, column).data().toString();
    }
    flat << cells.join(QLatin1Char('|'));
  }
  QCOMPARE(flat, (QStringList{QStringLiteral("0||0.5|4|8|1.50|0.2500"),
                              QStringLiteral("1||1.0|16|16|12.3|0")}));
  QCOMPARE(model.headerData(PlanTableModel::kBytes, Qt::Horizontal, Qt::DisplayRole).toString(),
           QStringLiteral("MB actual"));
  QCOMPARE(model.index(0, PlanTableModel::kPin).data(Qt::CheckStateRole).toInt(), int(Qt::Checked));
  QCOMPARE(model.index(1, PlanTableModel::kPin).data(Qt::CheckStateRole).toInt(),
           int(Qt::Unchecked));
  // Edits are asked for, not made.
  QSignalSpy pins(&model, &PlanTableModel::pinRequested);
  QSignalSpy unpins(&model, &PlanTableModel::unpinRequested);
  QVERIFY(model.setData(model.index(1, PlanTableModel::kPin), Qt::Checked, Qt::CheckStateRole));
  QCOMPARE(pins.takeFirst().at(1).value<LayerConfig>(), (LayerConfig{1.0, 16, 16}));
  QVERIFY(model.setData(model.index(0, PlanTableModel::kKBits), 2, Qt::EditRole));
  QCOMPARE(pins.front().at(0).toInt(), 0);
  QCOMPARE(pins.takeFirst().at(1).value<LayerConfig>(), (LayerConfig{0.5, 16, 8}));
  QVERIFY(model.setData(model.index(0, PlanTableModel::kPin), Qt::Unchecked, Qt::CheckStateRole));
  QCOMPARE(unpins.takeFirst().at(0).toInt(), 0);
  for (const QVariant& bad : {QVariant(-1), QVariant(6), QVariant(QStringLiteral("x"))}) {
    QVERIFY(!model.setData(model.index(0, PlanTableModel::kKeep), bad, Qt::EditRole));
  }
  QVERIFY(!model.setData(model.index(0, PlanTableModel::kBytes), 1, Qt::EditRole));
  QVERIFY(pins.isEmpty());
  QCOMPARE(model.choices(PlanTableModel::kVBits), (QStringList{"4", "8", "16"}));
  auto other = std::make_shared<PlanState>(*plan);
  other->kind = BytesKind::kNominal;
  model.setPlan(other);
  QCOMPARE(model.headerData(PlanTableModel::kBytes, Qt::Horizontal, Qt::DisplayRole).toString(),
           QStringLiteral("MB nominal"));
  model.setPlan(nullptr);
  QCOMPARE(model.rowCount(), 0);
}

void TestStudioModels::comparisonModelKeepsTheRulesOfItemModels() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("seed.json"), seedTable()));
  QVERIFY(session.setBytesKind(BytesKind::kNominal).is_ok());
  ComparisonModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  QCOMPARE(model.rowCount(), 0);
  QVERIFY(session.setBudgetText(QStringLiteral("14x")).is_ok());
  model.setPlan(session.plan());
  QVERIFY(session.setBudgetText(QStringLiteral("13x")).is_ok());
  model.setPlan(session.plan());
  QVERIFY(session.setBudgetText(QStringLiteral("14x")).is_ok());
  model.setPlan(session.plan());
  QCOMPARE(model.rowCount(), static_cast<int>(comparedMethods().size()) + 1);
  QHash<QString, QStringList> rows;
  for (int row = 0; row < model.rowCount(); ++row) {
    QStringList cells;
    for (int column = 1; column < model.columnCount(); ++column) {
      cells << model.index(row, column).data().toString();
    }
    rows[model.index(row, 0).data().toString()] = cells;
    QCOMPARE(model.index(row, 0).data(ComparisonModel::kShownRole).toBool(), row == 0);
    QVERIFY(!model.index(row, 0).data(Qt::ToolTipRole).toString().isEmpty());
  }
  // 91,750,400 of 131,072,000 B is 70 %; 16-bit caches with one keep start at 10x.
  QCOMPARE(rows[QStringLiteral("2d_uniform")][0], QStringLiteral("31.08"));
  QCOMPARE(rows[QStringLiteral("2d_uniform")][1], QStringLiteral("70.0 %"));
  QCOMPARE(rows[QStringLiteral("greedy")][0], QStringLiteral("22.17"));
  QCOMPARE(rows[QStringLiteral("1d")][0], QStringLiteral("infeasible"));
  QCOMPARE(rows[QStringLiteral("LP bound")][0], errorText(session.plan()->lower_bound));
  const double greedy_gap = 22.170453212937915 / session.plan()->lower_bound - 1;
  QCOMPARE(rows[QStringLiteral("greedy")][2], percentText(greedy_gap, greedy_gap < 0.01 ? 3 : 1));
  model.setPlan(nullptr);
  QCOMPARE(model.rowCount(), 0);
}

void TestStudioModels::limitEdits() {
  const LayerConfig half{0.5, 8, 4};
  Limits limits = withPin({}, 3, half);
  QCOMPARE(pinOf(limits, 3).value(), half);
  QVERIFY(!pinOf(limits, 2));
  limits = withPin(limits, 3, {1.0, 16, 16});
  QCOMPARE(limits.pins.size(), std::size_t{1});
  QCOMPARE(pinOf(limits, 3).value(), (LayerConfig{1.0, 16, 16}));
  // A pinned range loses one layer and keeps the others.
  limits = withoutPin(Limits{{{{2, 5}, half}}, {}, {}}, 4);
  QCOMPARE(limits.pins, (std::vector<Pin>{{{2, 3}, half}, {{5, 5}, half}}));
  QVERIFY(withoutPin(withoutPin(withoutPin(limits, 2), 3), 5).empty());

  limits = withMinKeep({}, kAllLayers, 0.25);
  limits = withMinKeep(limits, 2, 0.5);
  limits = withMinKeep(limits, 2, 0.75);
  QCOMPARE(limits.forbid.size(), std::size_t{2});
  QCOMPARE(minKeep(limits, kAllLayers), 0.25);
  QCOMPARE(minKeep(limits, 2), 0.75);
  QCOMPARE(minKeep(limits, 1), 0.0);
  limits = withForbiddenBits(limits, kAllLayers, Axis::kKBits, 4, true);
  limits = withForbiddenBits(limits, kAllLayers, Axis::kKBits, 4, true);
  QCOMPARE(limits.forbid.size(), std::size_t{3});
  QVERIFY(forbidsBits(limits, kAllLayers, Axis::kKBits, 4));
  QVERIFY(!forbidsBits(limits, kAllLayers, Axis::kVBits, 4));
  QVERIFY(!forbidsBits(limits, 2, Axis::kKBits, 4));
  // What the engine makes of them: layer 2 keeps 0.75 and more, none has a 4-bit K.
  const ConfigGrid grid = ConfigGrid::default_grid();
  const auto allowed = *allowed_configs(limits, 3, grid);
  for (int layer = 0; layer < 3; ++layer) {
    for (int c = 0; c < grid.size(); ++c) {
      const LayerConfig config = grid.at(c);
      const bool expected = config.k_bits != 4 && config.keep >= (layer == 2 ? 0.75 : 0.25);
      QCOMPARE(allowed[static_cast<std::size_t>(layer * grid.size() + c)] != 0, expected);
    }
  }
  limits = withPin(limits, 0, half);
  QCOMPARE(describeLimits(limits),
           (QStringList{QStringLiteral("layer 0 pinned at keep 0.5 · K8 · V4"),
                        QStringLiteral("all layers: keep >= 0.25"),
                        QStringLiteral("layer 2: keep >= 0.75"),
                        QStringLiteral("all layers: K bits != 4")}));
  QCOMPARE(withoutLimits(limits, 2).forbid.size(), std::size_t{2});
  limits.target = builtin_targets().front();
  QCOMPARE(withoutLimits(limits, kAllLayers).target, limits.target);
  QVERIFY(withoutLimits(limits, kAllLayers).forbid.empty());
}

void TestStudioModels::fittingMethods() {
  Target target;
  QCOMPARE(fitting_method(methods::kGreedy, {}), methods::kGreedy);
  QCOMPARE(fitting_method(methods::kExact, target), methods::kExact);
  target.shape = PlanShape::kUniform;
  QCOMPARE(fitting_method(methods::kExact, target), methods::kUniform2d);
  QCOMPARE(fitting_method(methods::kEdges2, target), methods::kUniform2d);
  target.shape = PlanShape::kEdges;
  QCOMPARE(fitting_method(methods::kGreedy, target), methods::kEdges2);
  QCOMPARE(fitting_method(methods::kUniform2d, target), methods::kUniform2d);
  // The engine says the same of every shape and family.
  const SensitivityTable table = syntheticTable(6);
  for (const PlanShape shape : {PlanShape::kPerLayer, PlanShape::kEdges, PlanShape::kUniform}) {
    target.shape = shape;
    SolveOptions options;
    options.limits.target = target;
    const Problem problem = *Problem::make(table, options);
    for (const Method& method : comparedMethods()) {
      QVERIFY2(problem.solve(method, problem.full_bytes()).has_value() ==
                   shape_allows(target, method.family),
               to_string(method).c_str());
    }
  }
}

void TestStudioModels::gapTexts() {
  QCOMPARE(gapText(2, 2), QStringLiteral("0 %"));
  QCOMPARE(gapText(0, 0), QStringLiteral("0 %"));
  QCOMPARE(gapText(1, 0), QStringLiteral("∞"));
  QCOMPARE(gapText(1.005, 1), QStringLiteral("0.500 %"));
  QCOMPARE(gapText(1.25, 1), QStringLiteral("25.0 %"));
  QCOMPARE(gapText(365, 1), QStringLiteral("365.0x"));
}

void TestStudioModels::planRowsAreTheSolution() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  const SensitivityTable table = syntheticTable(12);
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), table));
  const Problem direct = *Problem::make(table);
  for (const double ratio : {20.0, 14.0, 6.6, 2.0, 1.0}) {
    const auto budget = static_cast<std::int64_t>(direct.full_bytes() / ratio);
    if (budget < direct.smallest_bytes()) continue;
    QVERIFY(session.setBudget(budget).is_ok());
    const Solution expected = *direct.solve(methods::kExact, budget);
    const auto plan = session.plan();
    QCOMPARE(plan->budget, budget);
    QCOMPARE(plan->solution.configs, expected.configs);
    QCOMPARE(plan->solution.predicted, expected.predicted);
    for (const MethodResult& row : plan->methods) {
      const auto alone = direct.solve(row.method, budget);
      QCOMPARE(row.solution.has_value(), alone.has_value());
      if (!alone) {
        QCOMPARE(row.why_not, toQString(alone.status().message()));
        continue;
      }
      QCOMPARE(row.solution->configs, alone->configs);
      QVERIFY(row.solution->predicted >= plan->lower_bound * (1 - 1e-12));
    }
    QCOMPARE(plan->find(methods::kExact)->solution->configs, expected.configs);
    QVERIFY(plan->find(methods::kGreedy)->solution->predicted >= expected.predicted);
    double bytes = 0, error = 0;
    for (int layer = 0; layer < table.layers(); ++layer) {
      const PlanRow& row = plan->rows[static_cast<std::size_t>(layer)];
      QCOMPARE(row.config, table.grid.at(expected.configs[static_cast<std::size_t>(layer)]));
      bytes += row.bytes;
      error += row.error;
    }
    QCOMPARE(bytes, expected.used_bytes);
    QCOMPARE(error, expected.predicted);
    QCOMPARE(plan->peak_bytes, make_plan(direct, expected, budget, {})->budget->peak);
    QVERIFY(bytes <= static_cast<double>(budget));
    QVERIFY(static_cast<double>(plan->peak_bytes) >= bytes);
  }
}

void TestStudioModels::oneBudgetChangeOneSignal() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(6)));
  QSignalSpy spy(&session, &StudioSession::planChanged);
  QVERIFY(session.setBudget(session.fullBudget() / 3).is_ok());
  QCOMPARE(spy.count(), 1);
  const auto carried = spy.front().front().value<std::shared_ptr<const PlanState>>();
  QCOMPARE(carried, session.plan());
  QCOMPARE(carried->budget, session.fullBudget() / 3);
}

void TestStudioModels::seedTableFigures() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("seed.json"), seedTable()));
  QVERIFY(session.setBytesKind(BytesKind::kNominal).is_ok());
  QVERIFY(session.setBudgetText(QStringLiteral("14x")).is_ok());
  const auto plan = session.plan();
  QCOMPARE(plan->full_bytes, 1835008000.0);
  QCOMPARE(plan->budget, 131072000);
  const Solution& greedy = *plan->find(methods::kGreedy)->solution;
  QCOMPARE(greedy.used_bytes, 130662400.0);
  QCOMPARE(greedy.predicted, 22.170453212937915);
  const Solution& uniform = *plan->find(methods::kUniform2d)->solution;
  QCOMPARE(uniform.predicted, 31.08);
  QCOMPARE(uniform.used_bytes, 91750400.0);
  QVERIFY(plan->solution.predicted <= greedy.predicted);
  PlanInputs greedy_shown = session.inputs();
  greedy_shown.method = methods::kGreedy;
  QVERIFY(session.apply(greedy_shown).is_ok());
  QCOMPARE(session.plan()->distinct, 5);
  QCOMPARE(session.plan()->solution.configs, greedy.configs);
}

void TestStudioModels::defaultBudgetIs14xOrTheSmallest() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(4)));
  QCOMPARE(session.budget(), session.fullBudget() / 14);
  SensitivityTable narrow = syntheticTable(4);
  narrow.grid = ConfigGrid{{0.5, 1.0}, {8, 16}, {16}};
  for (auto& row : narrow.values) row = {0.4, 0.3, 0.1, 0.0};
  openAndWait(session, writeTable(dir, QStringLiteral("narrow.json"), narrow));
  QVERIFY(session.smallestBudget() > session.fullBudget() / 14);
  QCOMPARE(session.budget(), session.smallestBudget());
}

void TestStudioModels::typedBudgets_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("good");
  QTest::newRow("ratio") << QStringLiteral("4x") << true;
  QTest::newRow("MB") << QStringLiteral(" 9.5MB ") << true;
  QTest::newRow("percent") << QStringLiteral("25%") << true;
  QTest::newRow("bytes") << QStringLiteral("5000000") << true;
  QTest::newRow("nonsense") << QStringLiteral("a lot") << false;
  QTest::newRow("empty") << QString() << false;
  QTest::newRow("negative") << QStringLiteral("-3MB") << false;
  QTest::newRow("nan") << QStringLiteral("nanx") << false;
  QTest::newRow("infeasible") << QStringLiteral("5000x") << false;
}

void TestStudioModels::typedBudgets() {
  QFETCH(QString, text);
  QFETCH(bool, good);
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(6)));
  const auto before = session.plan();
  const Status status = session.setBudgetText(text);
  QCOMPARE(status.is_ok(), good);
  if (good) {
    QCOMPARE(session.plan()->budget,
             *parse_budget(text.trimmed().toStdString(), session.fullBudget()));
  } else {
    QVERIFY(!status.message().empty());
    QCOMPARE(session.plan(), before);
  }
}

void TestStudioModels::refusedBudgetChangesNothing() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(6)));
  const auto before = session.plan();
  QSignalSpy spy(&session, &StudioSession::planChanged);
  const Status status = session.setBudget(session.smallestBudget() - 1);
  QCOMPARE(status.kind(), ErrorKind::kRefused);
  QCOMPARE(spy.count(), 0);
  QCOMPARE(session.plan(), before);
  QCOMPARE(session.budget(), before->budget);
}

void TestStudioModels::bytesKindKeepsTheRatio() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(6)));
  QVERIFY(session.setBudgetText(QStringLiteral("8x")).is_ok());
  QVERIFY(session.setBytesKind(BytesKind::kNominal).is_ok());
  QCOMPARE(session.plan()->kind, BytesKind::kNominal);
  const double ratio = session.plan()->full_bytes / static_cast<double>(session.plan()->budget);
  QVERIFY2(std::abs(ratio - 8) < 1e-4, qPrintable(QString::number(ratio)));
}

void TestStudioModels::badFileKeepsTheDocument() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("good.json"), syntheticTable(5)));
  const auto before = session.plan();
  QFile bad(dir.filePath(QStringLiteral("bad.json")));
  QVERIFY(bad.open(QIODevice::WriteOnly));
  bad.write("{\"format\": \"lamina-table\", \"version\": 99}");
  bad.close();
  QSignalSpy failed(&session, &StudioSession::failed);
  QSignalSpy changed(&session, &StudioSession::documentChanged);
  openAndWait(session, bad.fileName());
  QCOMPARE(failed.count(), 1);
  const std::string expected = read_table(toPath(bad.fileName())).status().message();
  QCOMPARE(failed.front().at(1).toString(), toQString(expected));
  QCOMPARE(changed.count(), 0);
  QCOMPARE(session.plan(), before);
  QCOMPARE(session.document()->displayName(), QStringLiteral("Synthetic"));
}

void TestStudioModels::badFilesOfEveryKind_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QByteArray>("bytes");
  QFile model(QStringLiteral(LAMINA_DEMO_MODEL));
  QVERIFY(model.open(QIODevice::ReadOnly));
  QTest::newRow("cut off model") << QStringLiteral("cut.gguf") << model.read(2 << 20);
  QTest::newRow("wrong magic") << QStringLiteral("noise.gguf") << QByteArray("not a model at all");
  QTest::newRow("empty") << QStringLiteral("empty.gguf") << QByteArray();
  QTest::newRow("pickle") << QStringLiteral("weights.bin") << QByteArray("\x80\x02}q\x00.");
  QTest::newRow("no project") << QStringLiteral("text.lamina") << QByteArray("just text");
  QTest::newRow("damaged project")
      << QStringLiteral("damaged.lamina") << QByteArray("SQLite format 3\0", 16).append(2000, 'x');
  QTest::newRow("a plan") << QStringLiteral("x.plan.json")
                          << QByteArray("{\"format\": \"lamina-plan\", \"version\": 1}");
  QTest::newRow("bad JSON") << QStringLiteral("bad.json") << QByteArray("{\"format\"");
}

// One line that names the file; the open document and its plan stay.
void TestStudioModels::badFilesOfEveryKind() {
  QFETCH(QString, name);
  QFETCH(QByteArray, bytes);
  QTemporaryDir dir;
  StudioSession session(dir.filePath(QStringLiteral("projects")));
  openAndWait(session, writeTable(dir, QStringLiteral("good.json"), syntheticTable(5)));
  const auto before = session.plan();
  QFile file(dir.filePath(name));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(bytes);
  file.close();
  QSignalSpy failed(&session, &StudioSession::failed);
  openAndWait(session, file.fileName());
  QCOMPARE(failed.count(), 1);
  const QString message = failed.front().at(1).toString();
  QVERIFY2(message.contains(name), qPrintable(message));
  QVERIFY(!message.contains(QLatin1Char('\n')));
  QCOMPARE(session.plan(), before);
  QCOMPARE(session.document()->displayName(), QStringLiteral("Synthetic"));
}

void TestStudioModels::exportedPlanEqualsMakePlan() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  const SensitivityTable table = syntheticTable(7);
  QCOMPARE(session.exportPlan(dir.filePath(QStringLiteral("none.plan.json"))).kind(),
           ErrorKind::kUsage);
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), table));
  QVERIFY(session.setBudgetText(QStringLiteral("5x")).is_ok());
  const QString path = dir.filePath(QStringLiteral("out.plan.json"));
  const Status status = session.exportPlan(path);
  QVERIFY2(status.is_ok(), status.message().c_str());
  const Problem direct = *Problem::make(table);
  const std::int64_t budget = *parse_budget("5x", direct.full_bytes());
  const Plan expected =
      *make_plan(direct, *direct.solve(methods::kExact, budget), budget, table_sha256(table));
  auto written = read_plan(toPath(path));
  QVERIFY2(written.has_value(), written.status().message().c_str());
  QCOMPARE(plan_to_json(*written), plan_to_json(expected));
  QCOMPARE(session.exportPlan(dir.filePath(QStringLiteral("no/such/folder/x.json"))).kind(),
           ErrorKind::kRuntime);
}

void TestStudioModels::limitsThatLeaveNoChoiceChangeNothing() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(6)));
  const auto before = session.plan();
  const PlanInputs inputs = session.inputs();
  QSignalSpy spy(&session, &StudioSession::planChanged);
  PlanInputs next = inputs;
  for (const int bits : {4, 8, 16}) {
    next.limits = withForbiddenBits(next.limits, 2, Axis::kKBits, bits, true);
  }
  const Status status = session.apply(next, BudgetRule::kFeasible);
  QCOMPARE(status.kind(), ErrorKind::kBadInput);
  QVERIFY2(toQString(status.message()).contains(QStringLiteral("layer 2")),
           status.message().c_str());
  QCOMPARE(spy.count(), 0);
  QCOMPARE(session.plan(), before);
  QVERIFY(session.inputs() == inputs);
}

void TestStudioModels::pinRaisesTheBudgetWhereItMust() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(4)));
  QVERIFY(session.setBudget(session.smallestBudget()).is_ok());
  const std::int64_t before = session.budget();
  PlanInputs next = session.inputs();
  next.limits = withPin(next.limits, 1, {1.0, 16, 16});
  QCOMPARE(session.apply(next, BudgetRule::kGiven).kind(), ErrorKind::kRefused);
  QVERIFY(session.apply(next, BudgetRule::kFeasible).is_ok());
  QVERIFY(session.budget() > before);
  QCOMPARE(session.budget(), session.smallestBudget());
  QCOMPARE(session.plan()->rows[1].config, (LayerConfig{1.0, 16, 16}));
  QVERIFY(session.plan()->rows[1].pinned);
  QVERIFY(!session.plan()->rows[0].pinned);
}

void TestStudioModels::contextScalesTheProblem() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(4)));
  QCOMPARE(session.plan()->t_cache, 4096);
  const double full = session.plan()->full_bytes;
  PlanInputs next = session.inputs();
  next.t_cache = 8192;
  QVERIFY(session.apply(next, BudgetRule::kKeepRatio).is_ok());
  QCOMPARE(session.plan()->t_cache, 8192);
  QCOMPARE(session.plan()->full_bytes, 2 * full);
  QVERIFY(std::abs(session.budget() - session.fullBudget() / 14) <= 1);  // rounded down twice
}

void TestStudioModels::requestsOfAGpu() {
  QTemporaryDir dir;
  StudioSession session(dir.filePath(QStringLiteral("projects")));
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(4)));
  QVERIFY(session.setGpuMemory(QStringLiteral("24GiB")).is_ok());
  // A table alone knows no weights.
  QVERIFY(!session.plan()->capacity);
  QVERIFY(!session.plan()->capacity_obstacle.isEmpty());
  QCOMPARE(session.setBudgetText(QStringLiteral("8 requests")).kind(), ErrorKind::kUsage);
  for (const char* bad : {"24", "x", "0GiB", "-1GiB", "50%", "2x"}) {
    const bool number = QLatin1String(bad) == QLatin1String("24");
    QCOMPARE(session.setGpuMemory(QLatin1String(bad)).is_ok(), number);
  }
  QVERIFY(session.setGpuMemory({}).is_ok());
  QCOMPARE(session.gpuMemory(), 0);
  QVERIFY(session.plan()->capacity_obstacle.isEmpty());

  const Problem problem = *Problem::make(syntheticTable(4));
  PlanInputs inputs;
  inputs.budget = problem.full_bytes() / 8;
  Deployment place;
  place.gpu_bytes = std::int64_t{1} << 30;
  place.sizes = ModelSizes{100'000'000, 576, 49152, 9, 64, 1536};
  const auto plan = *solvePlan(problem, inputs, place, 1);
  QVERIFY(plan->capacity.has_value());
  const Capacity& capacity = *plan->capacity;
  QCOMPARE(capacity.weights, 100'000'000);
  const auto room = memory_budget(*place.sizes, problem.table().geometry,
                                  {place.gpu_bytes, capacity.request.context, capacity.requests});
  QVERIFY2(room.has_value(), room.status().message().c_str());
  QVERIFY(plan->peak_bytes <= room->per_request);
  QVERIFY(capacity.full_requests < capacity.requests);
}

// Every set that is announced belongs to the problem on screen, however fast problems follow.
void TestStudioModels::staleFrontierIsNeverShown() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(24)));
  int seen = 0, stale = 0;
  connect(&session.frontier(), &FrontierJob::changed, this, [&] {
    const auto curves = session.frontier().curves();
    if (!curves) return;
    ++seen;
    stale += curves->generation != session.plan()->generation;
  });
  for (int i = 0; i < 12; ++i) {
    PlanInputs next = session.inputs();
    next.limits = withPin({}, i, {1.0, 16, 16});
    QVERIFY(session.apply(next, BudgetRule::kFeasible).is_ok());
    QVERIFY(!session.frontier().curves());  // the old ones are gone at once
    QVERIFY(session.frontier().isComputing());
    QTest::qWait(i % 4);
  }
  QTRY_VERIFY_WITH_TIMEOUT(!session.frontier().isComputing(), 60000);
  const auto curves = session.frontier().curves();
  QVERIFY(curves && curves->complete);
  QCOMPARE(curves->generation, session.plan()->generation);
  QVERIFY(seen > 0);
  QCOMPARE(stale, 0);
  // The pin that came last is in every plan of the exact curve.
  for (const FrontierPoint& point : curves->curves.front().points) {
    QCOMPARE(point.solution.layers[11], (LayerConfig{1.0, 16, 16}));
  }
}

void TestStudioModels::frontierFollowsTheProblem() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), syntheticTable(8)));
  QTRY_VERIFY_WITH_TIMEOUT(!session.frontier().isComputing(), 60000);
  const auto first = session.frontier().curves();
  QVERIFY(first && first->complete);
  QCOMPARE(first->curves.size(), frontierMethods().size());
  // A move of the slider is of the same problem.
  QVERIFY(session.setBudgetText(QStringLiteral("3x")).is_ok());
  QCOMPARE(session.frontier().curves(), first);
  const Problem direct = *Problem::make(syntheticTable(8));
  for (const FrontierCurve& curve : first->curves) {
    QVERIFY2(!curve.points.empty(), to_string(curve.method).c_str());
    const FrontierPoint& point = curve.points[curve.points.size() / 2];
    QCOMPARE(direct.solve(curve.method, point.budget)->predicted, point.solution.predicted);
  }
  for (std::size_t i = 0; i < first->bound.size(); i += 20) {
    const BoundPoint& point = first->bound[i];
    QCOMPARE(point.error, *direct.lower_bound(static_cast<std::int64_t>(point.bytes)));
  }
  QVERIFY(session.setBytesKind(BytesKind::kNominal).is_ok());
  QVERIFY(!session.frontier().curves());
  QTRY_VERIFY_WITH_TIMEOUT(session.frontier().curves() && session.frontier().curves()->complete,
                           60000);
  QCOMPARE(session.frontier().curves()->kind, BytesKind::kNominal);
}

void TestStudioModels::automaticProjectNames() {
  const ModelId id{"Smol LM/2: 135M", "llama", std::string(64, 'b')};
  QCOMPARE(automaticProjectPath(QStringLiteral("/data"), id),
           QStringLiteral("/data/Smol-LM-2--135M-bbbbbbbbbbbb.lamina"));
  QCOMPARE(automaticProjectPath(QStringLiteral("/data"), {"../..", "", std::string(64, '0')}),
           QStringLiteral("/data/model-000000000000.lamina"));
}

void TestStudioModels::texts() {
  QCOMPARE(budgetText(130.7e6, 1835e6), QStringLiteral("130.7 MB · 14.0x"));
  QCOMPARE(mbText(812), QStringLiteral("812 B"));
  QCOMPARE(mbText(23040), QStringLiteral("23.0 kB"));
  QCOMPARE(errorText(0.517), QStringLiteral("0.5170"));
  QCOMPARE(errorText(22.170453), QStringLiteral("22.17"));
  QCOMPARE(errorText(1.2e-5), QStringLiteral("1.200e-5"));
  QCOMPARE(errorText(0), QStringLiteral("0"));
  QCOMPARE(durationText(0.2), QStringLiteral("0:01"));
  QCOMPARE(durationText(125), QStringLiteral("2:05"));
  QCOMPARE(durationText(3723), QStringLiteral("1:02:03"));
  QCOMPARE(keepText(1), QStringLiteral("1.0"));
  QCOMPARE(percentText(0.1158, 2), QStringLiteral("11.58 %"));
  QCOMPARE(requestsText(11, 32768), QStringLiteral("11 requests x 32768"));
  QCOMPARE(requestsText(1, 512), QStringLiteral("1 request x 512"));
  QCOMPARE(mixText({{0.5, 4, 8}, {0.5, 4, 8}}), QStringLiteral("keep 0.5 · K4 · V8"));
  QCOMPARE(mixText({{0.5, 4, 4}, {1.0, 8, 16}}),
           QStringLiteral("2 recipes · mean keep 0.75 · K6.0 · V10.0"));
}

}  // namespace lamina::studio

QTEST_GUILESS_MAIN(lamina::studio::TestStudioModels)
#include "tst_studio_models.moc"
