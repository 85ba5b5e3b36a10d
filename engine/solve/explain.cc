// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.h"

namespace lamina {
namespace {

constexpr double kMegabyte = 1e6;
// A gain per byte this close to the price, relatively, counts as equal to it: both are quotients of
// rounded bytes.
constexpr double kPriceTolerance = 1e-6;
constexpr double kNormal95 = 1.96;
constexpr double kRounding = 1e-12;       // sums of equal cells may differ by this, relatively
constexpr double kMostAtFullKeep = 0.75;  // share of the layers

// What the budget's last bytes earn per byte: the slope of the LP frontier's segment that ends at
// the budget or spans it; 0 beyond the frontier.
Result<double> price_per_byte(const Problem& problem, std::int64_t budget) {
  const std::vector<std::int64_t> corners = problem.corner_bytes();
  if (corners.size() < 2 || budget > corners.back()) return 0.0;
  const auto right =
      std::max(std::lower_bound(corners.begin(), corners.end(), budget), corners.begin() + 1);
  const auto left = right - 1;
  LAMINA_ASSIGN_OR_RETURN(const double before, problem.lower_bound(*left));
  LAMINA_ASSIGN_OR_RETURN(const double after, problem.lower_bound(*right));
  return (before - after) / static_cast<double>(*right - *left);
}

struct Upgrade {
  int config = -1;
  double gain = 0;
  std::int64_t extra_units = 0;
  bool free() const { return extra_units <= 0; }
};

// a gains more per byte than b. Free ones come first, by their gain.
bool better(const Upgrade& a, const Upgrade& b) {
  if (b.config < 0) return true;
  if (a.free() != b.free()) return a.free();
  if (a.free()) return a.gain > b.gain;
  return a.gain * static_cast<double>(b.extra_units) > b.gain * static_cast<double>(a.extra_units);
}

class Explainer {
 public:
  Explainer(const Problem& problem, const Solution& solution, std::int64_t budget, double price)
      : problem_(problem),
        solution_(solution),
        left_units_(problem.costs().budget_units(budget) - solution.used_units),
        price_(price) {}

  LayerExplanation layer(int l) const {
    LayerExplanation out;
    out.layer = l;
    const bool pinned = is_pinned(l);
    Upgrade best = best_upgrade(l, [&](const Upgrade& u) {
      return problem_.allowed(l, u.config) && u.extra_units <= left_units_;
    });
    const bool fits = best.config >= 0;
    if (!fits)
      best = best_upgrade(l, [&](const Upgrade& u) { return problem_.allowed(l, u.config); });
    const bool allowed = best.config >= 0;
    if (!allowed) best = best_upgrade(l, [](const Upgrade&) { return true; });
    if (best.config < 0) {
      out.text = fmt::format("{} is the best of the layer's row",
                             to_string(grid().at(solution_.configs[l])));
      return out;
    }
    fill(best, out);
    out.reason = pinned                                  ? NoUpgrade::kPinned
                 : !allowed                              ? NoUpgrade::kForbidden
                 : fits && leaves_family(l, best.config) ? NoUpgrade::kFamily
                 : fits                                  ? NoUpgrade::kMissed
                 : out.gain_per_mb < price_ * kMegabyte * (1 - kPriceTolerance)
                     ? NoUpgrade::kWorthLess
                     : NoUpgrade::kNoRoom;
    out.text = sentence(out);
    return out;
  }

 private:
  const ConfigGrid& grid() const { return problem_.table().grid; }

  bool is_pinned(int l) const {
    const std::vector<Pin>& pins = problem_.options().limits.pins;
    return std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) {
      return pin.layers.first <= l && l <= pin.layers.last;
    });
  }

  // No plan of the method's family that is like this one elsewhere has the recipe there.
  bool leaves_family(int l, int config) const {
    const LayerConfig& now = solution_.layers[l];
    const LayerConfig next = grid().at(config);
    switch (solution_.method.family) {
      case Family::kHetero:
        return false;
      case Family::k2d:
        return next.keep != now.keep;
      case Family::kEvictHetero:
        return next.k_bits != now.k_bits || next.v_bits != now.v_bits;
      default:
        return true;
    }
  }

  template <class Accept>
  Upgrade best_upgrade(int l, const Accept& accept) const {
    const std::vector<double>& row = problem_.cells()[l];
    const int now = solution_.configs[l];
    Upgrade best;
    for (int c = 0; c < problem_.costs().configs; ++c) {
      const Upgrade upgrade{c, row[now] - row[c],
                            problem_.costs().at(l, c) - problem_.costs().at(l, now)};
      if (upgrade.gain > 0 && accept(upgrade) && better(upgrade, best)) best = upgrade;
    }
    return best;
  }

  void fill(const Upgrade& upgrade, LayerExplanation& out) const {
    out.upgrade = grid().at(upgrade.config);
    out.gain = upgrade.gain;
    out.extra_bytes = problem_.costs().to_bytes(upgrade.extra_units);
    out.gain_per_mb = upgrade.free() ? std::numeric_limits<double>::infinity()
                                     : upgrade.gain / (out.extra_bytes / kMegabyte);
  }

  std::string sentence(const LayerExplanation& out) const {
    const std::string bytes =
        out.extra_bytes > 0
            ? fmt::format("for {} more", format_mb(std::llround(std::ceil(out.extra_bytes))))
            : "at no more bytes";
    const std::string gain = fmt::format("{} would take {:.4g} off {}", to_string(*out.upgrade),
                                         out.gain, to_string(problem_.options().objective));
    switch (out.reason) {
      case NoUpgrade::kNone:
        break;
      case NoUpgrade::kPinned:
        return fmt::format("{} {}, but the layer is pinned", gain, bytes);
      case NoUpgrade::kForbidden:
        return fmt::format("{} {}, but the limits forbid it and all that is better", gain, bytes);
      case NoUpgrade::kFamily:
        return fmt::format("{} {} and fits, but no {} plan has such a layer", gain, bytes,
                           to_string(solution_.method));
      case NoUpgrade::kMissed:
        return fmt::format("{} {} and fits: {} stopped short of it", gain, bytes,
                           to_string(solution_.method));
      case NoUpgrade::kWorthLess:
        return fmt::format("{} {}: {:.4g} per MB, where the budget's last bytes earn {:.4g}", gain,
                           bytes, out.gain_per_mb, price_ * kMegabyte);
      case NoUpgrade::kNoRoom:
        return fmt::format(
            "{} {}, and {} of the budget are left", gain, bytes,
            format_mb(std::llround(std::floor(problem_.costs().to_bytes(left_units_)))));
    }
    return {};
  }

  const Problem& problem_;
  const Solution& solution_;
  const std::int64_t left_units_;
  const double price_;
};

// The variance of a layer's cell at a recipe whose bits are on the grid; between two keeps of the
// grid the standard errors are interpolated, beyond them the outermost counts.
double cell_variance(const std::vector<double>& errors, const ConfigGrid& grid,
                     const LayerConfig& config) {
  const auto above = std::lower_bound(grid.keep.begin(), grid.keep.end(), config.keep);
  const std::size_t right = std::min<std::size_t>(above - grid.keep.begin(), grid.keep.size() - 1);
  const std::size_t left =
      above == grid.keep.begin() || *above == config.keep || above == grid.keep.end() ? right
                                                                                      : right - 1;
  auto at = [&](std::size_t keep_i) {
    const int index = grid.find({grid.keep[keep_i], config.k_bits, config.v_bits});
    return index < 0 ? 0.0 : errors[static_cast<std::size_t>(index)];
  };
  double error = at(right);
  if (left != right) {
    const double share = (config.keep - grid.keep[left]) / (grid.keep[right] - grid.keep[left]);
    error = (1 - share) * at(left) + share * at(right);
  }
  return error * error;
}

// The standard error of the difference of two plans' predictions; nothing where the table has no
// errors for the objective.
std::optional<double> difference_error(const Problem& problem, const Solution& a,
                                       const Solution& b) {
  const auto errors = objective_errors(problem.table(), problem.options().objective);
  if (errors.empty()) return std::nullopt;
  double variance = 0;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    if (a.layers[l] == b.layers[l]) continue;
    variance += cell_variance(errors[l], problem.table().grid, a.layers[l]) +
                cell_variance(errors[l], problem.table().grid, b.layers[l]);
  }
  return std::sqrt(variance);
}

// The plans that could do instead, those within the budget and the limits.
Result<std::vector<Solution>> simpler_plans(const Problem& problem, const Solution& solution,
                                            std::int64_t budget, const std::stop_token& stop) {
  std::vector<Solution> out;
  for (const Method& method : {methods::kUniformFree, methods::kEvictExact, methods::k2dExact}) {
    if (method.family == solution.method.family) continue;
    Result<Solution> solved = problem.solve(method, budget, stop);
    if (solved) {
      out.push_back(std::move(*solved));
    } else if (solved.status().kind() != ErrorKind::kRefused) {
      return solved.status();
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Solution& a, const Solution& b) { return a.predicted < b.predicted; });
  return out;
}

// The best plan with a recipe of its own for every layer: what a search missed is not held against
// routing.
Result<Solution> best_routed(const Problem& problem, const Solution& solution, std::int64_t budget,
                             const std::stop_token& stop) {
  Result<Solution> exact = problem.solve(methods::kExact, budget, stop);
  if (!exact && exact.status().kind() != ErrorKind::kRefused) return exact.status();
  return exact && exact->predicted < solution.predicted ? *exact : solution;
}

// Why the simpler plan is as good as the routed one; nothing where it is not.
std::optional<std::string> as_good_as(const Problem& problem, const Solution& plan,
                                      const Solution& routed) {
  const double difference = plan.predicted - routed.predicted;
  const std::string figures =
      fmt::format("{:.4g} against {:.4g} at best", plan.predicted, routed.predicted);
  if (difference <= kRounding * routed.predicted) {
    return fmt::format("{} is predicted no worse ({})", to_string(plan.method), figures);
  }
  const std::optional<double> error = difference_error(problem, plan, routed);
  if (!error || difference >= kNormal95 * *error) return std::nullopt;
  return fmt::format(
      "{} is within the measured interval ({}, a difference of {:.2g} with a "
      "standard error of {:.2g})",
      to_string(plan.method), figures, difference, *error);
}

// Every layer holds the whole of a prompt of `context` tokens, or its window's share.
bool holds_all(const Geometry& geometry, const std::vector<LayerConfig>& layers,
               std::int64_t context) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::int64_t window = geometry.layers[l].window;
    const std::int64_t needed = window > 0 ? std::min(context, window) : context;
    if (n_keep(layers[l].keep, geometry.layer_tokens(static_cast<int>(l))) < needed) return false;
  }
  return true;
}

}  // namespace

bool routes_by_layer(Family family) {
  return family == Family::kHetero || family == Family::k2d || family == Family::kEvictHetero;
}

std::string_view to_string(NoUpgrade reason) {
  switch (reason) {
    case NoUpgrade::kNone:
      return "none";
    case NoUpgrade::kPinned:
      return "pinned";
    case NoUpgrade::kForbidden:
      return "forbidden";
    case NoUpgrade::kFamily:
      return "family";
    case NoUpgrade::kMissed:
      return "missed";
    case NoUpgrade::kWorthLess:
      return "worth_less";
    case NoUpgrade::kNoRoom:
      return "no_room";
  }
  return "none";
}

Result<std::vector<LayerExplanation>> explain(const Problem& problem, const Solution& solution,
                                              std::int64_t budget) {
  const int layers = problem.costs().layers;
  const bool of_this_problem =
      solution.configs.size() == static_cast<std::size_t>(layers) &&
      std::all_of(solution.configs.begin(), solution.configs.end(),
                  [&](int c) { return c >= 0 && c < problem.costs().configs; });
  if (!of_this_problem) {
    return Status::usage("the plan's layers are not configurations of the table's grid",
                         to_string(solution.method), "explain another method's plan");
  }
  LAMINA_ASSIGN_OR_RETURN(const double price, price_per_byte(problem, budget));
  const Explainer explainer(problem, solution, budget, price);
  std::vector<LayerExplanation> out;
  out.reserve(static_cast<std::size_t>(layers));
  for (int l = 0; l < layers; ++l) out.push_back(explainer.layer(l));
  return out;
}

Result<Headroom> check_headroom(const Problem& problem, const Solution& solution,
                                std::int64_t budget, std::int64_t context, std::stop_token stop) {
  Headroom out;
  if (!routes_by_layer(solution.method.family)) return out;
  LAMINA_ASSIGN_OR_RETURN(const std::vector<Solution> plans,
                          simpler_plans(problem, solution, budget, stop));
  auto refuse = [&](const std::optional<Solution>& simpler, std::string reason) {
    out.worth_routing = false;
    out.reason = std::move(reason);
    out.simpler = simpler;
  };
  const std::optional<Solution> best_of_them =
      plans.empty() ? std::nullopt : std::optional<Solution>(plans.front());
  const std::size_t layers = solution.layers.size();
  const auto at_full_keep = static_cast<std::size_t>(
      std::count_if(solution.layers.begin(), solution.layers.end(),
                    [](const LayerConfig& config) { return config.keep == 1.0; }));
  if (static_cast<double>(at_full_keep) > kMostAtFullKeep * static_cast<double>(layers)) {
    refuse(best_of_them,
           fmt::format("{} of {} layers keep every token, routing evictions by layer buys nothing",
                       at_full_keep, layers));
    return out;
  }
  if (context > 0 && holds_all(problem.table().geometry, solution.layers, context)) {
    refuse(best_of_them,
           fmt::format("a prompt of {} tokens fits every layer's capacity, nothing is evicted and "
                       "routing evictions by layer buys nothing",
                       context));
    return out;
  }
  LAMINA_ASSIGN_OR_RETURN(const Solution routed, best_routed(problem, solution, budget, stop));
  for (const Solution& plan : plans) {
    if (plan.method.family == Family::k2d) continue;  // the contract names the other two
    const std::optional<std::string> close = as_good_as(problem, plan, routed);
    if (!close) continue;
    const bool evicts_by_layer = plan.method.family == Family::kEvictHetero;
    refuse(plan, fmt::format("{}, routing {}by layer buys nothing", *close,
                             evicts_by_layer ? "bits " : ""));
    return out;
  }
  return out;
}

}  // namespace lamina
