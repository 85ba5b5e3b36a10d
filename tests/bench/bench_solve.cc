// SPDX-License-Identifier: Apache-2.0
// How long the solvers take on 80 layers x 54 recipes (Google Benchmark, one thread). Queries at
// 1,000 random budgets a table; the counters give median, p99 and maximum in microseconds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "engine/solve/frontier.h"
#include "engine/solve/lp_frontier.h"
#include "engine/solve/solve.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

constexpr int kLayers = 80;
constexpr int kBudgets = 1000;

// additive f(keep) + g(K) + g(V) of random scales, synergistic (with products), noisy (30 %), real
// (the prompt probe of SmolLM2's 30 layers, the other 50 scaled by 0.8 to 1.2), and the adversarial
// ones: all layers equal, two kinds of layers, flat (the scales all 1).
SensitivityTable make_table(const std::string& kind) {
  SensitivityTable table = samples::table(kLayers, 1);
  table.geometry = samples::geometry(kLayers, 16000, 8, 128);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::vector<double> f = {.81, .5625, .25, .0625, .01, 0}, g = {1, .15, 0};
  auto row = [&](bool scaled, double noise, double joint) {
    double scale[3] = {1, 1, 1};
    for (double& s : scale) s = scaled ? std::exp(4 * uniform(random) - 2) : 1;
    std::vector<double> out;
    for (int c = 0; c < 54; ++c) {
      const double x = scale[0] * f[table.grid.keep_i(c)];
      const double y = scale[1] * g[table.grid.k_i(c)], z = scale[2] * g[table.grid.v_i(c)];
      const double cell = x + y + z + joint * (x * y + y * z + x * z);
      out.push_back(cell * (1 + noise * (2 * uniform(random) - 1)));
    }
    return out;
  };
  if (kind == "real") {
    const Json oracle = samples::oracle("smol_prompt27_S.json");
    const auto measured = oracle["S"]["triattention"].get<std::vector<std::vector<double>>>();
    for (int l = 0; l < kLayers; ++l) {
      table.values[l] = measured[l % measured.size()];
      const double scale = l < static_cast<int>(measured.size()) ? 1 : 0.8 + 0.4 * uniform(random);
      for (double& cell : table.values[l]) cell *= scale;
    }
    return table;
  }
  const std::vector<double> one = row(true, 0, 0), other = row(true, 0, 0);
  for (int l = 0; l < kLayers; ++l) {
    table.values[l] = kind == "additive"      ? row(true, 0, 0)
                      : kind == "synergistic" ? row(true, 0, 1)
                      : kind == "noisy"       ? row(true, 0.3, 0)
                      : kind == "equal"       ? one
                      : kind == "two_kinds"   ? (l % 2 ? one : other)
                                              : row(false, 0, 0);
  }
  return table;
}

std::vector<std::int64_t> random_budgets(const Problem& problem) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::int64_t least = problem.smallest_bytes();
  std::vector<std::int64_t> out;
  for (int i = 0; i < kBudgets; ++i) {  // denser where budgets are tight
    const double share = uniform(random) * uniform(random);
    out.push_back(least + static_cast<std::int64_t>(
                              share * static_cast<double>(problem.full_bytes() - least)));
  }
  return out;
}

void report(benchmark::State& state, std::vector<double>& seconds) {
  std::sort(seconds.begin(), seconds.end());
  auto at = [&](double share) {
    return 1e6 * seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  };
  state.counters["median_us"] = at(0.5);
  state.counters["p99_us"] = at(0.99);
  state.counters["max_us"] = at(1);
}

void bench_query(benchmark::State& state, const Method& method, const std::string& kind,
                 BytesKind bytes) {
  SolveOptions options;
  options.bytes = bytes;
  const Problem problem = *Problem::make(make_table(kind), options);
  const std::vector<std::int64_t> budgets = random_budgets(problem);
  std::vector<double> seconds;
  (void)problem.solve(method, problem.full_bytes());  // 2d and evict_hetero prepare on first use
  for (auto _ : state) {
    for (std::int64_t budget : budgets) {
      const auto begin = std::chrono::steady_clock::now();
      auto solution = problem.solve(method, budget);
      benchmark::DoNotOptimize(solution);
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      if (solution && !solution->proven) state.SkipWithError("not proven");
    }
  }
  report(state, seconds);
}

void bench_lp_frontier(benchmark::State& state) {
  const SensitivityTable table = make_table("additive");
  const CostTable costs =
      *make_cost_table(table.geometry, table.grid, BytesKind::kActual, table.storage());
  const std::vector<std::uint8_t> all(costs.units.size(), 1);
  for (auto _ : state) {
    const ChoiceTable choices = pareto_choices(table.values, costs, all, 1);
    const LpFrontier lp(choices);
    benchmark::DoNotOptimize(lp.cost(lp.segments().size()));
  }
}

// What a change of pins, limits or objective costs: bytes, cells, frontier, greedy's path.
void bench_problem(benchmark::State& state) {
  const SensitivityTable table = make_table("additive");
  for (auto _ : state) {
    auto problem = Problem::make(table);
    benchmark::DoNotOptimize(problem);
  }
}

// Everything that one move of a slider asks for.
void bench_every_method(benchmark::State& state) {
  const Problem problem = *Problem::make(make_table("real"));
  const std::vector<std::int64_t> budgets = random_budgets(problem);
  std::vector<double> seconds;
  for (auto _ : state) {
    for (std::int64_t budget : budgets) {
      const auto begin = std::chrono::steady_clock::now();
      for (const Method& method : all_methods()) {
        auto solution = problem.solve(method, budget);
        benchmark::DoNotOptimize(solution);
      }
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  report(state, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* kind :
       {"additive", "synergistic", "noisy", "real", "equal", "two_kinds", "flat"}) {
    for (BytesKind bytes : {BytesKind::kActual, BytesKind::kNominal}) {
      for (const Method& method : {methods::kGreedy, methods::kLp, methods::kExact}) {
        const std::string name =
            to_string(method) + "/" + kind + "/" + std::string(to_string(bytes));
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          bench_query(state, method, kind, bytes);
        })->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::RegisterBenchmark("lp_frontier", bench_lp_frontier)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("problem_make", bench_problem)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("every_method/real", bench_every_method)
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
