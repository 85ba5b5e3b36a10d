// SPDX-License-Identifier: Apache-2.0
// Calibration: the sensitivity of every layer to every recipe (spec section 6). No LibTorch header is
// shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/run/generate.h"
#include "engine/table/table.h"

namespace lamina {

struct CalibrationOptions {
  std::string probe = "prompt";
  std::string scorer = "triattention";  // "streaming", "keydiff", "triattention"
  QuantizerNames quantizer;             // asym-g32
  ConfigGrid grid = ConfigGrid::default_grid();
  std::vector<std::int32_t> ids;             // the probe's prompt; empty: the default prompt, tokenised
  std::vector<std::int32_t> statistics_ids;  // triattention's calibration text; empty: the built-in one
  std::int64_t t_cache = 0;                  // written into the table; 0: the model's context length
  int sinks = 4;
  int recent = 128;
  // Called from the calibrating thread as soon as a layer is done, in layer order. An error it returns
  // stops the calibration with that error (e.g. a full disk).
  std::function<Status(int layer, const std::vector<double>& values)> on_layer;
  // Rows already known (from an interrupted run): (layers); non-empty rows are not measured again.
  std::vector<std::vector<double>> known_rows;
};

// The default 27-token style prompt and the statistics text, in plain English (resources/prompts).
std::string default_probe_text();
std::string default_statistics_text();

// Makes options complete (ids, statistics, t_cache) and checks them. Errors: kBadInput, kUsage.
Status prepare_calibration(const Model& model, CalibrationOptions& options);

// REQUIRES prepared options. Progress in layers. Cancels within 0.2 s (+ the layer's largest matrix
// product). Errors: NaN in K or V names layer, head and token.
Result<SensitivityTable> calibrate(const Model& model, const ModelId& model_id,
                                   const CalibrationOptions& options, const JobContext& context);

// Survivor positions per layer and keep of the options' grid, for tests and for the studio's inspector:
// [layer][keep_i] ascending positions.
Result<std::vector<std::vector<std::vector<std::int64_t>>>> survivor_sets(
    const Model& model, const CalibrationOptions& options, const JobContext& context);

}  // namespace lamina
