// SPDX-License-Identifier: Apache-2.0
// Progress and cancellation of anything that takes longer than a second. A job gets a JobContext by
// const reference, calls report() as it goes and returns Status::cancelled() soon (0.2 s) after
// stop_requested(). The callback runs on the job's own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace lamina {

struct Progress {
  std::string stage;        // what is being done, e.g. "calibrating"
  std::int64_t done = 0;    // of `total`, in `unit`
  std::int64_t total = 0;   // 0: unknown
  std::string unit;         // plural, e.g. "layers"
  double elapsed_s = 0;     // since the stage began
  double rate = 0;          // units per second; 0 until known
  double remaining_s = -1;  // seconds; negative until known
};

// "calibrating 12/30 layers, 8.3 layers/s, 2.2 s left"
std::string to_string(const Progress& progress);

struct JobContext {
  std::stop_token stop;
  std::function<void(const Progress&)> on_progress;
  int threads = 0;  // 0: all cores

  bool stop_requested() const { return stop.stop_requested(); }
};

// Fills elapsed time, rate and remaining time of one stage and reports them through the context.
class StageProgress {
 public:
  StageProgress(const JobContext& context, std::string stage, std::int64_t total, std::string unit);
  void report(std::int64_t done);

 private:
  const JobContext& context_;
  Progress progress_;
  double start_s_;
};

}  // namespace lamina
