// SPDX-License-Identifier: Apache-2.0
// The `.lamina` project: one SQLite file with checkpoints, tables (stored layer by layer as they
// are made) and plans (spec section 9). Rollback journal, synchronous FULL: what a call has
// returned survives kill -9. Where another program has locked the file, every call waits up to 10 s
// (then kRuntime), but no longer than until the stop token of the project's opening is requested
// (then kCancelled). One Project belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/plan.h"
#include "engine/table/table.h"

namespace lamina {

struct CheckpointRecord {
  std::int64_t id = 0;
  ModelId model;
  std::string path;  // where it was opened last
  std::string info_json;
};

struct TableRecord {
  std::int64_t id = 0;
  std::int64_t checkpoint_id = 0;
  int layers = 0;
  int layers_done = 0;  // < layers: a calibration that stopped or still runs
  std::string created;
  std::string scorer;
  std::string probe;
};

struct PlanRecord {
  std::int64_t id = 0;
  std::int64_t table_id = 0;
  std::string name;
  std::string created;
};

class Project {
 public:
  // Creates the file; refuses an existing one. Errors: kRuntime (read-only or full disk).
  static Result<std::unique_ptr<Project>> create(const std::filesystem::path& path,
                                                 std::stop_token stop = {});
  // Opens and, where it is older, migrates. Errors: kBadInput (not a project, damaged, made by a
  // newer version), kRuntime (read-only file that needs migrating).
  static Result<std::unique_ptr<Project>> open(const std::filesystem::path& path,
                                               std::stop_token stop = {});
  static Result<std::unique_ptr<Project>> open_or_create(const std::filesystem::path& path,
                                                         std::stop_token stop = {});
  ~Project();

  const std::filesystem::path& path() const;

  // Adds the checkpoint or refreshes the path and info of the one with this fingerprint.
  Result<std::int64_t> put_checkpoint(const ModelId& model, const std::string& path,
                                      const std::string& info_json);
  Result<std::vector<CheckpointRecord>> checkpoints() const;

  // Begins a table whose layers are still unknown (`table.values` may be empty); returns its id.
  Result<std::int64_t> begin_table(std::int64_t checkpoint_id, const SensitivityTable& table);
  // Stores one layer's row. Committed when the call returns.
  Status put_layer(std::int64_t table_id, int layer, const std::vector<double>& values);
  // A whole table in one transaction.
  Result<std::int64_t> put_table(std::int64_t checkpoint_id, const SensitivityTable& table);
  Result<std::vector<TableRecord>> tables() const;
  // Errors: kBadInput where layers are still missing, naming how many.
  Result<SensitivityTable> table(std::int64_t table_id) const;
  // A table without its rows, measured or not: model, geometry, grid, provenance.
  Result<SensitivityTable> unmeasured_table(std::int64_t table_id) const;
  // The newest complete table, if any.
  Result<std::optional<TableRecord>> newest_table() const;
  // Rows of an unfinished table, (layer -> values); empty vectors for missing layers.
  Result<std::vector<std::vector<double>>> partial_rows(std::int64_t table_id) const;

  // Scorer statistics, e.g. triattention's, by checkpoint and name; an opaque blob.
  Status put_blob(std::int64_t checkpoint_id, const std::string& name, const std::string& bytes);
  Result<std::optional<std::string>> blob(std::int64_t checkpoint_id,
                                          const std::string& name) const;

  Result<std::int64_t> put_plan(std::int64_t table_id, const std::string& name, const Plan& plan);
  Result<std::vector<PlanRecord>> plans() const;
  Result<Plan> plan(std::int64_t plan_id) const;

 private:
  struct State;
  explicit Project(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lamina
