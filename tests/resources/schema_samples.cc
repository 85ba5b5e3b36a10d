// SPDX-License-Identifier: Apache-2.0
// What schema_checks.py asks of the engine:
//   schema_samples write FOLDER      real tables and plans, named *.table.json and *.plan.json
//   schema_samples read FILE...      one line a table, plan or file of targets (*.targets.json):
//                                    "accepted" or why it is refused
#include <cstdio>
#include <filesystem>
#include <string>

#include "engine/solve/solve.h"

using namespace lamina;

namespace {

SensitivityTable sample(bool rich) {
  SensitivityTable table;
  table.geometry = {4096, std::vector<LayerGeometry>(3, LayerGeometry{2, 64, 0})};
  table.grid = ConfigGrid::default_grid();
  for (int l = 0; l < 3; ++l) {
    std::vector<double> row;
    for (int c = 0; c < table.grid.size(); ++c) row.push_back((53 - c) * (l + 1) / 7.0);
    table.values.push_back(std::move(row));
  }
  if (rich) {
    table.geometry.layers[1] = {1, 80, 512};
    table.model = ModelId{"Sample", "llama", std::string(64, 'a')};
    table.provenance = Provenance{"prompt",
                                  "triattention",
                                  {"asym-g32", "asym-g64+hadamard"},
                                  SurvivorMode::kPerHead,
                                  27,
                                  0,
                                  {1, 2, 3},
                                  std::string(64, 'b'),
                                  7,
                                  "0.1.0",
                                  "2026-01-02T03:04:05Z"};
    table.value_errors = table.propagated = table.kl = table.kl_errors = table.values;
    table.weights = {0.5, 1.0, 2.0};
    std::vector<std::int64_t> bytes;
    for (int c = 0; c < table.grid.size(); ++c) bytes.push_back(1024 * (c + 1));
    table.bytes.assign(3, bytes);
  }
  return table;
}

Status write_samples(const std::filesystem::path& folder) {
  for (bool rich : {false, true}) {
    const std::string name = rich ? "rich" : "bare";
    const SensitivityTable table = sample(rich);
    LAMINA_RETURN_IF_ERROR(write_table(table, folder / (name + ".table.json")));
    for (BytesKind kind : {BytesKind::kNominal, BytesKind::kActual}) {
      SolveOptions options;
      options.bytes = kind;
      for (const Method& method : {methods::kGreedy, methods::kUniform2d}) {
        LAMINA_ASSIGN_OR_RETURN(Problem problem, Problem::make(table, options));
        const std::int64_t budget = problem.full_bytes() / 3;
        LAMINA_ASSIGN_OR_RETURN(Solution solution, problem.solve(method, budget));
        LAMINA_ASSIGN_OR_RETURN(Plan plan,
                                make_plan(problem, solution, budget, table_sha256(table)));
        if (rich) {
          plan.solver->lower_bound = plan.solver->predicted / 2;
          plan.validation = PlanValidation{0.05, 0.04, 0.06, 8};
        }
        const std::string file =
            name + "." + std::string(to_string(kind)) + "." + to_string(method) + ".plan.json";
        LAMINA_RETURN_IF_ERROR(write_plan(plan, folder / file));
      }
    }
  }
  return Status::ok();
}

Status read_sample(const std::string& path) {
  if (path.ends_with(".targets.json")) return read_targets(path).status();
  return path.ends_with(".table.json") ? read_table(path).status() : read_plan(path).status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "write") {
    Status status = write_samples(argv[2]);
    if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
    return status.exit_code();
  }
  if (argc >= 3 && std::string(argv[1]) == "read") {
    for (int i = 2; i < argc; ++i) {
      Status status = read_sample(argv[i]);
      std::printf("%s\n", status.is_ok() ? "accepted" : status.message().c_str());
    }
    return 0;
  }
  std::fprintf(stderr, "usage: schema_samples write FOLDER | read FILE...\n");
  return 2;
}
