// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/frontier.h"

#include <algorithm>
#include <cmath>

namespace lamina {
namespace {

bool one_recipe(Family family) {
  return family == Family::k1d || family == Family::kUniform || family == Family::kEdges;
}

// Log-spaced, both ends included.
std::vector<std::int64_t> spaced(std::int64_t low, std::int64_t high, int points) {
  std::vector<std::int64_t> out;
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (int i = 0; i < points; ++i) {
    const double share = points > 1 ? static_cast<double>(i) / (points - 1) : 0;
    const double bytes = static_cast<double>(low) * std::pow(ratio, share);
    out.push_back(std::clamp(static_cast<std::int64_t>(bytes), low, high));
  }
  out.back() = high;
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Where another plan of a family with one recipe begins to fit.
std::vector<std::int64_t> member_bytes(const Problem& problem, const Method& method) {
  std::vector<std::int64_t> out;
  for (const std::vector<int>& configs : problem.members(method)) {
    const double bytes = std::ceil(problem.costs().to_bytes(problem.used_units(configs)));
    out.push_back(static_cast<std::int64_t>(bytes));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::int64_t> budgets(const Problem& problem, const Method& method, int points) {
  if (method.search == Search::kLp) return problem.corner_bytes();
  if (one_recipe(method.family)) return member_bytes(problem, method);
  const std::int64_t low = std::max<std::int64_t>(problem.smallest_bytes(), 1);
  const std::int64_t high = std::max(problem.full_bytes(), problem.corner_bytes().back());
  return spaced(low, std::max(low, high), std::max(points, 2));
}

}  // namespace

Result<std::vector<FrontierPoint>> method_frontier(const Problem& problem, const Method& method,
                                                   const FrontierOptions& options,
                                                   std::stop_token stop) {
  std::vector<FrontierPoint> points;
  const bool greedy = method.search == Search::kGreedy || method.search == Search::kGreedyAny;
  for (std::int64_t budget : budgets(problem, method, options.points)) {
    if (stop.stop_requested()) return Status::cancelled();
    Result<Solution> solution = problem.solve(method, budget, stop);
    if (!solution) {
      if (solution.status().kind() != ErrorKind::kRefused) return solution.status();
      continue;
    }
    if (!points.empty()) {
      const Solution& last = points.back().solution;
      if (solution->layers == last.layers) continue;
      if (!greedy && solution->predicted >= last.predicted) continue;
    }
    points.push_back({budget, std::move(*solution)});
  }
  return points;
}

}  // namespace lamina
