// SPDX-License-Identifier: Apache-2.0
#include "app/cli/solve_report.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/base/units.h"

namespace lamina::cli {
namespace {

std::string mb(double bytes) { return format_mb(std::llround(bytes)); }

double share(const Solution& solution, std::int64_t budget) {
  return solution.used_bytes / static_cast<double>(budget);
}

OrderedJson recipe_json(const LayerConfig& config) {
  return {{"keep", config.keep}, {"k_bits", config.k_bits}, {"v_bits", config.v_bits}};
}

OrderedJson headroom_json(const Headroom& headroom) {
  OrderedJson simpler = nullptr;
  if (headroom.simpler) {
    simpler = {{"method", to_string(headroom.simpler->method)},
               {"bytes", headroom.simpler->used_bytes},
               {"predicted", headroom.simpler->predicted}};
    add_recipes(*headroom.simpler, simpler);
  }
  return {{"worth_routing", headroom.worth_routing},
          {"reason", headroom.reason},
          {"simpler", std::move(simpler)}};
}

OrderedJson explanation_json(const std::vector<LayerExplanation>& explanation) {
  OrderedJson list = OrderedJson::array();
  for (const LayerExplanation& layer : explanation) {
    OrderedJson entry = {{"layer", layer.layer}, {"reason", to_string(layer.reason)}};
    entry["upgrade"] = layer.upgrade ? recipe_json(*layer.upgrade) : OrderedJson(nullptr);
    entry["gain"] = layer.gain;
    entry["extra_bytes"] = layer.extra_bytes;
    // Free upgrades gain without end, which JSON cannot say.
    entry["gain_per_mb"] =
        std::isfinite(layer.gain_per_mb) ? OrderedJson(layer.gain_per_mb) : OrderedJson(nullptr);
    entry["text"] = layer.text;
    list.push_back(std::move(entry));
  }
  return list;
}

OrderedJson rivals_json(const SolveReport& report) {
  OrderedJson list = OrderedJson::array();
  for (const Rival& rival : report.rivals) {
    OrderedJson entry = {{"method", to_string(rival.method)},
                         {"feasible", rival.solution.has_value()},
                         {"predicted", nullptr},
                         {"bytes", nullptr},
                         {"share", nullptr}};
    if (rival.solution) {
      entry["predicted"] = rival.solution->predicted;
      entry["bytes"] = rival.solution->used_bytes;
      entry["share"] = share(*rival.solution, report.budget);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

OrderedJson memory_json(const MemoryReport& memory) {
  OrderedJson out = {{"gpu", memory.budget.gpu_bytes},
                     {"weights", memory.budget.weights},
                     {"activations", memory.budget.activations}};
  if (memory.model.weights_only()) out["activations"] = nullptr;
  out["cache"] = memory.budget.cache;
  out["per_request"] = memory.budget.per_request;
  out["context"] = memory.request.context;
  out["concurrency"] = memory.request.concurrency;
  out["most_requests"] = memory.most_requests;
  out["longest_context"] = memory.longest_context;
  return out;
}

std::string layer_rows(const Problem& problem, const Solution& solution) {
  std::string out = fmt::format("{:>5}  {:>8} {:>3} {:>3} {:>12} {:>10}\n", "layer", "keep", "K",
                                "V", "bytes", to_string(problem.options().objective));
  const CostTable& costs = problem.costs();
  for (int l = 0; l < costs.layers; ++l) {
    const LayerConfig& config = solution.layers[l];
    std::string bytes = "-", cell = "-";  // between two configurations of the grid
    if (!solution.configs.empty()) {
      const int c = solution.configs[l];
      bytes = mb(costs.to_bytes(costs.at(l, c)));
      cell = fmt::format("{:.5f}", problem.cells()[l][c]);
    }
    out += fmt::format("{:>5}  {:>8.4g} {:>3} {:>3} {:>12} {:>10}\n", l, config.keep, config.k_bits,
                       config.v_bits, bytes, cell);
  }
  return out;
}

std::string gap_line(const Solution& solution) {
  const std::optional<double> excess = gap(solution);
  std::string out = "gap        ";
  if (!excess) {
    out += "not known: the lower bound is 0";
  } else {
    out += fmt::format("at most {:.2f} % above the optimum: no plan can be below {:.5g}",
                       100 * *excess, solution.lower_bound);
  }
  if (!solution.proven) out += "; the exact search gave up before it was proven";
  return out + "\n";
}

std::string summary(const Problem& problem, const SolveReport& report) {
  const Solution& solution = report.solution;
  const SolveOptions& options = problem.options();
  const double full = problem.costs().to_bytes(problem.costs().full());
  const int distinct = report.plan.distinct_configs();
  std::string out =
      fmt::format("method     {}: {}\n", to_string(solution.method), describe(solution.method));
  out += fmt::format("objective  {}, {} (predicted", to_string(options.objective),
                     describe(options.objective));
  out += options.robust_z > 0
             ? fmt::format(", plus {:.3g} standard errors a cell)\n", options.robust_z)
             : ")\n";
  if (options.limits.target) {
    out += fmt::format("target     {}: {}\n", options.limits.target->title,
                       options.limits.target->note);
  }
  out += fmt::format("budget     {} of {} ({} bytes, t_cache {})\n", format_mb(report.budget),
                     mb(full), to_string(options.bytes), problem.table().geometry.t_cache);
  out += fmt::format(
      "used       {} = {:.1f} % of the budget, {:.2f}x smaller than full; peak {} (actual)\n",
      mb(solution.used_bytes), 100 * share(solution, report.budget), full / solution.used_bytes,
      format_mb(report.plan.budget->peak));
  out += fmt::format("predicted  {} {:.5g} with {} distinct recipe{}, solved in {:.3f} ms\n",
                     to_string(options.objective), solution.predicted, distinct,
                     distinct == 1 ? "" : "s", 1e3 * solution.seconds);
  return out + gap_line(solution);
}

std::string memory_lines(const SolveReport& report) {
  const MemoryReport& memory = *report.memory;
  const std::string activations =
      memory.model.weights_only()
          ? "activations not known, counted as 0"
          : fmt::format("activations {} (estimate)", format_mb(memory.budget.activations));
  std::string out = fmt::format(
      "gpu        {}: weights {} (estimate), {}, caches {}\n", format_mb(memory.budget.gpu_bytes),
      format_mb(memory.budget.weights), activations, format_mb(memory.budget.cache));
  out += fmt::format("requests   {} of {} tokens, each a peak of up to {}\n",
                     memory.request.concurrency, memory.request.context,
                     format_mb(memory.budget.per_request));
  return out + fmt::format(
                   "with this  at most {} requests of {} tokens (estimate), or {} requests of at "
                   "most {} tokens (estimate)\n",
                   memory.most_requests, memory.request.context, memory.request.concurrency,
                   memory.longest_context);
}

std::string rival_rows(const Problem& problem, const SolveReport& report) {
  std::string out = fmt::format("\n{:<20} {:>12} {:>12} {:>10}\n", "at this budget",
                                to_string(problem.options().objective), "bytes", "of budget");
  for (const Rival& rival : report.rivals) {
    const std::string name = to_string(rival.method);
    if (!rival.solution) {
      out += fmt::format("{:<20} {:>12}\n", name, "infeasible");
      continue;
    }
    out += fmt::format("{:<20} {:>12.5g} {:>12} {:>8.1f} %\n", name, rival.solution->predicted,
                       mb(rival.solution->used_bytes), 100 * share(*rival.solution, report.budget));
  }
  return out;
}

std::string headroom_lines(const Problem& problem, const SolveReport& report) {
  const Headroom& headroom = *report.headroom;
  if (headroom.worth_routing) return {};
  std::string out = fmt::format("\nno headroom: {}\n", headroom.reason);
  if (!headroom.simpler) return out;
  const double predicted = report.solution.predicted;
  out += fmt::format("simpler    --method {}: predicted {} {:.5g}",
                     to_string(headroom.simpler->method), to_string(problem.options().objective),
                     headroom.simpler->predicted);
  if (predicted > 0) {
    out += fmt::format(", {:+.1f} %", 100 * (headroom.simpler->predicted / predicted - 1));
  }
  return out + "\n";
}

}  // namespace

std::optional<double> gap(const Solution& solution) {
  if (solution.lower_bound > 0) return solution.predicted / solution.lower_bound - 1;
  if (solution.predicted > 0) return std::nullopt;
  return 0.0;
}

void add_recipes(const Solution& solution, OrderedJson& object) {
  object["configs"] = solution.configs;
  if (!solution.configs.empty()) return;
  object["layers"] = OrderedJson::array();
  for (const LayerConfig& config : solution.layers) {
    object["layers"].push_back(recipe_json(config));
  }
}

OrderedJson report_json(const Problem& problem, const SolveReport& report) {
  const Solution& solution = report.solution;
  const SolveOptions& options = problem.options();
  const std::optional<double> excess = gap(solution);
  OrderedJson out = {{"method", to_string(solution.method)},
                     {"objective", to_string(options.objective)},
                     {"robust_z", options.robust_z},
                     {"bytes", solution.used_bytes},
                     {"bytes_kind", to_string(options.bytes)},
                     {"budget", report.budget},
                     {"share", share(solution, report.budget)},
                     {"full", problem.costs().to_bytes(problem.costs().full())},
                     {"peak", report.plan.budget->peak},
                     {"predicted", solution.predicted},
                     {"lower_bound", solution.lower_bound},
                     {"gap", excess ? OrderedJson(*excess) : OrderedJson(nullptr)},
                     {"proven", solution.proven},
                     {"distinct", report.plan.distinct_configs()}};
  add_recipes(solution, out);
  out["baselines"] = rivals_json(report);
  out["headroom"] = report.headroom ? headroom_json(*report.headroom) : OrderedJson(nullptr);
  if (report.explanation) out["explanation"] = explanation_json(*report.explanation);
  if (report.memory) out["memory"] = memory_json(*report.memory);
  out["seconds"] = solution.seconds;
  return out;
}

std::string report_text(const Problem& problem, const SolveReport& report) {
  std::string out = layer_rows(problem, report.solution);
  if (report.explanation) {
    out += "\nthe next upgrade of each layer, and why it was not taken\n";
    for (const LayerExplanation& layer : *report.explanation) {
      out += fmt::format("{:>5}  {}\n", layer.layer, layer.text);
    }
  }
  out += "\n" + summary(problem, report);
  if (report.memory) out += memory_lines(report);
  out += rival_rows(problem, report);
  if (report.headroom) out += headroom_lines(problem, report);
  return out;
}

}  // namespace lamina::cli
