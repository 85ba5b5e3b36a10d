// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <QDir>
#include <QTest>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <stop_token>
#include <thread>

#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/calibrate/calibrate.h"
#include "tests/engine/calibrate/naive_probe.h"

using namespace lamina;

namespace {

const ModelId kModelId{"demo", "llama", std::string(64, 'a')};

// One thread: a machine that is busy otherwise slows two threads that wait for each other far more.
JobContext quiet() {
  JobContext context;
  context.threads = 1;
  return context;
}

bool close(const std::vector<double>& actual, const std::vector<double>& expected, double relative,
           double absolute) {
  if (actual.size() != expected.size()) return false;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!(std::fabs(actual[i] - expected[i]) <= relative * expected[i] + absolute)) {
      qWarning("value %zu: %.9g, expected %.9g", i, actual[i], expected[i]);
      return false;
    }
  }
  return true;
}

}  // namespace

class TestCalibrate : public QObject {
  Q_OBJECT

 private:
  std::shared_ptr<const Model> model_;
  Json oracle_;

  CalibrationOptions options(const char* scorer) const {
    CalibrationOptions out;
    out.scorer = scorer;
    out.ids = oracle_["ids"].get<std::vector<std::int32_t>>();
    out.statistics_ids = oracle_["calibration_ids"].get<std::vector<std::int32_t>>();
    const Status prepared = prepare_calibration(*model_, out);
    if (!prepared.is_ok()) qFatal("%s", prepared.message().c_str());
    return out;
  }

  std::string refusal(const std::function<void(CalibrationOptions&)>& spoil, ErrorKind kind) const {
    CalibrationOptions spoilt = options("streaming");
    spoil(spoilt);
    const Status prepared = prepare_calibration(*model_, spoilt);
    const auto table = calibrate(*model_, kModelId, spoilt, quiet());
    if (prepared.kind() != kind || table.status().kind() != kind) return "another kind of error";
    return prepared.message();
  }

 private slots:
  void initTestCase() {
    auto file = read_json_file(LAMINA_TEST_DATA "/smol_prompt27_S.json");
    QVERIFY2(file.has_value(), file.status().message().c_str());
    oracle_ = std::move(file).value();
    auto model = Model::load(std::filesystem::path(LAMINA_DEMO_MODEL), quiet());
    QVERIFY2(model.has_value(), model.status().message().c_str());
    model_ = std::move(model).value();
  }

  void reference_table_data() {
    QTest::addColumn<QByteArray>("scorer");
    for (const char* scorer : {"streaming", "keydiff", "triattention"}) {
      QTest::newRow(scorer) << QByteArray(scorer);
    }
  }

  void reference_table() {
    QFETCH(QByteArray, scorer);
    CalibrationOptions run = options(scorer.constData());
    std::vector<std::vector<double>> heard;
    run.on_layer = [&](int layer, const std::vector<double>& values) {
      if (layer != static_cast<int>(heard.size())) return Status::runtime("out of order");
      heard.push_back(values);
      return Status::ok();
    };
    JobContext context = quiet();
    std::vector<Progress> reports;
    context.on_progress = [&](const Progress& p) { reports.push_back(p); };
    const auto table = calibrate(*model_, kModelId, run, context);
    QVERIFY2(table.has_value(), table.status().message().c_str());
    QVERIFY(table->validate("table").is_ok());
    QVERIFY(heard == table->values);

    const auto expected = oracle_["S"][scorer.constData()].get<std::vector<std::vector<double>>>();
    QCOMPARE(table->values.size(), expected.size());
    int good = 0;
    double worst = 0;
    for (std::size_t layer = 0; layer < expected.size(); ++layer) {
      QCOMPARE(table->values[layer].size(), std::size_t{54});
      for (std::size_t c = 0; c < 54; ++c) {
        const double error = std::fabs(table->values[layer][c] - expected[layer][c]);
        worst = std::max(worst, error);
        good += error <= 0.01 * expected[layer][c] + 1e-4 ? 1 : 0;
      }
      QCOMPARE(table->values[layer][53], 0.0);
    }
    QVERIFY2(good >= 0.99 * 30 * 54, qPrintable(QString("%1 cells agree").arg(good)));
    // The reference's own float32 run differs from its float64 run by up to 3.5e-5.
    QVERIFY2(worst < 3e-4, qPrintable(QString("a cell differs by %1").arg(worst)));

    const auto sets = survivor_sets(*model_, run, quiet());
    QVERIFY2(sets.has_value(), sets.status().message().c_str());
    for (const auto& [layer, keeps] : oracle_["survivors"][scorer.constData()].items()) {
      std::size_t keep_i = 0;
      for (const char* keep : {"0.1", "0.25", "0.5", "0.75", "0.9", "1.0"}) {
        const auto& actual = (*sets)[std::stoul(layer)][keep_i++];
        QCOMPARE(actual, keeps[keep].get<std::vector<std::int64_t>>());
      }
    }

    QVERIFY(!reports.empty());
    QCOMPARE(reports.front().stage,
             std::string(scorer == "triattention" ? "statistics" : "calibrating"));
    QCOMPARE(reports.back().stage, std::string("calibrating"));
    QCOMPARE(reports.back().unit, std::string("layers"));
    QCOMPARE(reports.back().done, std::int64_t{30});
    QCOMPARE(reports.back().total, std::int64_t{30});
    QVERIFY(reports.back().rate > 0);
  }

  void provenance_says_how() {
    CalibrationOptions run = options("triattention");
    run.statistics_ids = {1, 2, 30};
    run.t_cache = 4096;
    const auto table = calibrate(*model_, kModelId, run, quiet());
    QVERIFY2(table.has_value(), table.status().message().c_str());
    QVERIFY(table->model == kModelId);
    QCOMPARE(table->geometry.t_cache, std::int64_t{4096});
    QVERIFY(table->geometry.layers == model_->config().kv);
    const Provenance& p = *table->provenance;
    QCOMPARE(p.probe, std::string("prompt"));
    QCOMPARE(p.scorer, std::string("triattention"));
    QCOMPARE(p.quantizer.k, std::string("asym-g32"));
    QCOMPARE(p.tokens, std::int64_t{27});
    QCOMPARE(p.window_tokens, std::int64_t{0});
    QVERIFY(p.token_ids == run.ids);
    QCOMPARE(p.statistics_sha256, sha256_hex("1,2,30"));
    QCOMPARE(p.version, std::string(LAMINA_VERSION));
    QCOMPARE(p.created.size(), std::size_t{20});
    QCOMPARE(p.created.back(), 'Z');
    const auto streaming = calibrate(*model_, kModelId, options("streaming"), quiet());
    QVERIFY(streaming.has_value());
    QCOMPARE(streaming->provenance->statistics_sha256, std::string());
  }

  void custom_grid_equals_the_naive_probe() {
    CalibrationOptions run = options("keydiff");
    run.grid = {{0.05, 0.4, 1.0}, {2, 8}, {2, 8}};
    const auto table = calibrate(*model_, kModelId, run, quiet());
    QVERIFY2(table.has_value(), table.status().message().c_str());
    for (const int layer : {0, 14, 29}) {
      std::vector<testing::Positions> survivors;
      for (const double keep : run.grid.keep) {
        survivors.push_back(testing::naive_survivors(*model_, run.ids, {}, "keydiff", layer, keep));
      }
      const auto expected =
          testing::naive_sensitivity(*model_, run.ids, layer, survivors, run.grid);
      QVERIFY(*std::min_element(expected.begin(), expected.end()) >
              1e-4);  // no cell is the reference
      QVERIFY(close(table->values[static_cast<std::size_t>(layer)], expected, 1e-3, 1e-6));
    }
  }

  void one_token_sees_itself() {
    CalibrationOptions run = options("streaming");
    run.ids = {504};
    const auto table = calibrate(*model_, kModelId, run, quiet());
    QVERIFY2(table.has_value(), table.status().message().c_str());
    const auto expected = testing::naive_sensitivity(
        *model_, run.ids, 3, std::vector<testing::Positions>(6, {0}), run.grid);
    QVERIFY(close(table->values[3], expected, 1e-3, 1e-6));
  }

  void blocks_of_queries_do_not_change_the_result() {
    CalibrationOptions run = options("keydiff");
    run.ids.assign(run.statistics_ids.begin(), run.statistics_ids.begin() + 100);
    const auto sets = survivor_sets(*model_, run, quiet());
    QVERIFY2(sets.has_value(), sets.status().message().c_str());
    const int layer = 2;
    const auto row = [&](std::int64_t bytes) {
      return testing::blocked_sensitivity(*model_, run.ids, layer, (*sets)[layer], run.grid, bytes);
    };
    const auto whole = row(std::int64_t{1} << 30);
    QCOMPARE(whole.size(), std::size_t{54});
    QVERIFY(close(row(std::int64_t{4} << 20), whole, 1e-4, 1e-7));
    QVERIFY(close(row(1), whole, 1e-4, 1e-7));  // one query at a time
    const auto expected =
        testing::naive_sensitivity(*model_, run.ids, layer, (*sets)[layer], run.grid);
    QVERIFY(close(whole, expected, 1e-3, 1e-6));
  }

  void small_models_equal_the_naive_probe_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("scorer");
    const QDir folder(LAMINA_TEST_DATA "/tiny");
    const QStringList names = folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    QVERIFY(names.contains("mistral_window") && names.contains("gemma3") &&
            names.contains("qwen3"));
    for (const QString& name : names) {
      for (const char* scorer : {"streaming", "keydiff", "triattention"}) {
        QTest::addRow("%s %s", qPrintable(name), scorer) << name << QString(scorer);
      }
    }
  }

  // Windows (of 8 tokens, in prompts of 6 and 40), q and k norms, biases, partly rotated heads,
  // scaled frequencies, heads of 12 and 16 values: every layer against the naive probe and scorers.
  void small_models_equal_the_naive_probe() {
    QFETCH(QString, name);
    QFETCH(QString, scorer);
    const QString folder = QString(LAMINA_TEST_DATA "/tiny/") + name;
    const auto model = Model::load(std::filesystem::path(folder.toStdString()), quiet());
    QVERIFY2(model.has_value(), model.status().message().c_str());
    const auto golden = read_json_file((folder + "/golden.json").toStdString());
    QVERIFY2(golden.has_value(), golden.status().message().c_str());
    const auto text = (*golden)["ids"].get<std::vector<std::int32_t>>();
    for (const std::size_t tokens : {std::size_t{6}, std::min<std::size_t>(40, text.size())}) {
      CalibrationOptions run;
      run.scorer = scorer.toStdString();
      run.ids.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(tokens));
      run.statistics_ids.assign(text.rbegin(), text.rend());
      run.grid = {{0.2, 0.6, 1.0}, {2, 8, 16}, {4, 16}};
      const Status prepared = prepare_calibration(**model, run);
      QVERIFY2(prepared.is_ok(), prepared.message().c_str());
      const auto sets = survivor_sets(**model, run, quiet());
      QVERIFY2(sets.has_value(), sets.status().message().c_str());
      const auto table = calibrate(**model, kModelId, run, quiet());
      QVERIFY2(table.has_value(), table.status().message().c_str());
      for (int layer = 0; layer < (*model)->config().layers; ++layer) {
        const auto& kept = (*sets)[static_cast<std::size_t>(layer)];
        for (std::size_t i = 0; i < run.grid.keep.size(); ++i) {
          QCOMPARE(kept[i], testing::naive_survivors(**model, run.ids, run.statistics_ids,
                                                     run.scorer, layer, run.grid.keep[i]));
        }
        const auto expected = testing::naive_sensitivity(**model, run.ids, layer, kept, run.grid);
        const auto& actual = table->values[static_cast<std::size_t>(layer)];
        QVERIFY(close(actual, expected, 1e-3, 1e-6));
        QCOMPARE(actual.back(), 0.0);
      }
    }
  }

  // The stop comes from another thread, wherever the work happens to be. What is measured is the
  // processor time of the working thread between the request and its return: on an idle machine it
  // is the time that passes.
  void stops_soon_data() {
    QTest::addColumn<int>("statistics_tokens");
    QTest::addColumn<int>("probe_tokens");
    QTest::addColumn<double>("after_s");
    for (const double after : {0.2, 0.3, 0.45, 0.7}) {
      QTest::addRow("in the statistics after %g s", after) << 1536 << 27 << after;
      QTest::addRow("in the layers after %g s", after) << 32 << 400 << after;
    }
  }

  void stops_soon() {
    QFETCH(int, statistics_tokens);
    QFETCH(int, probe_tokens);
    QFETCH(double, after_s);
    CalibrationOptions run = options("triattention");
    run.ids = run.statistics_ids;
    run.ids.resize(static_cast<std::size_t>(probe_tokens));
    run.statistics_ids.resize(static_cast<std::size_t>(statistics_tokens));
    std::stop_source source;
    JobContext context = quiet();
    context.stop = source.get_token();
    clockid_t worker{};
    QCOMPARE(pthread_getcpuclockid(pthread_self(), &worker), 0);
    const auto cpu_s = [worker] {
      timespec t{};
      clock_gettime(worker, &t);
      return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const double begun = cpu_s();
    double stopped = 0;
    std::jthread stopper([&](const std::stop_token& give_up) {
      while (cpu_s() - begun < after_s && !give_up.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      stopped = cpu_s();
      source.request_stop();
    });
    const auto table = calibrate(*model_, kModelId, run, context);
    const double returned = cpu_s();
    stopper.request_stop();
    stopper.join();
    QVERIFY(table.status().kind() == ErrorKind::kCancelled);
    QVERIFY2(returned - stopped < 0.2, qPrintable(QString("%1 s").arg(returned - stopped)));
  }

  void resumed_equals_uninterrupted() {
    CalibrationOptions run = options("keydiff");
    const auto whole = calibrate(*model_, kModelId, run, quiet());
    QVERIFY2(whole.has_value(), whole.status().message().c_str());
    run.known_rows.resize(30);
    std::vector<int> unknown;
    for (int layer = 0; layer < 30; ++layer) {
      const bool known = layer < 4 || layer == 9 || layer > 26;
      if (!known) unknown.push_back(layer);
      // A marked copy shows that known rows are taken over as they are.
      if (known) run.known_rows[layer].assign(54, 0.5 + layer);
    }
    std::vector<int> measured;
    run.on_layer = [&](int layer, const std::vector<double>&) {
      measured.push_back(layer);
      return Status::ok();
    };
    std::int64_t done = -1;
    JobContext context = quiet();
    context.on_progress = [&](const Progress& p) { done = p.done; };
    const auto resumed = calibrate(*model_, kModelId, run, context);
    QVERIFY2(resumed.has_value(), resumed.status().message().c_str());
    QVERIFY(measured == unknown);
    QCOMPARE(done, std::int64_t{30});
    for (std::size_t layer = 0; layer < 30; ++layer) {
      const auto& expected =
          run.known_rows[layer].empty() ? whole->values[layer] : run.known_rows[layer];
      QVERIFY(resumed->values[layer] == expected);
    }
    run.known_rows = whole->values;
    measured.clear();
    const auto known = calibrate(*model_, kModelId, run, quiet());
    QVERIFY(known.has_value() && measured.empty() && known->values == whole->values);
  }

  void an_error_of_the_listener_stops() {
    CalibrationOptions run = options("streaming");
    int heard = 0;
    run.on_layer = [&](int layer, const std::vector<double>&) {
      ++heard;
      return layer == 2 ? Status::runtime("the disk is full", "x.lamina") : Status::ok();
    };
    const auto table = calibrate(*model_, kModelId, run, quiet());
    QCOMPARE(table.status().message(), std::string("the disk is full (x.lamina)"));
    QCOMPARE(heard, 3);
  }

  void wrong_options_are_refused() {
    const auto usage = ErrorKind::kUsage, input = ErrorKind::kBadInput;
    using O = CalibrationOptions;
    QCOMPARE(refusal([](O& o) { o.probe = "guess"; }, usage),
             std::string("unknown probe 'guess' (--probe): use prompt"));
    QCOMPARE(
        refusal([](O& o) { o.scorer = "h3o"; }, usage),
        std::string("unknown scorer 'h3o' (--scorer): use streaming, keydiff or triattention"));
    QVERIFY(refusal([](O& o) { o.quantizer.v = "q9"; }, usage).find("'q9'") != std::string::npos);
    QVERIFY(refusal(
                [](O& o) {
                  o.grid.k_bits = {4, 12};
                },
                usage)
                .find("12 bits") != std::string::npos);
    QVERIFY(refusal([](O& o) { o.sinks = -1; }, usage).find("negative") != std::string::npos);
    QVERIFY(refusal([](O& o) { o.t_cache = -1; }, usage).find("-1 tokens") != std::string::npos);
    QVERIFY(refusal(
                [](O& o) {
                  o.grid.keep = {0.0, 1.0};
                },
                input)
                .find("grid") != std::string::npos);
    QVERIFY(refusal([](O& o) { o.ids[5] = 49152; }, input).find("49152") != std::string::npos);
    QVERIFY(refusal([](O& o) { o.ids[5] = -1; }, input).find("-1") != std::string::npos);
    QVERIFY(refusal([](O& o) { o.ids.assign(8193, 1); }, input).find("8193") != std::string::npos);
    QVERIFY(refusal([](O& o) { o.known_rows.resize(29); }, input).find("29") != std::string::npos);
    const auto short_row = [](O& o) {
      o.known_rows.resize(30);
      o.known_rows[7] = {1, 2};
    };
    QVERIFY(refusal(short_row, input).find("layer 7") != std::string::npos);
    const auto bad_statistics = [](O& o) {
      o.scorer = "triattention";
      o.statistics_ids = {1, 99999};
    };
    QVERIFY(refusal(bad_statistics, input).find("99999") != std::string::npos);
    CalibrationOptions empty;
    QVERIFY(calibrate(*model_, kModelId, empty, quiet()).status().kind() != ErrorKind::kNone);
  }

  void empty_options_are_completed() {
    CalibrationOptions run;
    const Status prepared = prepare_calibration(*model_, run);
    QVERIFY2(prepared.is_ok(), prepared.message().c_str());
    QVERIFY(run.ids == *model_->tokenizer()->encode(default_probe_text(), false));
    QVERIFY(run.ids.size() >= 20 && run.ids.size() <= 40);
    QVERIFY(run.statistics_ids == *model_->tokenizer()->encode(default_statistics_text(), false));
    QVERIFY(run.statistics_ids.size() >= 1500);
    QCOMPARE(run.t_cache, std::int64_t{8192});
    CalibrationOptions streaming;
    streaming.scorer = "streaming";
    QVERIFY(prepare_calibration(*model_, streaming).is_ok());
    QVERIFY(streaming.statistics_ids.empty());
  }

  void values_that_are_not_finite_are_named() {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      const Status k = testing::checked_planes(false, 12, 3, 8, bad);
      QVERIFY(k.kind() == ErrorKind::kBadInput);
      QCOMPARE(k.where(), std::string("layer 12, head 3, token 8"));
      QVERIFY(k.what().starts_with("K "));
      const Status v = testing::checked_planes(true, 0, 0, 4, bad);
      QCOMPARE(v.where(), std::string("layer 0, head 0, token 4"));
      QVERIFY(v.what().starts_with("V "));
    }
    QVERIFY(testing::checked_planes(false, 1, 1, 1, std::numeric_limits<float>::max()).is_ok());
  }
};

QTEST_GUILESS_MAIN(TestCalibrate)
#include "tst_calibrate.moc"
