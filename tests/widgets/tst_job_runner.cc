// SPDX-License-Identifier: GPL-3.0-or-later
#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "widgets/models/job_runner.h"

namespace lamina::studio {
namespace {

// Sleeps until the job is asked to stop.
Result<int> untilStopped(const JobHandle& job) {
  while (!job.context().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return Status::cancelled();
}

}  // namespace

class TestJobRunner : public QObject {
  Q_OBJECT
 private slots:
  void resultArrivesOnTheOwnersThread();
  void progressAndPostsArriveInOrder();
  void staleResultIsDropped();
  void replacedBeforeItBeganNeverRuns();
  void cancelReachesTheJob();
  void exceptionBecomesAnError();
  void stopAndWaitLeavesNothingBehind();
  void destroyedWhileRunning();
  void doneMayStartTheNextJob();
};

void TestJobRunner::resultArrivesOnTheOwnersThread() {
  JobRunner jobs;
  QSignalSpy finished(&jobs, &JobRunner::finished);
  std::thread::id ran_on, done_on;
  int value = 0;
  jobs.start<int>(
      QStringLiteral("count"),
      [&](const JobHandle&) -> Result<int> {
        ran_on = std::this_thread::get_id();
        return 7;
      },
      [&](Result<int> result) {
        done_on = std::this_thread::get_id();
        value = result.value();
      });
  QVERIFY(jobs.isRunning());
  QCOMPARE(jobs.title(), QStringLiteral("count"));
  QTRY_COMPARE(finished.count(), 1);
  QCOMPARE(value, 7);
  QVERIFY(ran_on != std::this_thread::get_id());
  QVERIFY(done_on == std::this_thread::get_id());
  QVERIFY(!jobs.isRunning());
}

void TestJobRunner::progressAndPostsArriveInOrder() {
  JobRunner jobs;
  QSignalSpy finished(&jobs, &JobRunner::finished);
  std::vector<int> rows;
  std::int64_t last_done = -1;
  connect(&jobs, &JobRunner::progressed, this, [&](const Progress& p) { last_done = p.done; });
  bool rows_before_done = false;
  jobs.start<int>(
      QStringLiteral("rows"),
      [&](const JobHandle& job) -> Result<int> {
        for (int i = 0; i < 50; ++i) {
          job.post([&rows, i] { rows.push_back(i); });
          Progress progress;
          progress.done = i + 1;
          progress.total = 50;
          job.context().on_progress(progress);
        }
        return 0;
      },
      [&](const Result<int>&) { rows_before_done = rows.size() == 50; });
  QTRY_COMPARE(finished.count(), 1);
  QVERIFY(rows_before_done);
  for (int i = 0; i < 50; ++i) QCOMPARE(rows[static_cast<std::size_t>(i)], i);
  QCOMPARE(last_done, 50);  // coalesced, but never without the newest
}

// Start A, start B, A finishes after that with a perfectly good result: only B is heard of.
void TestJobRunner::staleResultIsDropped() {
  JobRunner jobs;
  std::binary_semaphore a_runs(0), a_may_end(0);
  std::vector<QString> heard;
  jobs.start<int>(
      QStringLiteral("A"),
      [&](const JobHandle& job) -> Result<int> {
        a_runs.release();
        a_may_end.acquire();  // deaf to cancellation
        job.post([&] { heard.push_back(QStringLiteral("A row")); });
        Progress progress;
        progress.stage = "A";
        job.context().on_progress(progress);
        return 1;
      },
      [&](const Result<int>&) { heard.push_back(QStringLiteral("A done")); });
  a_runs.acquire();
  connect(&jobs, &JobRunner::progressed, this,
          [&](const Progress&) { heard.push_back(QStringLiteral("A progress")); });
  QSignalSpy finished(&jobs, &JobRunner::finished);
  jobs.start<int>(
      QStringLiteral("B"), [](const JobHandle&) -> Result<int> { return 2; },
      [&](const Result<int>& result) {
        heard.push_back(QStringLiteral("B %1").arg(result.value()));
      });
  QTest::qWait(20);
  QCOMPARE(finished.count(), 0);
  a_may_end.release();
  QTRY_COMPARE(finished.count(), 1);
  QTest::qWait(20);
  QCOMPARE(heard, (std::vector<QString>{QStringLiteral("B 2")}));
}

void TestJobRunner::replacedBeforeItBeganNeverRuns() {
  JobRunner jobs;
  std::binary_semaphore a_runs(0), a_may_end(0);
  std::atomic<bool> b_ran = false;
  bool b_done = false;
  jobs.start<int>(
      QStringLiteral("A"),
      [&](const JobHandle&) -> Result<int> {
        a_runs.release();
        a_may_end.acquire();
        return 1;
      },
      [](const Result<int>&) {});
  a_runs.acquire();
  jobs.start<int>(
      QStringLiteral("B"),
      [&](const JobHandle&) -> Result<int> {
        b_ran = true;
        return 2;
      },
      [&](const Result<int>&) { b_done = true; });
  int c = 0;
  jobs.start<int>(
      QStringLiteral("C"), [](const JobHandle&) -> Result<int> { return 3; },
      [&](const Result<int>& result) { c = result.value(); });
  a_may_end.release();
  QTRY_COMPARE(c, 3);
  QVERIFY(!b_ran);
  QVERIFY(!b_done);
}

void TestJobRunner::cancelReachesTheJob() {
  JobRunner jobs;
  QSignalSpy stopping(&jobs, &JobRunner::stopping);
  ErrorKind kind = ErrorKind::kNone;
  jobs.start<int>(QStringLiteral("long"), untilStopped,
                  [&](const Result<int>& result) { kind = result.status().kind(); });
  jobs.cancel();
  jobs.cancel();
  QCOMPARE(stopping.count(), 1);
  QVERIFY(jobs.isStopping());
  QTRY_COMPARE(kind, ErrorKind::kCancelled);
  QVERIFY(!jobs.isRunning());
}

void TestJobRunner::exceptionBecomesAnError() {
  JobRunner jobs;
  Status status;
  jobs.start<int>(
      QStringLiteral("throws"),
      [](const JobHandle&) -> Result<int> { throw std::runtime_error("the disk is on fire"); },
      [&](const Result<int>& result) { status = result.status(); });
  QTRY_COMPARE(status.kind(), ErrorKind::kRuntime);
  QCOMPARE(status.message(), std::string("the disk is on fire"));
}

void TestJobRunner::stopAndWaitLeavesNothingBehind() {
  JobRunner jobs;
  QSignalSpy finished(&jobs, &JobRunner::finished);
  std::atomic<bool> over = false;
  bool done = false;
  std::binary_semaphore runs(0);
  jobs.start<int>(
      QStringLiteral("long"),
      [&](const JobHandle& job) {
        runs.release();
        Result<int> result = untilStopped(job);
        over = true;
        return result;
      },
      [&](const Result<int>&) { done = true; });
  runs.acquire();
  jobs.stopAndWait();
  QVERIFY(over);
  QVERIFY(!jobs.isRunning());
  QCOMPARE(finished.count(), 1);
  QTest::qWait(20);
  QVERIFY(!done);
}

void TestJobRunner::destroyedWhileRunning() {
  std::atomic<bool> over = false;
  bool done = false;
  {
    JobRunner jobs;
    std::binary_semaphore runs(0);
    jobs.start<int>(
        QStringLiteral("long"),
        [&](const JobHandle& job) {
          runs.release();
          Result<int> result = untilStopped(job);
          over = true;
          return result;
        },
        [&](const Result<int>&) { done = true; });
    runs.acquire();
  }
  QVERIFY(over);
  QTest::qWait(10);
  QVERIFY(!done);
}

void TestJobRunner::doneMayStartTheNextJob() {
  JobRunner jobs;
  QSignalSpy finished(&jobs, &JobRunner::finished);
  int last = 0;
  jobs.start<int>(
      QStringLiteral("first"), [](const JobHandle&) -> Result<int> { return 1; },
      [&](const Result<int>&) {
        jobs.start<int>(
            QStringLiteral("second"), [](const JobHandle&) -> Result<int> { return 2; },
            [&](const Result<int>& result) { last = result.value(); });
      });
  QTRY_COMPARE(last, 2);
  QTRY_COMPARE(finished.count(), 1);
}

}  // namespace lamina::studio

QTEST_GUILESS_MAIN(lamina::studio::TestJobRunner)
#include "tst_job_runner.moc"
