// SPDX-License-Identifier: Apache-2.0
// Checks of calibration options that need nothing but the model's hyper-parameters.
#pragma once

#include "engine/base/status.h"
#include "engine/calibrate/calibrate.h"

namespace lamina {

// Errors: kUsage for names and numbers that this version does not know, kBadInput for ids and rows
// that do not fit the model.
Status check_calibration(const ModelConfig& config, const CalibrationOptions& options);

}  // namespace lamina
