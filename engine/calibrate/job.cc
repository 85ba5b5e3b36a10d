// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/job.h"

#include <memory>
#include <optional>
#include <utility>

#include "engine/base/clock.h"

namespace lamina {
namespace {

// The measurement is the same, whenever it was begun.
bool same_measurement(const SensitivityTable& a, const SensitivityTable& b) {
  if (!a.provenance || !b.provenance) return false;
  Provenance pa = *a.provenance, pb = *b.provenance;
  pa.created = pb.created = "";
  return pa == pb && a.model == b.model && a.geometry == b.geometry && a.grid == b.grid;
}

// An unfinished table of the same measurement, the newest first.
Result<std::optional<std::int64_t>> find_unfinished(const Project& project,
                                                    const SensitivityTable& wanted) {
  LAMINA_ASSIGN_OR_RETURN(std::vector<TableRecord> tables, project.tables());
  for (auto record = tables.rbegin(); record != tables.rend(); ++record) {
    if (record->layers_done >= record->layers) continue;
    LAMINA_ASSIGN_OR_RETURN(SensitivityTable head, project.unmeasured_table(record->id));
    if (same_measurement(head, wanted)) return std::optional<std::int64_t>(record->id);
  }
  return std::optional<std::int64_t>();
}

// The table to measure into: an unfinished one with its rows as options.known_rows, or a new one.
Result<std::int64_t> begin_or_resume(Project& project, std::int64_t checkpoint_id,
                                     const SensitivityTable& table, CalibrationOptions& options) {
  LAMINA_ASSIGN_OR_RETURN(std::optional<std::int64_t> unfinished, find_unfinished(project, table));
  if (!unfinished) return project.begin_table(checkpoint_id, table);
  LAMINA_ASSIGN_OR_RETURN(options.known_rows, project.partial_rows(*unfinished));
  return *unfinished;
}

// REQUIRES prepared options.
Result<CalibrationJobResult> measure_into(const Model& model, const ModelId& model_id,
                                          CalibrationOptions options, Project& project,
                                          const JobContext& context) {
  const double start = now_s();
  const Checkpoint& checkpoint = model.checkpoint();
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t checkpoint_id,
                          project.put_checkpoint(model_id, checkpoint.path().string(),
                                                 info_json(checkpoint, model_id.fingerprint)));
  CalibrationJobResult result;
  const SensitivityTable unmeasured = unmeasured_table(model, model_id, options);
  LAMINA_ASSIGN_OR_RETURN(result.table_id,
                          begin_or_resume(project, checkpoint_id, unmeasured, options));
  const auto announce = std::exchange(options.on_layer, nullptr);
  for (std::size_t layer = 0; layer < options.known_rows.size(); ++layer) {
    const std::vector<double>& row = options.known_rows[layer];
    if (row.empty()) continue;
    ++result.resumed_layers;
    if (announce) LAMINA_RETURN_IF_ERROR(announce(static_cast<int>(layer), row));
  }
  options.on_layer = [&](int layer, const std::vector<double>& values) -> Status {
    LAMINA_RETURN_IF_ERROR(project.put_layer(result.table_id, layer, values));
    return announce ? announce(layer, values) : Status::ok();
  };
  LAMINA_RETURN_IF_ERROR(calibrate(model, model_id, options, context).status());
  // As stored: the provenance of a resumed table keeps the time at which it was begun.
  LAMINA_ASSIGN_OR_RETURN(result.table, project.table(result.table_id));
  result.seconds = now_s() - start;
  return result;
}

}  // namespace

Result<CalibrationJobResult> calibrate_into_project(const Model& model, const ModelId& model_id,
                                                    CalibrationOptions options, Project& project,
                                                    const JobContext& context) {
  LAMINA_RETURN_IF_ERROR(prepare_calibration(model, options));
  return measure_into(model, model_id, std::move(options), project, context);
}

Result<CalibrationJobResult> calibrate_into_project(const Model& model, const ModelId& model_id,
                                                    CalibrationOptions options,
                                                    const std::filesystem::path& project_path,
                                                    const JobContext& context) {
  LAMINA_RETURN_IF_ERROR(prepare_calibration(model, options));
  LAMINA_ASSIGN_OR_RETURN(const std::unique_ptr<Project> project,
                          Project::open_or_create(project_path, context.stop));
  return measure_into(model, model_id, std::move(options), *project, context);
}

}  // namespace lamina
