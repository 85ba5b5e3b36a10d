// SPDX-License-Identifier: GPL-3.0-or-later
// The whole way on the demo model: open, calibrate while the heatmap fills in, move the budget,
// export, open again; and a calibration that is cancelled or whose window is closed.
#include <QDir>
#include <QElapsedTimer>
#include <QPushButton>
#include <QStandardPaths>
#include <QTest>

#include "studio_testing.h"
#include "widgets/models/heatmap_model.h"
#include "widgets/models/plan_table_model.h"
#include "widgets/pages/workspace_page.h"
#include "widgets/panels/budget_slider.h"
#include "widgets/panels/model_bar.h"
#include "widgets/plots/heatmap_view.h"
#include "widgets/window/error_dialog.h"
#include "widgets/window/main_window.h"
#include "widgets/window/screenshot.h"
#include "widgets/window/theme.h"

namespace lamina::studio {

using testing::openAndWait;

class TestStudioDemo : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void openCalibrateSlideExport();
  void cancelKeepsRowsAndResumes();
  void closeWhileCalibrating();

 private:
  WindowOptions options(const QTemporaryDir& dir) const {
    return {dir.filePath(QStringLiteral("studio.ini")), dir.filePath(QStringLiteral("projects"))};
  }
};

void TestStudioDemo::initTestCase() {
  QStandardPaths::setTestModeEnabled(true);
  applyTheme(*qApp, Theme::kLight);
}

void TestStudioDemo::openCalibrateSlideExport() {
  QTemporaryDir dir;
  MainWindow window(options(dir));
  window.resize(1280, 800);
  window.show();
  StudioSession& session = *window.session();
  QSignalSpy failed(&session, &StudioSession::failed);
  openAndWait(session, QStringLiteral(LAMINA_DEMO_MODEL));
  QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : qPrintable(failed[0][1].toString()));
  QVERIFY(window.showsWorkspace());
  QCOMPARE(session.document()->model->layers, 30);
  QVERIFY(window.windowTitle().contains(QStringLiteral("automatic project")));
  HeatmapModel* cells = window.workspace()->heatmapModel();
  QCOMPARE(cells->layers(), 30);
  QCOMPARE(cells->state(0, 0), CellState::kMissing);

  QSignalSpy rows(&session, &StudioSession::rowMeasured);
  QSignalSpy progress(&session.jobs(), &JobRunner::progressed);
  QSignalSpy finished(&session.jobs(), &JobRunner::finished);
  window.workspace()->modelBar()->setScorer(QStringLiteral("triattention"));
  QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("calibrate")), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(rows.count() > 0, 120000);
  QCOMPARE(cells->state(0, 0), CellState::kPositive);
  QTRY_VERIFY_WITH_TIMEOUT(finished.count() > 0, 300000);
  QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : qPrintable(failed[0][1].toString()));
  QCOMPARE(rows.count(), 30);
  QVERIFY(progress.count() > 0);
  QVERIFY(session.document()->table.has_value());
  for (int layer = 0; layer < 30; ++layer) {
    QCOMPARE(cells->state(layer, 53), CellState::kZero);
    QCOMPARE(cells->value(layer, 0),
             session.document()->table->table.values[static_cast<std::size_t>(layer)][0]);
  }

  // Requests of a GPU: weights and activations are known, so that the budget can be asked for.
  QVERIFY(!session.setBudgetText(QStringLiteral("8 requests")).is_ok());
  QVERIFY(session.setGpuMemory(QStringLiteral("1GiB")).is_ok());
  QVERIFY(session.plan()->capacity.has_value());
  const Status eight = session.setBudgetText(QStringLiteral("8 requests"));
  QVERIFY2(eight.is_ok(), eight.message().c_str());
  QVERIFY(session.plan()->capacity->requests >= 8);
  QVERIFY(session.plan()->capacity->weights > 80'000'000);
  const QString readout =
      window.findChild<QWidget*>(QStringLiteral("budgetReadout"))->property("text").toString();
  QVERIFY2(readout.contains(QStringLiteral("requests x 8192")), qPrintable(readout));
  const std::int64_t for_eight = session.budget();
  QVERIFY(session.setBudgetText(QStringLiteral("30 requests")).is_ok());
  QVERIFY(session.budget() < for_eight);
  QVERIFY(!session.setBudgetText(QStringLiteral("100000000 requests")).is_ok());

  auto* slider = window.findChild<BudgetSlider*>();
  slider->setValue(700);
  const std::int64_t budget = session.budget();
  QCOMPARE(slider->bytes(), budget);
  const QString plan_path = dir.filePath(QStringLiteral("demo.plan.json"));
  window.exportPlanTo(plan_path);
  auto plan = read_plan(toPath(plan_path));
  QVERIFY2(plan.has_value(), plan.status().message().c_str());
  QCOMPARE(plan->layers.size(), std::size_t{30});
  QCOMPARE(plan->budget->bytes, budget);
  QCOMPARE(plan->model.fingerprint, session.document()->model->id.fingerprint);

  // Save as, and open the copy without the model.
  QSignalSpy saved(&session, &StudioSession::documentChanged);
  const QString copy = dir.filePath(QStringLiteral("copy.lamina"));
  session.saveProjectAs(copy);
  QTRY_VERIFY_WITH_TIMEOUT(saved.count() > 0, 20000);
  QVERIFY(window.windowTitle().contains(QStringLiteral("copy.lamina")));
  const auto configs = session.plan()->solution.configs;
  MainWindow other(options(dir));
  openAndWait(*other.session(), copy);
  QVERIFY(other.session()->plan());
  QVERIFY(other.session()->setBudget(budget).is_ok());
  QCOMPARE(other.session()->plan()->solution.configs, configs);

  // The README's picture, by the same way as `lamina-studio FILE --screenshot OUT`.
  QVERIFY(QDir().mkpath(QStringLiteral(LAMINA_PICTURES)));
  ScreenshotOptions picture;
  picture.input = copy;
  picture.output = QStringLiteral(LAMINA_PICTURES "/studio.png");
  picture.budget = QStringLiteral("14x");
  const Status pictured = renderScreenshot(picture);
  QVERIFY2(pictured.is_ok(), pictured.message().c_str());
}

void TestStudioDemo::cancelKeepsRowsAndResumes() {
  QTemporaryDir dir;
  MainWindow window(options(dir));
  window.show();
  StudioSession& session = *window.session();
  openAndWait(session, QStringLiteral(LAMINA_DEMO_MODEL));
  QSignalSpy rows(&session, &StudioSession::rowMeasured);
  QSignalSpy finished(&session.jobs(), &JobRunner::finished);
  session.calibrate(QStringLiteral("streaming"));
  QTRY_VERIFY_WITH_TIMEOUT(rows.count() >= 2, 120000);
  QElapsedTimer timer;
  timer.start();
  session.cancel();
  QTRY_VERIFY_WITH_TIMEOUT(finished.count() > 0, 20000);
  QVERIFY2(timer.elapsed() < 2000, qPrintable(QString::number(timer.elapsed())));
  QVERIFY(!window.findChild<ErrorDialog*>());
  QVERIFY(!session.document()->table);
  QVERIFY(session.document()->partial->rowsDone() >= 2);
  QCOMPARE(window.workspace()->heatmapModel()->state(0, 0), CellState::kPositive);
  QCOMPARE(window.workspace()->heatmapModel()->state(29, 0), CellState::kMissing);
  // Opening the model again tells of the unfinished run.
  openAndWait(session, QStringLiteral(LAMINA_DEMO_MODEL));
  QVERIFY(session.document()->unfinished.has_value());
  QVERIFY(session.document()->unfinished->layers_done >= 2);
  QCOMPARE(session.document()->unfinished->layers, 30);
}

void TestStudioDemo::closeWhileCalibrating() {
  QTemporaryDir dir;
  auto window = std::make_unique<MainWindow>(options(dir));
  window->show();
  StudioSession& session = *window->session();
  openAndWait(session, QStringLiteral(LAMINA_DEMO_MODEL));
  QSignalSpy rows(&session, &StudioSession::rowMeasured);
  session.calibrate(QStringLiteral("keydiff"));
  QTRY_VERIFY_WITH_TIMEOUT(rows.count() >= 1, 120000);
  window->close();
  QVERIFY(!session.jobs().isRunning());
  window.reset();
  QTest::qWait(20);
}

}  // namespace lamina::studio

QTEST_MAIN(lamina::studio::TestStudioDemo)
#include "tst_studio_demo.moc"
