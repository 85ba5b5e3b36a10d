// SPDX-License-Identifier: Apache-2.0
// Calibration: the sensitivity of every layer to every recipe (spec section 6). No LibTorch header
// is shown. The functions are thread-safe and keep nothing.
//
// Layer l of T tokens is measured with T_l = min(T, window) wherever T appears, like its bytes: a
// windowed layer drops what lies before its last T_l tokens free of cost, so its survivors, its
// queries and its uncompressed reference are all taken among those. Prompts within the window, and
// global layers, are not affected.
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
  // The probe's prompt, and triattention's calibration text (other scorers ignore it). Empty: the
  // built-in text, tokenised, behind BOS where the model wants one, cut to the context length.
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> statistics_ids;
  std::int64_t t_cache = 0;  // written into the table; 0: the model's context length
  int sinks = 4;
  int recent = 128;
  // Called from the calibrating thread as soon as a layer is measured, in layer order; not for
  // known rows. An error it returns stops the calibration with that error (e.g. a full disk).
  std::function<Status(int layer, const std::vector<double>& values)> on_layer;
  // Rows already known (from an interrupted run): (layers); non-empty rows are not measured again.
  std::vector<std::vector<double>> known_rows;
};

// The default 27-token style prompt and the statistics text, in plain English (resources/prompts).
std::string default_probe_text();
std::string default_statistics_text();

// Makes options complete (ids, statistics, t_cache) and checks them. Errors: kUsage for an unknown
// probe, scorer or quantiser and for numbers out of range; kBadInput for ids outside the vocabulary
// or beyond the context, for a grid or known rows that do not fit, and where a built-in text is
// needed but the checkpoint has no tokenizer.
Status prepare_calibration(const Model& model, CalibrationOptions& options);

// The table that calibrate() fills: everything but its rows. REQUIRES prepared options.
SensitivityTable unmeasured_table(const Model& model, const ModelId& model_id,
                                  const CalibrationOptions& options);

// REQUIRES prepared options (others are refused as by prepare_calibration). Progress in layers:
// stage "statistics" (triattention only), then "calibrating". Cancels within 0.2 s (+ the layer's
// largest matrix product). The reference is recipe (1.0, 16, 16), whether or not the grid holds it;
// its own cell is exactly 0. Provenance::statistics_sha256 is over the ids in decimal, joined by
// commas. Errors: NaN or Inf in K or V (kBadInput) names layer, head and token; cancelled; kRuntime
// for memory.
Result<SensitivityTable> calibrate(const Model& model, const ModelId& model_id,
                                   const CalibrationOptions& options, const JobContext& context);

// Survivor positions per layer and keep of the options' grid, for tests and for the studio's
// inspector: [layer][keep_i] ascending positions.
Result<std::vector<std::vector<std::vector<std::int64_t>>>> survivor_sets(
    const Model& model, const CalibrationOptions& options, const JobContext& context);

}  // namespace lamina
