// SPDX-License-Identifier: Apache-2.0
#include "engine/project/database.h"

namespace lamina::database {
namespace {

// Rows are found by scanning or by their own key: a table without a second index has nothing that
// could contradict it. `digest` covers all other columns of its row.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE checkpoints (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  architecture TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  path TEXT NOT NULL,
  info TEXT NOT NULL,
  digest TEXT NOT NULL
) STRICT;
CREATE TABLE tables (
  id INTEGER PRIMARY KEY,
  checkpoint_id INTEGER NOT NULL REFERENCES checkpoints (id),
  created TEXT NOT NULL,
  document TEXT NOT NULL, -- lamina-table JSON without values
  digest TEXT NOT NULL
) STRICT;
CREATE TABLE table_rows (
  table_id INTEGER NOT NULL REFERENCES tables (id),
  layer INTEGER NOT NULL,
  sensitivities BLOB NOT NULL, -- little-endian IEEE doubles, one a configuration
  digest TEXT NOT NULL,
  PRIMARY KEY (table_id, layer)
) STRICT, WITHOUT ROWID;
CREATE TABLE plans (
  id INTEGER PRIMARY KEY,
  table_id INTEGER NOT NULL REFERENCES tables (id),
  name TEXT NOT NULL,
  created TEXT NOT NULL,
  document TEXT NOT NULL, -- lamina-plan JSON
  digest TEXT NOT NULL
) STRICT;
CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY,
  plan_id INTEGER NOT NULL REFERENCES plans (id),
  created TEXT NOT NULL,
  document TEXT NOT NULL, -- JSON
  digest TEXT NOT NULL
) STRICT;
CREATE TABLE blobs (
  checkpoint_id INTEGER NOT NULL REFERENCES checkpoints (id),
  name TEXT NOT NULL,
  bytes BLOB NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (checkpoint_id, name)
) STRICT, WITHOUT ROWID;
)sql";

constexpr Migration kMigrations[] = {{1, kVersion1}};

}  // namespace

std::span<const Migration> project_migrations() { return kMigrations; }

}  // namespace lamina::database
