// SPDX-License-Identifier: Apache-2.0
// The calibration job as users run it: measure a model into a project, layer by layer, and go on where
// an interrupted run of the same measurement stopped. Called by the command line and the studio alike.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/calibrate/calibrate.h"
#include "engine/project/project.h"
#include "engine/table/table.h"

namespace lamina {

struct CalibrationJobResult {
  std::int64_t table_id = 0;
  SensitivityTable table;
  int resumed_layers = 0;  // taken over from an unfinished run
  double seconds = 0;      // measuring, without loading the model
};

// Prepares `options`, stores the checkpoint, and measures. Every layer is committed to the project before
// options.on_layer hears of it (rows taken over are announced too). An unfinished table of the same
// checkpoint with the same probe, scorer, quantisers, token ids and statistics is continued.
// The project must belong to the calling thread. Errors: those of calibrate() and of Project.
Result<CalibrationJobResult> calibrate_into_project(const Model& model, const ModelId& model_id,
                                                    CalibrationOptions options, Project& project,
                                                    const JobContext& context);
// The same for the project at a path, which is opened, or created where there is none, only when
// the options have passed their checks. Errors: those of Project::open_or_create too.
Result<CalibrationJobResult> calibrate_into_project(const Model& model, const ModelId& model_id,
                                                    CalibrationOptions options,
                                                    const std::filesystem::path& project_path,
                                                    const JobContext& context);

}  // namespace lamina
