// SPDX-License-Identifier: GPL-3.0-or-later
// The item models and the session, without a window.
#include <QAbstractItemModelTester>
#include <QTest>
#include <limits>

#include "engine/base/units.h"
#include "studio_testing.h"
#include "widgets/models/heatmap_model.h"
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
  plan->rows = {{{0.5, 4, 8}, 1.5e6, 0.25}, {{1.0, 16, 16}, 12.34e6, 0.0}};
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
  QCOMPARE(flat, (QStringList{QStringLiteral("0|0.5|4|8|1.50|0.2500"),
                              QStringLiteral("1|1.0|16|16|12.3|0")}));
  QCOMPARE(model.headerData(PlanTableModel::kBytes, Qt::Horizontal, Qt::DisplayRole).toString(),
           QStringLiteral("MB actual"));
  auto other = std::make_shared<PlanState>(*plan);
  other->kind = BytesKind::kNominal;
  model.setPlan(other);
  QCOMPARE(model.headerData(PlanTableModel::kBytes, Qt::Horizontal, Qt::DisplayRole).toString(),
           QStringLiteral("MB nominal"));
  model.setPlan(nullptr);
  QCOMPARE(model.rowCount(), 0);
}

void TestStudioModels::planRowsAreTheSolution() {
  QTemporaryDir dir;
  StudioSession session(dir.path());
  const SensitivityTable table = syntheticTable(12);
  openAndWait(session, writeTable(dir, QStringLiteral("t.json"), table));
  const Problem direct = *Problem::make(table, BytesKind::kActual);
  for (const double ratio : {20.0, 14.0, 6.6, 2.0, 1.0}) {
    const auto budget = static_cast<std::int64_t>(direct.full_bytes() / ratio);
    if (budget < direct.smallest_bytes()) continue;
    QVERIFY(session.setBudget(budget).is_ok());
    const Solution expected = *direct.solve(Method::kGreedy, budget);
    const Solution uniform = *direct.solve(Method::kUniform2d, budget);
    const auto plan = session.plan();
    QCOMPARE(plan->budget, budget);
    QCOMPARE(plan->solution.configs, expected.configs);
    QCOMPARE(plan->solution.predicted, expected.predicted);
    QCOMPARE(plan->uniform->configs, uniform.configs);
    double bytes = 0, error = 0;
    for (int layer = 0; layer < table.layers(); ++layer) {
      const PlanRow& row = plan->rows[static_cast<std::size_t>(layer)];
      QCOMPARE(row.config, table.grid.at(expected.configs[static_cast<std::size_t>(layer)]));
      bytes += row.bytes;
      error += row.sensitivity;
    }
    QCOMPARE(bytes, expected.used_bytes);
    QCOMPARE(error, expected.predicted);
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
  QCOMPARE(plan->solution.used_bytes, 130662400.0);
  QCOMPARE(plan->solution.predicted, 22.170453212937915);
  QCOMPARE(plan->uniform->predicted, 31.08);
  QCOMPARE(plan->uniform->used_bytes, 91750400.0);
  QCOMPARE(plan->distinct, 5);
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
  const Problem direct = *Problem::make(table, BytesKind::kActual);
  const std::int64_t budget = *parse_budget("5x", direct.full_bytes());
  const Plan expected =
      *make_plan(direct, *direct.solve(Method::kGreedy, budget), budget, table_sha256(table));
  auto written = read_plan(toPath(path));
  QVERIFY2(written.has_value(), written.status().message().c_str());
  QCOMPARE(plan_to_json(*written), plan_to_json(expected));
  QCOMPARE(session.exportPlan(dir.filePath(QStringLiteral("no/such/folder/x.json"))).kind(),
           ErrorKind::kRuntime);
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
}

}  // namespace lamina::studio

QTEST_GUILESS_MAIN(lamina::studio::TestStudioModels)
#include "tst_studio_models.moc"
