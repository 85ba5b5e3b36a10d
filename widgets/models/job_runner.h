// SPDX-License-Identifier: GPL-3.0-or-later
// Background work of the studio: one job at a time on one worker thread. A job that has been
// replaced by a newer one, or stopped because the window closes, never reports anything again, even
// when it finishes later. All public functions belong to the thread that owns the runner (the GUI
// thread).
#pragma once

#include <QObject>
#include <QString>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "engine/base/progress.h"
#include "engine/base/status.h"

namespace lamina::studio {

using JobId = std::uint64_t;  // 0: no job

class JobRunner;

// What a job sees of its runner while it runs on the worker thread.
class JobHandle {
 public:
  const JobContext& context() const { return context_; }
  JobId id() const { return id_; }
  // Runs `report` on the runner's thread, unless the job is stale by then. Callable from the job
  // only.
  void post(std::function<void()> report) const;

 private:
  friend class JobRunner;
  JobHandle(JobRunner* runner, JobId id) : runner_(runner), id_(id) {}
  JobRunner* runner_;
  JobId id_;
  JobContext context_;
};

class JobRunner : public QObject {
  Q_OBJECT
 public:
  explicit JobRunner(QObject* parent = nullptr);
  // Stops the running job and waits for it.
  ~JobRunner() override;

  // Starts `work` on the worker thread and calls `done` with its result on this thread. A job that
  // is still running is asked to stop and becomes stale at once; `work` begins when it has
  // returned. Exceptions of `work` arrive as kRuntime errors.
  template <class T>
  JobId start(const QString& title, std::function<Result<T>(const JobHandle&)> work,
              std::function<void(Result<T>)> done);

  bool isRunning() const { return current_ != 0; }
  bool isStopping() const { return isRunning() && stop_.stop_requested(); }
  const QString& title() const { return title_; }

 public slots:
  // Asks the running job to stop; its `done` receives what it returns (normally "cancelled").
  void cancel();
  // Asks the job to stop, makes it stale and returns when the worker thread is idle.
  void stopAndWait();

 signals:
  void started(const QString& title);
  void progressed(const lamina::Progress& progress);
  void stopping();
  // The current job is over; comes after its `done`.
  void finished();

 private:
  friend class JobHandle;
  // A job ready for the worker: runs the work and returns what has to happen on the runner's
  // thread.
  struct Task {
    JobId id = 0;
    std::stop_source stop;
    std::function<std::function<void()>(const JobHandle&)> run;
  };

  JobId enqueue(const QString& title, std::function<std::function<void()>(const JobHandle&)> run);
  void work(std::stop_token quit);
  void execute(Task task);
  void post(JobId id, std::function<void()> report);
  void postProgress(JobId id, const Progress& progress);
  void finish(JobId id, const std::function<void()>& report);

  // Of the owner's thread.
  JobId current_ = 0;
  JobId last_id_ = 0;
  QString title_;
  std::stop_source stop_;

  // Shared with the worker, guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable_any idle_;
  std::optional<Task> next_;
  bool busy_ = false;
  std::optional<std::pair<JobId, Progress>> latest_progress_;

  std::jthread worker_;  // last: joins before the rest is destroyed
};

template <class T>
JobId JobRunner::start(const QString& title, std::function<Result<T>(const JobHandle&)> work,
                       std::function<void(Result<T>)> done) {
  return enqueue(title, [work = std::move(work), done = std::move(done)](const JobHandle& handle) {
    std::shared_ptr<Result<T>> result;
    try {
      result = std::make_shared<Result<T>>(work(handle));
    } catch (const std::bad_alloc&) {
      result = std::make_shared<Result<T>>(
          Status::runtime("out of memory", {}, "close other programs and try again"));
    } catch (const std::exception& error) {
      result = std::make_shared<Result<T>>(Status::runtime(error.what()));
    }
    return std::function<void()>([result, done] { done(std::move(*result)); });
  });
}

}  // namespace lamina::studio
