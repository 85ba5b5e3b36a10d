// SPDX-License-Identifier: GPL-3.0-or-later
// What the studio has open: a checkpoint's summary, the project file that keeps its tables, and the
// table itself. Plain values, made on the worker thread and handed over whole, so that a file that
// cannot be opened leaves the document on screen as it was.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/solve/memory.h"
#include "engine/table/table.h"

namespace lamina::studio {

struct ModelSummary {
  ModelId id;
  QString path;    // the checkpoint's file or folder
  QString format;  // "gguf", "safetensors"; empty where only a project or table names the model
  int layers = 0;
  std::vector<LayerGeometry> kv;  // (layers); empty where unknown
  std::int64_t context_length = 0;
  std::int64_t kv_bytes_per_token = 0;
  QString unsupported_reason;  // empty where the engine can run it
  std::optional<ModelSizes>
      sizes;  // for memory estimates; empty where the checkpoint is not at hand
};

// A complete table.
struct TableData {
  SensitivityTable table;
  std::int64_t id = 0;  // in the project; 0 for a table file
  std::string sha256;   // of its JSON
};

// The rows of a table that is being measured, or whose measuring was stopped.
struct PartialTable {
  ConfigGrid grid;
  std::string scorer;
  std::vector<std::vector<double>> rows;  // (layers); empty = not measured
  int rowsDone() const;
};

// A calibration that the project remembers as interrupted; the next one with this scorer goes on
// there.
struct UnfinishedTable {
  int layers = 0;
  int layers_done = 0;
  std::string scorer;
};

struct Document {
  QString source;   // the file or folder that was opened
  QString project;  // "" for a bare table file
  bool automatic_project = false;
  std::optional<ModelSummary> model;
  std::optional<TableData> table;
  // Only where there is no complete table: rows of a calibration stopped in this session, or what
  // the project says of an earlier one.
  std::optional<PartialTable> partial;
  std::optional<UnfinishedTable> unfinished;

  QString displayName() const;  // the model's name, else the file's
};

enum class FileKind { kModel, kProject, kTable };
// By the file's first bytes (folders and unknown files count as models, whose reader names the
// fault).
FileKind fileKind(const QString& path);

struct OpenOptions {
  QString data_dir;         // where automatic projects live
  QString current_project;  // a model opened while its own project is open stays in that project
  std::string current_fingerprint;
};
// Opens a model, a project or a table; reads what there is and changes nothing except that a
// model's project is created or refreshed. Blocking: call from a job. Errors: the engine's.
Result<Document> openDocument(const QString& path, const OpenOptions& options,
                              const JobContext& context);

// The newest complete table of a project, or the rows of its newest incomplete one, into
// `document`.
Status loadNewestTable(Document& document);

// The automatic project of a model: "<name>-<first 12 digits of the fingerprint>.lamina".
QString automaticProjectPath(const QString& data_dir, const ModelId& model);

TableData makeTableData(SensitivityTable table, std::int64_t id);

}  // namespace lamina::studio
