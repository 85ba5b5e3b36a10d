// SPDX-License-Identifier: Apache-2.0
// A routing plan: which layer gets which recipe, for one checkpoint and one cache size, and its
// JSON file (spec section 9; resources/schema/plan.schema.json).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/table.h"

namespace lamina {

struct PlanBudget {
  std::int64_t bytes = 0;  // asked for
  BytesKind kind = BytesKind::kActual;
  double used = 0;  // bytes of `kind`
  double full = 0;
  std::int64_t peak = 0;  // actual bytes + eviction slack
  bool operator==(const PlanBudget&) const = default;
};

struct PlanSolver {
  std::string method;
  std::string objective;
  double predicted = 0;
  std::optional<double> lower_bound;
  bool operator==(const PlanSolver&) const = default;
};

struct PlanCalibration {
  std::string probe;
  std::int64_t tokens = 0;
  std::string table_sha256;
  bool operator==(const PlanCalibration&) const = default;
};

// What the plan costs against the uncompressed model (KL in nats, mean over texts).
struct PlanValidation {
  double kl = 0;
  double interval_low = 0;
  double interval_high = 0;
  std::int64_t n = 0;  // texts
  bool operator==(const PlanValidation&) const = default;
};

struct Plan {
  // Without a fingerprint where the table had none: any checkpoint of the shape fits.
  ModelId model;
  Geometry geometry;  // t_cache and the layers' shapes
  int sinks = 4;
  int recent = 128;
  int evict_every = 128;
  std::string scorer = "streaming";
  SurvivorMode survivors = SurvivorMode::kShared;
  QuantizerNames quantizer;
  std::vector<LayerConfig> layers;
  std::optional<ConfigGrid> grid;
  std::optional<PlanBudget> budget;
  std::optional<PlanSolver> solver;
  std::optional<PlanCalibration> calibration;
  std::optional<PlanValidation> validation;

  int distinct_configs() const;
  // One recipe a layer, keep in (0, 1], bits 1..16, on the grid where there is one; geometry,
  // settings and names usable. Errors: kBadInput naming the layer.
  Status validate(const std::string& where) const;
  bool operator==(const Plan&) const = default;
};

// JSON "lamina-plan" version 1. Errors (kBadInput): another format or major version, a wrong layer
// count, a value off its grid or range (naming the layer), missing or mistyped fields. Unknown
// fields are ignored. write_plan: kBadInput for a plan that read_plan would refuse, kRuntime for
// the disk.
Result<Plan> read_plan(const std::filesystem::path& path);
Result<Plan> plan_from_json(const std::string& text, const std::string& where);
std::string plan_to_json(const Plan& plan);
Status write_plan(const Plan& plan, const std::filesystem::path& path);

// Refuses (kBadInput) a plan of another checkpoint or layer count, naming both. A plan without a
// fingerprint is checked for the layer count alone.
Status check_plan_for_model(const Plan& plan, const ModelId& model, int layers);

}  // namespace lamina
