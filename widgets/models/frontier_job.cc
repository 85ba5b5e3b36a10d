// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/frontier_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

constexpr int kBoundPoints = 160;

Result<std::vector<BoundPoint>> boundCurve(const Problem& problem, std::stop_token stop) {
  std::vector<BoundPoint> bound;
  const double low = std::log(static_cast<double>(problem.smallest_bytes()));
  const double high = std::log(static_cast<double>(problem.full_bytes()));
  for (int i = 0; i < kBoundPoints; ++i) {
    if (stop.stop_requested()) return Status::cancelled();
    const double share = i / (kBoundPoints - 1.0);
    const auto budget = std::clamp(
        static_cast<std::int64_t>(std::llround(std::exp(low + (high - low) * share))),
        problem.smallest_bytes(), std::max(problem.smallest_bytes(), problem.full_bytes()));
    LAMINA_ASSIGN_OR_RETURN(const double error, problem.lower_bound(budget));
    bound.push_back({static_cast<double>(budget), error});
  }
  return bound;
}

}  // namespace

const std::vector<Method>& frontierMethods() {
  static const std::vector<Method> methods{methods::kExact,     methods::kGreedy,
                                           methods::k2dExact,   methods::kUniformFree,
                                           methods::kUniform2d, methods::kEdges2};
  return methods;
}

FrontierJob::FrontierJob(QObject* parent) : QObject(parent) {
  connect(&jobs_, &JobRunner::finished, this, &FrontierJob::changed);
}

void FrontierJob::clear() {
  jobs_.stopAndWait();
  error_.clear();
  publish(nullptr);
}

void FrontierJob::publish(std::shared_ptr<const FrontierSet> curves) {
  curves_ = std::move(curves);
  emit changed();
}

void FrontierJob::start(const Problem& problem, std::uint64_t generation) {
  using Shared = std::shared_ptr<const FrontierSet>;
  error_.clear();
  const auto work = [this, problem, generation](const JobHandle& job) -> Result<Shared> {
    FrontierSet set;
    set.generation = generation;
    set.kind = problem.costs().kind;
    set.objective = problem.options().objective;
    set.smallest_bytes = static_cast<double>(problem.smallest_bytes());
    set.full_bytes = static_cast<double>(problem.full_bytes());
    LAMINA_ASSIGN_OR_RETURN(set.bound, boundCurve(problem, job.context().stop));
    for (const Method& method : frontierMethods()) {
      LAMINA_ASSIGN_OR_RETURN(std::vector<FrontierPoint> points,
                              method_frontier(problem, method, {}, job.context().stop));
      set.curves.push_back({method, std::move(points)});
      job.post([this, known = std::make_shared<const FrontierSet>(set)] { publish(known); });
    }
    set.complete = true;
    return Shared(std::make_shared<const FrontierSet>(std::move(set)));
  };
  jobs_.start<Shared>(tr("Computing the frontiers"), work, [this](Result<Shared> result) {
    if (result) {
      publish(std::move(result).value());
    } else if (result.status().kind() != ErrorKind::kCancelled) {
      error_ = toQString(result.status().message());
    }
  });
  publish(nullptr);
}

}  // namespace lamina::studio
