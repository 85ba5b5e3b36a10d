// SPDX-License-Identifier: Apache-2.0
// A project keeps what was put in, refuses what it cannot keep, and is shared by two connections.
#include "engine/project/project.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <QTemporaryDir>
#include <QTest>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "tests/engine/support/samples.h"

using namespace lamina;
namespace fs = std::filesystem;

namespace {

fs::path in(const QTemporaryDir& folder, const char* name) {
  return fs::path(folder.path().toStdString()) / name;
}

SensitivityTable full_table(int layers, std::uint32_t seed) {
  SensitivityTable table = samples::table(layers, seed);
  table.model = samples::model();
  table.provenance = samples::provenance();
  return table;
}

Plan sample_plan() {
  Plan plan;
  plan.model = samples::model();
  plan.geometry = samples::geometry(3, 2048, 3, 64);
  plan.layers = {{0.25, 4, 8}, {1.0, 16, 16}, {0.1, 8, 4}};
  plan.grid = ConfigGrid::default_grid();
  return plan;
}

}  // namespace

class TestProject : public QObject {
  Q_OBJECT

 private slots:
  // Waiting for a lock lasts ten seconds, or until somebody asks to stop.
  void a_wait_for_a_lock_hears_a_stop() {
    QTemporaryDir folder;
    const fs::path path = in(folder, "locked.lamina");
    std::stop_source later;
    auto open_already = Project::create(path, later.get_token());
    QVERIFY2(open_already, open_already.status().message().c_str());
    SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN EXCLUSIVE");
    const auto stopped = [](std::stop_source& stop, const auto& call) {
      std::jthread stopper([&stop] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        stop.request_stop();
      });
      const auto begin = std::chrono::steady_clock::now();
      const Status status = call();
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
      QCOMPARE(status.kind(), ErrorKind::kCancelled);
      QVERIFY2(waited.count() > 0.05 && waited.count() < 5, std::to_string(waited.count()).c_str());
    };
    std::stop_source stop;
    stopped(stop, [&] { return Project::open(path, stop.get_token()).status(); });
    stopped(later,
            [&] { return (*open_already)->put_checkpoint(samples::model(), "a", "{}").status(); });
    other.exec("ROLLBACK");
    QVERIFY((*open_already)->put_checkpoint(samples::model(), "a", "{}"));
  }

  void keeps_checkpoints() {
    QTemporaryDir folder;
    {
      auto project = Project::create(in(folder, "a.lamina"));
      QVERIFY2(project, project.status().message().c_str());
      auto first = (*project)->put_checkpoint(samples::model(), "/models/a.gguf", "{\"a\":1}");
      ModelId other{"Other", "qwen3", std::string(64, 'c')};
      auto second = (*project)->put_checkpoint(other, "/models/b.gguf", "{}");
      auto again = (*project)->put_checkpoint(samples::model(), "/moved/a.gguf", "{\"a\":2}");
      QVERIFY(first && second && again);
      QCOMPARE(*again, *first);
      QVERIFY(*second != *first);
    }
    auto project = Project::open(in(folder, "a.lamina"));
    QVERIFY2(project, project.status().message().c_str());
    auto all = (*project)->checkpoints();
    QVERIFY(all);
    QCOMPARE(all->size(), std::size_t{2});
    QCOMPARE((*all)[0].path, std::string("/moved/a.gguf"));
    QCOMPARE((*all)[0].info_json, std::string("{\"a\":2}"));
    QVERIFY((*all)[0].model == samples::model());
    QCOMPARE((*all)[1].model.name, std::string("Other"));
  }

  void keeps_whole_tables() {
    QTemporaryDir folder;
    const SensitivityTable table = full_table(7, 1);
    SensitivityTable bare = samples::table(2, 2);  // without model and provenance
    {
      auto project = Project::create(in(folder, "a.lamina"));
      QVERIFY(project);
      auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
      QCOMPARE(*(*project)->put_table(*owner, table), std::int64_t{1});
      QCOMPARE(*(*project)->put_table(*owner, bare), std::int64_t{2});
    }
    auto project = Project::open(in(folder, "a.lamina"));
    QVERIFY(project);
    QVERIFY(*(*project)->table(1) == table);
    QVERIFY(*(*project)->table(2) == bare);
    auto records = (*project)->tables();
    QVERIFY(records);
    QCOMPARE(records->size(), std::size_t{2});
    QCOMPARE((*records)[0].layers, 7);
    QCOMPARE((*records)[0].layers_done, 7);
    QCOMPARE((*records)[0].scorer, std::string("triattention"));
    QCOMPARE((*records)[0].probe, std::string("prompt"));
    QCOMPARE((*records)[0].created.size(), std::size_t{20});
  }

  void stores_layer_by_layer() {
    QTemporaryDir folder;
    const SensitivityTable table = full_table(4, 3);
    SensitivityTable head = table;
    head.values.clear();
    auto project = Project::create(in(folder, "a.lamina"));
    auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
    auto id = (*project)->begin_table(*owner, head);
    QVERIFY2(id, id.status().message().c_str());
    QVERIFY(!(*(*project)->newest_table()).has_value());
    for (int layer : {2, 0}) {
      QVERIFY((*project)->put_layer(*id, layer, table.values[layer]).is_ok());
    }
    auto rows = (*project)->partial_rows(*id);
    QVERIFY(rows);
    QCOMPARE(rows->size(), std::size_t{4});
    QVERIFY((*rows)[0] == table.values[0] && (*rows)[1].empty());
    QVERIFY((*rows)[2] == table.values[2] && (*rows)[3].empty());
    QCOMPARE((*(*project)->tables())[0].layers_done, 2);
    Status unfinished = (*project)->table(*id).status();
    QCOMPARE(unfinished.kind(), ErrorKind::kBadInput);
    QVERIFY(unfinished.message().find("2 of the 4 layers") != std::string::npos);
    QVERIFY((*project)->put_layer(*id, 3, table.values[3]).is_ok());
    QVERIFY((*project)->put_layer(*id, 1, table.values[0]).is_ok());
    QVERIFY((*project)->put_layer(*id, 1, table.values[1]).is_ok());  // measured again
    QVERIFY(*(*project)->table(*id) == table);
    QCOMPARE((*(*project)->newest_table())->id, *id);
  }

  void newest_complete_table() {
    QTemporaryDir folder;
    auto project = Project::create(in(folder, "a.lamina"));
    auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
    auto first = (*project)->put_table(*owner, full_table(2, 4));
    QVERIFY((*project)->begin_table(*owner, full_table(2, 5)));
    QCOMPARE((*(*project)->newest_table())->id, *first);
  }

  void refuses_bad_rows() {
    QTemporaryDir folder;
    const SensitivityTable table = full_table(2, 6);
    auto project = Project::create(in(folder, "a.lamina"));
    auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
    auto id = (*project)->begin_table(*owner, table);
    std::vector<double> row = table.values[0];
    QCOMPARE((*project)->put_layer(*id, 2, row).kind(), ErrorKind::kBadInput);
    QCOMPARE((*project)->put_layer(*id, -1, row).kind(), ErrorKind::kBadInput);
    QCOMPARE((*project)->put_layer(*id + 1, 0, row).kind(), ErrorKind::kBadInput);
    row[17] = std::nan("");
    Status nan = (*project)->put_layer(*id, 1, row);
    QCOMPARE(nan.kind(), ErrorKind::kBadInput);
    QVERIFY(nan.message().find("layer 1, configuration 17 (keep 0.25, K16 V16) is nan") !=
            std::string::npos);
    row.pop_back();
    QCOMPARE((*project)->put_layer(*id, 1, row).kind(), ErrorKind::kBadInput);
    QCOMPARE((*(*project)->tables())[0].layers_done, 0);
  }

  void refuses_strangers() {
    QTemporaryDir folder;
    auto project = Project::create(in(folder, "a.lamina"));
    auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
    SensitivityTable foreign = full_table(2, 7);
    foreign.model = ModelId{"Foreign 7B", "llama", std::string(64, 'd')};
    Status status = (*project)->put_table(*owner, foreign).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("Foreign 7B") != std::string::npos);
    QVERIFY(status.message().find("Sample 135M") != std::string::npos);
    QCOMPARE((*project)->put_table(99, full_table(2, 7)).status().kind(), ErrorKind::kBadInput);
    QCOMPARE((*project)->table(99).status().kind(), ErrorKind::kBadInput);
    QCOMPARE((*project)->plan(99).status().kind(), ErrorKind::kBadInput);
    QCOMPARE((*project)->put_blob(99, "x", "y").kind(), ErrorKind::kBadInput);
    QVERIFY((*project)->tables()->empty());
  }

  void keeps_plans_and_blobs() {
    QTemporaryDir folder;
    const Plan plan = sample_plan();
    std::string bytes("\0binary\xff\x80\0", 10);
    {
      auto project = Project::create(in(folder, "a.lamina"));
      auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
      auto table = (*project)->put_table(*owner, full_table(3, 8));
      QCOMPARE(*(*project)->put_plan(*table, "14x, \"greedy\"; DROP TABLE plans", plan),
               std::int64_t{1});
      QCOMPARE((*project)->put_plan(99, "x", plan).status().kind(), ErrorKind::kBadInput);
      Plan off_grid = plan;
      off_grid.layers[1].keep = 0.3;
      Status refused = (*project)->put_plan(*table, "x", off_grid).status();
      QVERIFY(refused.message().find("layer 1") != std::string::npos);
      QVERIFY((*project)->put_blob(*owner, "triattention", "old").is_ok());
      QVERIFY((*project)->put_blob(*owner, "triattention", bytes).is_ok());
      QVERIFY((*project)->put_blob(*owner, "empty", "").is_ok());
    }
    auto project = Project::open(in(folder, "a.lamina"));
    auto plans = (*project)->plans();
    QVERIFY(plans);
    QCOMPARE(plans->size(), std::size_t{1});
    QCOMPARE((*plans)[0].name, std::string("14x, \"greedy\"; DROP TABLE plans"));
    QCOMPARE((*plans)[0].table_id, std::int64_t{1});
    QVERIFY(*(*project)->plan(1) == plan);
    QVERIFY(**(*project)->blob(1, "triattention") == bytes);
    QVERIFY((**(*project)->blob(1, "empty")).empty());
    QVERIFY(!(*(*project)->blob(1, "none")).has_value());
  }

  void create_never_overwrites() {
    QTemporaryDir folder;
    const fs::path path = in(folder, "a.lamina");
    samples::write_bytes(path, "precious");
    Status status = Project::create(path).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QCOMPARE(samples::read_bytes(path), std::string("precious"));
    QCOMPARE(Project::open_or_create(path).status().kind(), ErrorKind::kBadInput);
    QCOMPARE(samples::read_bytes(path), std::string("precious"));
  }

  void open_or_create_does_both() {
    QTemporaryDir folder;
    const fs::path path = in(folder, "a.lamina");
    QVERIFY((*Project::open_or_create(path))->put_checkpoint(samples::model(), "a", "{}"));
    QCOMPARE((*Project::open_or_create(path))->checkpoints()->size(), std::size_t{1});
    // What a creation leaves that was killed at its very start.
    samples::write_bytes(in(folder, "b.lamina"), "");
    QCOMPARE(Project::open(in(folder, "b.lamina")).status().kind(), ErrorKind::kBadInput);
    QVERIFY(Project::open_or_create(in(folder, "b.lamina")));
    QVERIFY(Project::open(in(folder, "b.lamina")));
  }

  // Permission bits do not bind root, so the unwritable places are ones that nobody can write to.
  void unusable_places() {
    QTemporaryDir folder;
    samples::write_bytes(in(folder, "file"), "x");
    for (const fs::path& path : {in(folder, "file") / "a.lamina", in(folder, "none") / "a.lamina",
                                 fs::path("/proc/a.lamina")}) {
      Status status = Project::create(path).status();
      QCOMPARE(status.kind(), ErrorKind::kRuntime);
      QVERIFY(status.message().find(path.string()) != std::string::npos);
    }
    QCOMPARE(Project::open(in(folder, "none")).status().kind(), ErrorKind::kBadInput);
    QCOMPARE(Project::open(fs::path(folder.path().toStdString())).status().kind(),
             ErrorKind::kBadInput);
    QCOMPARE(Project::open("/dev/zero").status().kind(), ErrorKind::kBadInput);
    QCOMPARE(Project::open("/proc/self/status").status().kind(), ErrorKind::kBadInput);
  }

  // Names that SQLite would take for a URI or for a database in memory are plain files.
  void odd_file_names() {
    QTemporaryDir folder;
    const fs::path old = fs::current_path();
    fs::current_path(folder.path().toStdString());
    for (const char* name :
         {":memory:", "file:a?mode=memory", "a b%20'\".lamina", "\xc3\xa9.lamina"}) {
      QVERIFY2(Project::create(name), name);
      QVERIFY2(fs::file_size(name) > 0, name);
      QVERIFY2(Project::open(name), name);
    }
    fs::current_path(old);
  }

  // Two connections write at once, one opens while the other commits: no row is lost.
  void two_writers() {
    QTemporaryDir folder;
    const fs::path path = in(folder, "a.lamina");
    const SensitivityTable table = full_table(20, 9);
    std::int64_t id = 0;
    {
      auto project = Project::create(path);
      auto owner = (*project)->put_checkpoint(samples::model(), "a", "{}");
      id = *(*project)->begin_table(*owner, table);
    }
    Status failures[2];
    auto write = [&](int first, Status& failure) {
      for (int layer = first; layer < 20; layer += 2) {
        auto project = Project::open(path);
        Status status =
            project ? (*project)->put_layer(id, layer, table.values[layer]) : project.status();
        if (!status.is_ok()) failure = status;
      }
    };
    std::thread even([&] { write(0, failures[0]); });
    std::thread odd([&] { write(1, failures[1]); });
    even.join();
    odd.join();
    QVERIFY2(failures[0].is_ok(), failures[0].message().c_str());
    QVERIFY2(failures[1].is_ok(), failures[1].message().c_str());
    QVERIFY(*(*Project::open(path))->table(id) == table);
  }
};

QTEST_GUILESS_MAIN(TestProject)
#include "tst_project.moc"
