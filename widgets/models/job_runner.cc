// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/job_runner.h"

#include <QMetaObject>

namespace lamina::studio {

void JobHandle::post(std::function<void()> report) const { runner_->post(id_, std::move(report)); }

JobRunner::JobRunner(QObject* parent)
    : QObject(parent), worker_([this](std::stop_token quit) { work(std::move(quit)); }) {}

JobRunner::~JobRunner() {
  stopAndWait();
  worker_.request_stop();
  worker_.join();
}

JobId JobRunner::enqueue(const QString& title,
                         std::function<std::function<void()>(const JobHandle&)> run) {
  stop_.request_stop();
  stop_ = std::stop_source();
  current_ = ++last_id_;
  title_ = title;
  {
    const std::lock_guard lock(mutex_);
    next_ = Task{current_, stop_, std::move(run)};
    latest_progress_.reset();
  }
  wake_.notify_one();
  const JobId id = current_;
  emit started(title_);
  return id;
}

void JobRunner::cancel() {
  if (!isRunning() || stop_.stop_requested()) return;
  stop_.request_stop();
  emit stopping();
}

void JobRunner::stopAndWait() {
  stop_.request_stop();
  const bool was_running = isRunning();
  current_ = 0;
  {
    std::unique_lock lock(mutex_);
    next_.reset();
    idle_.wait(lock, [this] { return !busy_; });
  }
  if (was_running) emit finished();
}

void JobRunner::work(std::stop_token quit) {
  while (true) {
    std::optional<Task> task;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, quit, [this] { return next_.has_value(); })) return;
      task = std::exchange(next_, std::nullopt);
      busy_ = true;
    }
    execute(std::move(*task));
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
    }
    idle_.notify_all();
  }
}

void JobRunner::execute(Task task) {
  JobHandle handle(this, task.id);
  handle.context_.stop = task.stop.get_token();
  handle.context_.on_progress = [this, id = task.id](const Progress& progress) {
    postProgress(id, progress);
  };
  std::function<void()> report = task.run(handle);
  QMetaObject::invokeMethod(
      this, [this, id = task.id, report = std::move(report)] { finish(id, report); },
      Qt::QueuedConnection);
}

void JobRunner::post(JobId id, std::function<void()> report) {
  QMetaObject::invokeMethod(
      this,
      [this, id, report = std::move(report)] {
        if (id == current_) report();
      },
      Qt::QueuedConnection);
}

// Only the newest progress waits for the GUI thread, so that a fast job cannot flood its event
// queue.
void JobRunner::postProgress(JobId id, const Progress& progress) {
  {
    const std::lock_guard lock(mutex_);
    const bool pending = latest_progress_ && latest_progress_->first == id;
    latest_progress_ = {id, progress};
    if (pending) return;
  }
  post(id, [this, id] {
    std::optional<std::pair<JobId, Progress>> latest;
    {
      const std::lock_guard lock(mutex_);
      latest = std::exchange(latest_progress_, std::nullopt);
    }
    if (latest && latest->first == id) emit progressed(latest->second);
  });
}

void JobRunner::finish(JobId id, const std::function<void()>& report) {
  if (id != current_) return;
  current_ = 0;
  report();
  // `report` may have started the next job, which then announces its own end.
  if (current_ == 0) emit finished();
}

}  // namespace lamina::studio
