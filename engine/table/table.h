// SPDX-License-Identifier: Apache-2.0
// A sensitivity table: for every layer and recipe, how much the recipe hurts (spec sections 6 and
// 9).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/bytes.h"
#include "engine/table/grid.h"

namespace lamina {

// Which checkpoint a table or plan belongs to.
struct ModelId {
  std::string name;
  std::string architecture;
  std::string fingerprint;  // SHA-256, 64 hex digits
  bool operator==(const ModelId&) const = default;
};

// How a table was made.
struct Provenance {
  std::string probe;   // "prompt"
  std::string scorer;  // "triattention"
  QuantizerNames quantizer;
  SurvivorMode survivors = SurvivorMode::kShared;
  std::int64_t tokens = 0;              // T of the probe
  std::int64_t window_tokens = 0;       // W of the probe; 0 where it has none
  std::vector<std::int32_t> token_ids;  // the probe's ids
  std::string statistics_sha256;  // of the ids that the scorer's statistics come from; "" = none
  std::uint64_t seed = 0;
  std::string version;  // of Lamina
  std::string created;  // ISO 8601, UTC
  bool operator==(const Provenance&) const = default;
};

struct SensitivityTable {
  std::optional<ModelId> model;
  Geometry geometry;
  ConfigGrid grid;
  std::vector<std::vector<double>> values;  // (layers, grid.size()); relative error, no unit
  std::optional<Provenance> provenance;
  // What was measured beside the values; empty where it was not. Finite and >= 0 like the values.
  std::vector<std::vector<double>> value_errors;  // "stderr": standard errors of `values`
  std::vector<std::vector<double>> propagated;  // squared relative change of the final hidden state
  std::vector<std::vector<double>> kl;          // KL(reference || compressed), nats
  std::vector<std::vector<double>> kl_errors;   // "kl_stderr": standard errors of `kl`, nats
  std::vector<double> weights;                  // (layers): w_l of the objective `weighted`
  // Actual bytes of every cell as another cache counts them, > 0, at this geometry; they replace
  // the actual bytes of spec section 2.
  std::vector<std::vector<std::int64_t>> bytes;

  int layers() const { return static_cast<int>(values.size()); }
  // `values` could be the row of `layer`: the layer exists, one finite value >= 0 a recipe. Errors
  // name layer and recipe. REQUIRES a valid grid.
  Status check_row(int layer, const std::vector<double>& values, const std::string& where) const;
  // Shapes agree, every value finite and >= 0, of the optional lists too. Errors name layer and
  // recipe.
  Status validate(const std::string& where) const;
  StorageOptions storage() const;  // from the provenance, else the defaults
  bool operator==(const SensitivityTable&) const = default;
};

// JSON "lamina-table" version 1. Errors: kBadInput naming file and field, kRuntime for writing.
Result<SensitivityTable> read_table(const std::filesystem::path& path);
Result<SensitivityTable> table_from_json(const std::string& text, const std::string& where);
// As table_from_json, for a table whose values are still to be measured: they stay empty, whatever
// the text lists.
Result<SensitivityTable> unmeasured_table_from_json(const std::string& text,
                                                    const std::string& where);
std::string table_to_json(const SensitivityTable& table);
// SHA-256 of table_to_json(): what a plan records of its table. 64 hexadecimal digits.
std::string table_sha256(const SensitivityTable& table);
Status write_table(const SensitivityTable& table, const std::filesystem::path& path);

// Refuses a table of another checkpoint, naming both (spec section 6). A table without a model
// passes; where it has one without a fingerprint, it is refused.
Status check_same_model(const SensitivityTable& table, const ModelId& model);

}  // namespace lamina
