// SPDX-License-Identifier: Apache-2.0
// The calibration job: what an interrupted run leaves in the project and how the next one goes on.
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/calibrate/job.h"
#include "engine/project/project.h"

using lamina::CalibrationOptions;
using lamina::JobContext;
using lamina::Status;

class TestJob : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    JobContext context = one_thread();
    auto model = lamina::Model::load(LAMINA_TEST_DATA "/tiny/qwen3", context);
    QVERIFY2(model.has_value(), model.status().message().c_str());
    model_ = *model;
    QVERIFY(folder_.isValid());
  }

  void an_interrupted_run_is_continued() {
    auto project = lamina::Project::create(path("resume.lamina")).value();
    CalibrationOptions options = probe();
    const auto broken = run(*project, stopping_after(options, 2));
    QCOMPARE(QString::fromStdString(broken.status().message()), QString("the disk is full"));
    QCOMPARE(project->tables()->size(), std::size_t{1});
    QCOMPARE(project->tables()->front().layers_done, 2);

    std::vector<int> announced;
    options.on_layer = [&](int layer, const std::vector<double>&) {
      announced.push_back(layer);
      return Status::ok();
    };
    const auto whole = run(*project, options);
    QVERIFY2(whole.has_value(), whole.status().message().c_str());
    QCOMPARE(whole->resumed_layers, 2);
    QCOMPARE(project->tables()->size(), std::size_t{1});
    std::vector<int> every_layer;
    for (int l = 0; l < model_->config().layers; ++l) every_layer.push_back(l);
    QVERIFY(announced == every_layer);

    auto other = lamina::Project::create(path("whole.lamina")).value();
    const auto uninterrupted = run(*other, probe());
    QVERIFY2(uninterrupted.has_value(), uninterrupted.status().message().c_str());
    QCOMPARE(uninterrupted->resumed_layers, 0);
    QVERIFY(whole->table.values == uninterrupted->table.values);
  }

  void rows_of_the_project_are_taken_over_as_they_are() {
    auto project = lamina::Project::create(path("marked.lamina")).value();
    CalibrationOptions options = probe();
    QVERIFY(!run(*project, stopping_after(options, 2)).has_value());
    const std::vector<double> mark(54, 0.125);
    QVERIFY(project->put_layer(project->tables()->front().id, 1, mark).is_ok());
    const auto whole = run(*project, options);
    QVERIFY2(whole.has_value(), whole.status().message().c_str());
    QVERIFY(whole->table.values[1] == mark);
  }

  void another_measurement_begins_anew() {
    auto project = lamina::Project::create(path("other.lamina")).value();
    CalibrationOptions options = probe();
    QVERIFY(!run(*project, stopping_after(options, 1)).has_value());
    options.ids.push_back(5);
    const auto longer = run(*project, options);
    QVERIFY2(longer.has_value(), longer.status().message().c_str());
    QCOMPARE(longer->resumed_layers, 0);
    options = probe();
    options.scorer = "streaming";
    const auto streaming = run(*project, options);
    QVERIFY2(streaming.has_value(), streaming.status().message().c_str());
    QCOMPARE(streaming->resumed_layers, 0);
    QCOMPARE(project->tables()->size(), std::size_t{3});
  }

  // By its path, the project is made only for options that can be measured, and continued.
  void a_project_by_its_path() {
    const lamina::ModelId id{"tiny", "qwen3", std::string(64, 'a')};
    CalibrationOptions options = probe();
    options.scorer = "luck";
    const auto by_path = [&](const CalibrationOptions& o) {
      return lamina::calibrate_into_project(*model_, id, o, path("path.lamina"), one_thread());
    };
    QCOMPARE(by_path(options).status().kind(), lamina::ErrorKind::kUsage);
    QVERIFY(!std::filesystem::exists(path("path.lamina")));
    QVERIFY(!by_path(stopping_after(probe(), 2)).has_value());
    const auto whole = by_path(probe());
    QVERIFY2(whole.has_value(), whole.status().message().c_str());
    QCOMPARE(whole->resumed_layers, 2);
  }

 private:
  static JobContext one_thread() {
    JobContext context;
    context.threads = 1;
    return context;
  }

  static CalibrationOptions probe() {
    CalibrationOptions options;
    options.scorer = "keydiff";
    for (int i = 0; i < 24; ++i) options.ids.push_back(3 + 7 * i % 90);
    return options;
  }

  // Fails like a full disk once `layers` layers are stored.
  static CalibrationOptions stopping_after(CalibrationOptions options, int layers) {
    options.on_layer = [layers](int layer, const std::vector<double>&) {
      return layer + 1 == layers ? Status::runtime("the disk is full") : Status::ok();
    };
    return options;
  }

  lamina::Result<lamina::CalibrationJobResult> run(lamina::Project& project,
                                                   const CalibrationOptions& options) const {
    const lamina::ModelId id{"tiny", "qwen3", std::string(64, 'a')};
    return lamina::calibrate_into_project(*model_, id, options, project, one_thread());
  }

  std::filesystem::path path(const char* name) const {
    return folder_.filePath(name).toStdString();
  }

  QTemporaryDir folder_;
  std::shared_ptr<const lamina::Model> model_;
};

QTEST_APPLESS_MAIN(TestJob)
#include "tst_job.moc"
