// SPDX-License-Identifier: Apache-2.0
// project_writer FILE: begins tables one after another and stores their layers one by one; a line
// "TABLE LAYER" is printed when a layer's call has returned. Runs until it is killed. Layer l of
// table t holds the values t + l + c / 64, so that whoever reads them knows them.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/project/project.h"

using namespace lamina;

namespace {

constexpr int kLayers = 12;

Status run(const char* path) {
  LAMINA_ASSIGN_OR_RETURN(auto project, Project::open_or_create(path));
  const ModelId model{"Crash 1M", "llama", std::string(64, '9')};
  LAMINA_ASSIGN_OR_RETURN(std::int64_t owner, project->put_checkpoint(model, "crash.gguf", "{}"));
  SensitivityTable table;
  table.geometry = {1024, std::vector<LayerGeometry>(kLayers, LayerGeometry{2, 64, 0})};
  table.grid = ConfigGrid::default_grid();
  for (;;) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t id, project->begin_table(owner, table));
    for (int layer = 0; layer < kLayers; ++layer) {
      std::vector<double> values;
      for (int c = 0; c < table.grid.size(); ++c) {
        values.push_back(static_cast<double>(id + layer) + c / 64.0);
      }
      LAMINA_RETURN_IF_ERROR(project->put_layer(id, layer, values));
      const std::string line = std::to_string(id) + " " + std::to_string(layer) + "\n";
      if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return Status::runtime("write");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Status status = run(argv[1]);
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.exit_code();
}
