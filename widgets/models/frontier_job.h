// SPDX-License-Identifier: GPL-3.0-or-later
// The curves of error against bytes, computed in the background. What has been asked for last is
// the only thing ever reported: a set of an earlier problem is dropped, however late it comes.
// Belongs to the GUI thread.
#pragma once

#include <QObject>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/solve/frontier.h"
#include "widgets/models/job_runner.h"

namespace lamina::studio {

struct FrontierCurve {
  Method method;
  std::vector<FrontierPoint> points;  // predictions, bytes ascending; may be empty
};

struct BoundPoint {
  double bytes = 0;
  double error = 0;
};

// The curves of one problem, as far as they are known. Immutable once announced.
struct FrontierSet {
  std::uint64_t generation = 0;  // of the problem; PlanState has the same
  BytesKind kind = BytesKind::kActual;
  Objective objective = Objective::kS;
  double smallest_bytes = 0;
  double full_bytes = 0;
  std::vector<FrontierCurve> curves;  // those done, in the order of frontierMethods()
  std::vector<BoundPoint> bound;      // the LP relaxation
  bool complete = false;
};

// exact, greedy, 2d, both uniforms, edges:2.
const std::vector<Method>& frontierMethods();

class FrontierJob : public QObject {
  Q_OBJECT
 public:
  explicit FrontierJob(QObject* parent = nullptr);

  // Forgets what is shown and computes the curves of this problem.
  void start(const Problem& problem, std::uint64_t generation);
  // There is no problem any more.
  void clear();
  // Blocks until the worker is idle; nothing is reported afterwards.
  void stopAndWait() { jobs_.stopAndWait(); }

  // Null while nothing of the problem is known.
  std::shared_ptr<const FrontierSet> curves() const { return curves_; }
  bool isComputing() const { return jobs_.isRunning(); }
  // The engine's words where the last computation failed.
  const QString& error() const { return error_; }

 signals:
  // curves(), isComputing() or error() is another one.
  void changed();

 private:
  void publish(std::shared_ptr<const FrontierSet> curves);

  std::shared_ptr<const FrontierSet> curves_;
  QString error_;
  JobRunner jobs_;  // last: stopped before the rest is destroyed
};

}  // namespace lamina::studio
