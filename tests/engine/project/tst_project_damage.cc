// SPDX-License-Identifier: Apache-2.0
// A damaged project gives an error or its true content, never a crash and never a wrong number.
#include <SQLiteCpp/SQLiteCpp.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <random>

#include "engine/project/project.h"
#include "tests/engine/support/samples.h"

using namespace lamina;
namespace fs = std::filesystem;

namespace {

// What a reader can learn from a project.
struct Content {
  std::vector<SensitivityTable> tables;
  std::vector<std::vector<std::vector<double>>> partial;
  std::vector<Plan> plans;
  std::vector<std::string> names;
  std::optional<std::string> blob;
};

struct Outcome {
  int errors = 0;
  int intact = 0;
  int incomplete = 0;  // of the intact: rows are missing
};

Plan sample_plan() {
  Plan plan;
  plan.model = samples::model();
  plan.geometry = samples::geometry(2, 2048, 3, 64);
  plan.layers = {{0.25, 4, 8}, {1.0, 16, 16}};
  return plan;
}

void fill(const fs::path& path) {
  auto project = *Project::create(path);
  auto owner = *project->put_checkpoint(samples::model(), "/models/a.gguf", "{\"layers\": 5}");
  SensitivityTable table = samples::table(5, 1);
  table.model = samples::model();
  table.provenance = samples::provenance();
  const std::int64_t id = *project->put_table(owner, table);
  const std::int64_t started = *project->begin_table(owner, table);
  QVERIFY(project->put_layer(started, 3, table.values[3]).is_ok());
  QVERIFY(project->put_plan(id, "first", sample_plan()));
  QVERIFY(project->put_plan(id, "second", sample_plan()));
  QVERIFY(project->put_blob(owner, "triattention", std::string(3000, 's')).is_ok());
}

Result<Content> read_all(const fs::path& path) {
  LAMINA_ASSIGN_OR_RETURN(auto project, Project::open(path));
  Content out;
  LAMINA_ASSIGN_OR_RETURN(auto checkpoints, project->checkpoints());
  for (const CheckpointRecord& record : checkpoints) {
    out.names.push_back(record.model.name + record.model.architecture + record.model.fingerprint +
                        record.path + record.info_json);
  }
  LAMINA_ASSIGN_OR_RETURN(auto tables, project->tables());
  for (const TableRecord& record : tables) {
    out.names.push_back(record.scorer + record.probe + std::to_string(record.layers_done));
    LAMINA_ASSIGN_OR_RETURN(auto rows, project->partial_rows(record.id));
    out.partial.push_back(std::move(rows));
    if (record.layers_done != record.layers) continue;
    LAMINA_ASSIGN_OR_RETURN(SensitivityTable table, project->table(record.id));
    out.tables.push_back(std::move(table));
  }
  LAMINA_ASSIGN_OR_RETURN(auto plans, project->plans());
  for (const PlanRecord& record : plans) {
    out.names.push_back(record.name + std::to_string(record.table_id));
    LAMINA_ASSIGN_OR_RETURN(Plan plan, project->plan(record.id));
    out.plans.push_back(std::move(plan));
  }
  LAMINA_ASSIGN_OR_RETURN(out.blob, project->blob(1, "triattention"));
  return out;
}

// Every number and text that is still there is a true one. Rows may be missing: a lost page that
// SQLite cannot know of takes rows along, and a reader sees that they are missing.
bool is_true(const Content& seen, const Content& truth) {
  auto part_of = [](const auto& some, const auto& all) {
    for (const auto& item : some) {
      if (std::find(all.begin(), all.end(), item) == all.end()) return false;
    }
    return true;
  };
  for (const auto& rows : seen.partial) {
    if (rows.size() != 5) return false;
    for (std::size_t l = 0; l < rows.size(); ++l) {
      if (!rows[l].empty() && rows[l] != truth.partial[0][l]) return false;
    }
  }
  return part_of(seen.tables, truth.tables) && part_of(seen.plans, truth.plans) &&
         part_of(seen.names, truth.names) && (!seen.blob || *seen.blob == *truth.blob);
}

}  // namespace

class TestProjectDamage : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  fs::path path_;
  std::string golden_;
  Content truth_;

  void read_damaged(const std::string& bytes, Outcome& outcome, const std::string& what) {
    samples::write_bytes(path_, bytes);
    fs::remove(path_.string() + "-journal");
    auto content = read_all(path_);
    if (!content) {
      ++outcome.errors;
      QVERIFY2(content.status().kind() == ErrorKind::kBadInput ||
                   content.status().kind() == ErrorKind::kRuntime,
               what.c_str());
      QVERIFY2(content.status().message().find(path_.string()) != std::string::npos, what.c_str());
    } else {
      ++outcome.intact;
      if (content->names != truth_.names || content->partial != truth_.partial || !content->blob) {
        ++outcome.incomplete;
        qInfo("incomplete: %s", what.c_str());
      }
      QVERIFY2(is_true(*content, truth_), what.c_str());
    }
  }

 private slots:
  void initTestCase() {
    path_ = fs::path(folder_.path().toStdString()) / "golden.lamina";
    fill(path_);
    golden_ = samples::read_bytes(path_);
    auto truth = read_all(path_);
    QVERIFY2(truth, truth.status().message().c_str());
    truth_ = *truth;
    QCOMPARE(truth_.tables.size(), std::size_t{1});
    QCOMPARE(truth_.partial.size(), std::size_t{2});
    QCOMPARE(truth_.plans.size(), std::size_t{2});
    path_ = fs::path(folder_.path().toStdString()) / "damaged.lamina";
  }

  void truncated_at_every_512_bytes() {
    Outcome outcome;
    for (std::size_t size = 0; size < golden_.size(); size += 512) {
      read_damaged(golden_.substr(0, size), outcome, "cut at " + std::to_string(size));
      if (QTest::currentTestFailed()) return;
      // Every page is needed; only the last one may end in room that nothing uses.
      if (size <= golden_.size() - 4096) QCOMPARE(outcome.intact, 0);
    }
    for (std::size_t size : {1, 15, 16, 99, 100, 101}) {
      const int before = outcome.errors;
      read_damaged(golden_.substr(0, size), outcome, "cut at " + std::to_string(size));
      QCOMPARE(outcome.errors, before + 1);
    }
  }

  // What a creation leaves that is killed after its first pages were written: they and the journal
  // that takes them back. The project is then begun anew, as from an empty file.
  void a_killed_creation_is_begun_anew() {
    const fs::path begun = fs::path(folder_.path().toStdString()) / "begun.lamina";
    const fs::path killed = fs::path(folder_.path().toStdString()) / "killed.lamina";
    SQLite::Database db(begun.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA cache_size = 1");
    db.exec("PRAGMA cache_spill = 1");
    db.exec("BEGIN");
    db.exec("CREATE TABLE pages (bytes BLOB)");
    for (int i = 0; i < 64; ++i) db.exec("INSERT INTO pages VALUES (randomblob(4096))");
    fs::copy_file(begun, killed);
    fs::copy_file(begun.string() + "-journal", killed.string() + "-journal");
    db.exec("ROLLBACK");
    QVERIFY(fs::file_size(killed) > 0);
    auto project = lamina::Project::open_or_create(killed);
    QVERIFY2(project.has_value(), project.status().message().c_str());
    QVERIFY((*project)->tables()->empty());
    QVERIFY((*project)->put_checkpoint({"m", "llama", std::string(64, 'a')}, "m.gguf", "{}"));
  }

  void flipped_bits() {
    Outcome outcome;
    std::mt19937 random(11);
    for (std::size_t at = random() % 13; at < golden_.size(); at += 1 + random() % 60) {
      std::string bytes = golden_;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      read_damaged(bytes, outcome, "bit of byte " + std::to_string(at));
      if (QTest::currentTestFailed()) return;
    }
    qInfo("%d errors, %d intact", outcome.errors, outcome.intact);
    QCOMPARE(outcome.incomplete, 0);
    QVERIFY(outcome.errors > 100);
  }

  // The first page, with the schema and the tree of all tables, byte by byte.
  void replaced_bytes_of_the_first_page() {
    Outcome outcome;
    std::mt19937 random(12);
    for (std::size_t at = 0; at < 4096; at += at < 110 ? 1 : 5) {
      std::string bytes = golden_;
      bytes[at] = static_cast<char>(random());
      read_damaged(bytes, outcome, "byte " + std::to_string(at));
      if (QTest::currentTestFailed()) return;
    }
    QVERIFY(outcome.errors > 100);
  }

  // Every page is in use, so losing one or having another in its place never goes unnoticed.
  void zeroed_and_swapped_pages() {
    Outcome outcome;
    const std::size_t pages = golden_.size() / 4096;
    QVERIFY(pages >= 8);
    int cases = 0;
    for (std::size_t a = 0; a < pages; ++a) {
      std::string bytes = golden_;
      bytes.replace(a * 4096, 4096, std::string(4096, '\0'));
      read_damaged(bytes, outcome, "zeroed page " + std::to_string(a));
      ++cases;
      for (std::size_t b = a + 1; b < pages; ++b, ++cases) {
        bytes = golden_;
        bytes.replace(a * 4096, 4096, golden_, b * 4096, 4096);
        read_damaged(bytes, outcome, "page " + std::to_string(b) + " over " + std::to_string(a));
      }
      if (QTest::currentTestFailed()) return;
    }
    qInfo("%d cases: %d errors, %d incomplete", cases, outcome.errors, outcome.incomplete);
    QCOMPARE(outcome.errors + outcome.intact, cases);
    QCOMPARE(outcome.intact, outcome.incomplete);
    QVERIFY(outcome.errors > cases / 2);
  }

  // A journal beside the file that is not one takes nothing away.
  void stray_journals() {
    for (const std::string& journal :
         {std::string("x"), std::string(5000, 'j'), golden_, std::string(512, '\0')}) {
      samples::write_bytes(path_, golden_);
      samples::write_bytes(path_.string() + "-journal", journal);
      auto content = read_all(path_);
      QVERIFY2(content, content.status().message().c_str());
      QVERIFY(content->names == truth_.names && content->partial == truth_.partial);
      QVERIFY(content->tables == truth_.tables && content->plans == truth_.plans);
      QVERIFY(content->blob == truth_.blob);
    }
  }
};

QTEST_GUILESS_MAIN(TestProjectDamage)
#include "tst_project_damage.moc"
