// SPDX-License-Identifier: Apache-2.0
// Older files are migrated in one transaction, newer and foreign ones are refused untouched.
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "engine/project/database.h"
#include "engine/project/project.h"
#include "tests/engine/support/samples.h"

using namespace lamina;
namespace fs = std::filesystem;

namespace {

constexpr database::Migration kTwo[] = {
    {1, "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;"},
    {2,
     "ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'unknown';"
     "UPDATE notes SET text = upper(text);"}};
constexpr database::Migration kBroken[] = {
    kTwo[0], kTwo[1], {3, "DELETE FROM notes; CREATE TABLE notes (id INTEGER);"}};

std::string one(SQLite::Database& db, const char* sql) { return db.execAndGet(sql).getString(); }

}  // namespace

class TestProjectMigrate : public QObject {
  Q_OBJECT

  QTemporaryDir temporary_;
  fs::path path_;
  database::LockWait wait_;

  // A version 1 file of the made-up history above with a row in it.
  void make_old() {
    auto db = database::create_new(path_, std::span(kTwo, 1), wait_);
    QVERIFY2(db, db.status().message().c_str());
    db->exec("INSERT INTO notes VALUES (1, 'kept')");
  }

  void set_pragma(const std::string& pragma) {
    SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE);
    db.exec("PRAGMA " + pragma);
  }

 private slots:
  void init() {
    path_ = fs::path(temporary_.path().toStdString()) /
            (std::string(QTest::currentTestFunction()) + ".lamina");
  }

  void a_new_file_is_version_1() {
    QVERIFY(Project::create(path_));
    SQLite::Database db(path_.string(), SQLite::OPEN_READONLY);
    QCOMPARE(one(db, "PRAGMA user_version"), std::string("1"));
    QCOMPARE(one(db, "PRAGMA application_id"), std::to_string(0x4c414d49));
    QCOMPARE(one(db, "PRAGMA journal_mode"), std::string("delete"));
    QCOMPARE(one(db,
                 "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema "
                 "WHERE type = 'table' ORDER BY name)"),
             std::string("blobs,checkpoints,evaluations,plans,table_rows,tables"));
    QCOMPARE(samples::read_bytes(path_).substr(68, 4), std::string("LAMI"));
  }

  void connections_are_durable_and_hardened() {
    QVERIFY(Project::create(path_));
    auto db = database::open_checked(path_, database::project_migrations(), wait_);
    QVERIFY(db);
    QCOMPARE(one(*db, "PRAGMA synchronous"), std::string("2"));
    QCOMPARE(one(*db, "PRAGMA journal_mode"), std::string("delete"));
    QCOMPARE(one(*db, "PRAGMA foreign_keys"), std::string("1"));
    QCOMPARE(one(*db, "PRAGMA trusted_schema"), std::string("0"));
    QCOMPARE(one(*db, "PRAGMA cell_size_check"), std::string("1"));
    QCOMPARE(one(*db, "PRAGMA mmap_size"), std::string("0"));
  }

  void older_files_are_migrated_with_their_rows() {
    make_old();
    auto db = database::open_checked(path_, kTwo, wait_);
    QVERIFY2(db, db.status().message().c_str());
    QCOMPARE(one(*db, "PRAGMA user_version"), std::string("2"));
    QCOMPARE(one(*db, "SELECT text || ' by ' || author FROM notes"),
             std::string("KEPT by unknown"));
  }

  // From a file without tables, as the application id alone marks it, all migrations run.
  void from_version_0() {
    {
      SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      db.exec("PRAGMA application_id = 1279348041");
    }
    auto project = Project::open(path_);
    QVERIFY2(project, project.status().message().c_str());
    QVERIFY((*project)->put_checkpoint(samples::model(), "a", "{}"));
    auto again = Project::open(path_);
    QCOMPARE((*again)->checkpoints()->size(), std::size_t{1});
  }

  void a_failed_migration_changes_nothing() {
    make_old();
    const std::string before = samples::read_bytes(path_);
    auto db = database::open_checked(path_, kBroken, wait_);
    QVERIFY(!db);
    QCOMPARE(samples::read_bytes(path_), before);
    QVERIFY(!fs::exists(path_.string() + "-journal"));
    QVERIFY(database::open_checked(path_, kTwo, wait_));
  }

  void newer_files_are_refused_untouched() {
    QVERIFY(Project::create(path_));
    set_pragma("user_version = 2");
    const std::string before = samples::read_bytes(path_);
    Status status = Project::open(path_).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("made by a newer version of Lamina") != std::string::npos);
    QVERIFY(status.message().find("it has format 2") != std::string::npos);
    QCOMPARE(Project::open_or_create(path_).status().kind(), ErrorKind::kBadInput);
    QCOMPARE(samples::read_bytes(path_), before);
    set_pragma("user_version = -1");
    QCOMPARE(Project::open(path_).status().kind(), ErrorKind::kBadInput);
  }

  void other_databases_are_refused_untouched() {
    QVERIFY(Project::create(path_));
    for (const char* id : {"0", "1", "-1", "1279348040"}) {
      set_pragma(std::string("application_id = ") + id);
      const std::string before = samples::read_bytes(path_);
      Status status = Project::open(path_).status();
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY(status.message().find("not a Lamina project") != std::string::npos);
      QCOMPARE(samples::read_bytes(path_), before);
    }
    samples::write_bytes(path_, "SQLite format 3, not really" + std::string(5000, 'x'));
    Status status = Project::open(path_).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("not a Lamina project") != std::string::npos);
  }

  // A file in WAL mode (another tool may have switched it) is brought back to the rollback journal.
  void wal_mode_is_left() {
    QVERIFY(Project::create(path_));
    set_pragma("journal_mode = WAL");
    QVERIFY(Project::open(path_));
    SQLite::Database db(path_.string(), SQLite::OPEN_READONLY);
    QCOMPARE(one(db, "PRAGMA journal_mode"), std::string("delete"));
  }

  // Triggers and views of a hostile file do not run.
  void hostile_schemas_do_nothing() {
    {
      auto project = Project::create(path_);
      QVERIFY((*project)->put_checkpoint(samples::model(), "a", "{}"));
    }
    {
      SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE);
      db.exec("CREATE TRIGGER t AFTER UPDATE ON checkpoints BEGIN DELETE FROM checkpoints; END");
      // It would do harm: a connection without the project's settings loses the row.
      db.exec("BEGIN; UPDATE checkpoints SET path = 'b'");
      QCOMPARE(one(db, "SELECT count(*) FROM checkpoints"), std::string("0"));
      db.exec("ROLLBACK");
    }
    {
      auto project = Project::open(path_);
      QVERIFY((*project)->put_checkpoint(samples::model(), "b", "{}"));
      QCOMPARE((*project)->checkpoints()->size(), std::size_t{1});
      QCOMPARE((*project)->checkpoints()->front().path, std::string("b"));
    }
    {
      SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE);
      db.exec(
          "DROP TABLE plans; CREATE VIEW plans AS SELECT 1 AS id, 1 AS table_id, 'x' AS name, "
          "'x' AS created, 'x' AS document, 'x' AS digest");
    }
    auto project = Project::open(path_);
    QVERIFY2(project, project.status().message().c_str());
    const Status plans = (*project)->plans().status();
    QCOMPARE(plans.kind(), ErrorKind::kBadInput);
    QVERIFY2(plans.message().find("the project is damaged") != std::string::npos,
             plans.message().c_str());
  }

  // Another program holds the file: the call waits, then says so; nothing is lost.
  void a_locked_file_is_a_runtime_error() {
    auto project = Project::create(path_);
    QVERIFY((*project)->put_checkpoint(samples::model(), "a", "{}"));
    auto db = database::open_checked(path_, database::project_migrations(), wait_);
    QVERIFY(db);
    db->setBusyTimeout(50);
    SQLite::Database other(path_.string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN EXCLUSIVE");
    Status status = database::guarded("f", [&]() -> Status {
      db->exec("DELETE FROM checkpoints");
      return Status::ok();
    });
    QCOMPARE(status.kind(), ErrorKind::kRuntime);
    QVERIFY(status.message().find("in use by another program") != std::string::npos);
    other.exec("ROLLBACK");
    QCOMPARE((*project)->checkpoints()->size(), std::size_t{1});
  }

  // A disk that is full: the file may not grow, the row is refused, what was there stays.
  void a_full_disk_is_a_runtime_error() {
    QVERIFY(Project::create(path_));
    auto db = database::open_checked(path_, database::project_migrations(), wait_);
    QVERIFY(db);
    db->exec("PRAGMA max_page_count = 16");
    Status status = database::guarded("f", [&]() -> Status {
      db->exec(
          "INSERT INTO checkpoints VALUES (1, 'n', 'a', 'f', 'p', hex(zeroblob(100000)), 'd')");
      return Status::ok();
    });
    QCOMPARE(status.kind(), ErrorKind::kRuntime);
    QVERIFY(status.message().find("the disk is full") != std::string::npos);
    QCOMPARE(one(*db, "SELECT count(*) FROM checkpoints"), std::string("0"));
  }
};

QTEST_GUILESS_MAIN(TestProjectMigrate)
#include "tst_project_migrate.moc"
