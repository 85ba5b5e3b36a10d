// SPDX-License-Identifier: Apache-2.0
// A project survives kill -9 at any moment with every committed row. A writer is killed at random
// times, from its very start (while it makes the file) on; what it reported must be there.
#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <filesystem>
#include <random>

#include "engine/project/project.h"

using namespace lamina;
namespace fs = std::filesystem;

class TestProjectCrash : public QObject {
  Q_OBJECT

  // Starts the writer, waits for so many lines and then `us` microseconds, kills it, and returns
  // all lines it had printed.
  static QList<QByteArray> kill_after(const fs::path& path, int lines, int us) {
    QProcess writer;
    writer.start(LAMINA_PROJECT_WRITER, {QString::fromStdString(path.string())});
    if (!writer.waitForStarted()) return {"not started"};
    QByteArray output;
    while (output.count('\n') < lines && writer.waitForReadyRead()) {
      output += writer.readAllStandardOutput();
    }
    QThread::usleep(static_cast<unsigned long>(us));
    writer.kill();
    writer.waitForFinished();
    if (writer.exitStatus() != QProcess::CrashExit) {
      return {"the writer ended by itself: " + writer.readAllStandardError()};
    }
    output += writer.readAllStandardOutput();
    QList<QByteArray> whole = output.split('\n');
    whole.removeLast();  // after the last newline
    return whole;
  }

  // Every (table, layer) that was printed is in the project, and every layer that is there is
  // whole.
  static void check(const fs::path& path, const QList<QByteArray>& printed, int& rows) {
    auto project = Project::open_or_create(path);
    QVERIFY2(project, project.status().message().c_str());
    auto tables = (*project)->tables();
    QVERIFY2(tables, tables.status().message().c_str());
    for (const TableRecord& record : *tables) {
      auto stored = (*project)->partial_rows(record.id);
      QVERIFY2(stored, stored.status().message().c_str());
      for (std::size_t layer = 0; layer < stored->size(); ++layer) {
        const std::vector<double>& values = (*stored)[layer];
        for (std::size_t c = 0; c < values.size(); ++c) {
          QCOMPARE(values[c], static_cast<double>(record.id) + static_cast<double>(layer) +
                                  static_cast<double>(c) / 64.0);
        }
      }
    }
    for (const QByteArray& line : printed) {
      const QList<QByteArray> parts = line.split(' ');
      QCOMPARE(parts.size(), 2);
      auto stored = (*project)->partial_rows(parts[0].toLongLong());
      QVERIFY2(stored, stored.status().message().c_str());
      QCOMPARE((*stored)[static_cast<std::size_t>(parts[1].toInt())].size(), std::size_t{54});
      ++rows;
    }
  }

 private slots:
  void killed_again_and_again() {
    QTemporaryDir folder;
    const fs::path path = fs::path(folder.path().toStdString()) / "crash.lamina";
    std::mt19937 random(20260101);
    int rows = 0;
    for (int round = 0; round < 50; ++round) {
      const int lines = std::uniform_int_distribution<int>(0, 10)(random);
      const int us = std::uniform_int_distribution<int>(0, 15'000)(random);
      const QList<QByteArray> printed = kill_after(path, lines, us);
      check(path, printed, rows);
      if (QTest::currentTestFailed()) return;
    }
    qInfo("%d committed rows checked", rows);
    QVERIFY(rows >= 150);
  }

  // The moments around the making of the file, on a new file each time: from the writer's start to
  // the time at which, on this machine, its first row is committed.
  void killed_while_creating() {
    QTemporaryDir folder;
    const auto file = [&](int round) {
      return fs::path(folder.path().toStdString()) / ("new" + std::to_string(round) + ".lamina");
    };
    int rows = 0;
    QElapsedTimer first_row;
    first_row.start();
    const QList<QByteArray> one = kill_after(file(0), 1, 0);
    const auto whole_us = static_cast<int>(first_row.nsecsElapsed() / 1000);
    check(file(0), one, rows);
    QVERIFY(rows >= 1);
    constexpr int kRounds = 40;
    int without_table = 0;
    for (int round = 1; round <= kRounds; ++round) {
      const QList<QByteArray> printed = kill_after(file(round), 0, whole_us * round / kRounds);
      check(file(round), printed, rows);
      if (QTest::currentTestFailed()) return;
      // What was killed before its first table was committed is a project to begin with.
      auto project = Project::open_or_create(file(round));
      QVERIFY2(project, project.status().message().c_str());
      if (!(*project)->tables()->empty()) continue;
      ++without_table;
      QVERIFY(printed.isEmpty());
      QVERIFY((*project)->put_checkpoint({"m", "llama", std::string(64, 'a')}, "m.gguf", "{}"));
    }
    qInfo("%d of %d were killed before their first table", without_table, kRounds);
    QVERIFY(without_table >= 1);
  }
};

QTEST_GUILESS_MAIN(TestProjectCrash)
#include "tst_project_crash.moc"
