// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/document.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/model/checkpoint.h"
#include "engine/project/project.h"
#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

// Nothing where the document tells no sizes: memory is then not estimated.
std::optional<ModelSizes> sizesOf(const std::string& info) {
  auto sizes = model_sizes_from_info(info, "checkpoint");
  return sizes ? std::optional(*sizes) : std::nullopt;
}

ModelSummary summarize(const Checkpoint& checkpoint, ModelId id, const QString& path) {
  const ModelConfig& config = checkpoint.config();
  ModelSummary summary;
  summary.id = std::move(id);
  summary.path = path;
  summary.format = toQString(std::string(checkpoint.format()));
  summary.layers = config.layers;
  summary.kv = config.kv;
  summary.context_length = config.context_length;
  summary.kv_bytes_per_token = config.kv_bytes_per_token();
  summary.sizes = sizesOf(info_json(checkpoint, {}));
  if (!config.supported) {
    summary.unsupported_reason = config.unsupported_reason.empty()
                                     ? toQString(config.architecture)
                                     : toQString(config.unsupported_reason);
  }
  return summary;
}

// What a project says about a model that is not open.
ModelSummary summarize(const CheckpointRecord& record) {
  ModelSummary summary;
  summary.id = record.model;
  summary.path = toQString(record.path);
  summary.sizes = sizesOf(record.info_json);
  return summary;
}

// The shape that a table knows of its model.
void addShape(const SensitivityTable& table, Document& document) {
  if (!document.model) document.model = ModelSummary{};
  ModelSummary& summary = *document.model;
  if (table.model) summary.id = *table.model;
  summary.layers = table.layers();
  summary.kv = table.geometry.layers;
  summary.kv_bytes_per_token = 0;
  for (const LayerGeometry& layer : summary.kv) {
    summary.kv_bytes_per_token += std::int64_t{4} * layer.kv_heads * layer.head_dim;
  }
}

std::int64_t checkpointId(const std::vector<CheckpointRecord>& checkpoints, const ModelId& model) {
  for (const CheckpointRecord& record : checkpoints) {
    if (record.model.fingerprint == model.fingerprint) return record.id;
  }
  return 0;
}

// REQUIRES a non-empty list.
const CheckpointRecord& checkpointOf(const std::vector<CheckpointRecord>& checkpoints,
                                     const TableRecord& table) {
  for (const CheckpointRecord& record : checkpoints) {
    if (record.id == table.checkpoint_id) return record;
  }
  return checkpoints.back();
}

Result<Document> openModel(const QString& path, const OpenOptions& options,
                           const JobContext& context) {
  LAMINA_ASSIGN_OR_RETURN(const std::shared_ptr<const Checkpoint> checkpoint,
                          Checkpoint::open(toPath(path)));
  LAMINA_ASSIGN_OR_RETURN(ModelId id, checkpoint->model_id(context));
  Document document;
  document.source = path;
  if (!options.current_project.isEmpty() && id.fingerprint == options.current_fingerprint) {
    document.project = options.current_project;
  } else {
    document.project = automaticProjectPath(options.data_dir, id);
  }
  document.automatic_project =
      QFileInfo(document.project).absolutePath() == QFileInfo(options.data_dir).absoluteFilePath();
  const QString folder = QFileInfo(document.project).absolutePath();
  if (!QDir().mkpath(folder)) {
    return Status::runtime("cannot create the folder for the project", folder.toStdString(),
                           "check its permissions and the free space");
  }
  LAMINA_ASSIGN_OR_RETURN(const std::unique_ptr<Project> project,
                          Project::open_or_create(toPath(document.project)));
  LAMINA_RETURN_IF_ERROR(
      project->put_checkpoint(id, path.toStdString(), info_json(*checkpoint, id.fingerprint))
          .status());
  document.model = summarize(*checkpoint, std::move(id), path);
  return document;
}

Result<Document> openProject(const QString& path, const OpenOptions& options) {
  Document document;
  document.source = path;
  document.project = path;
  document.automatic_project =
      QFileInfo(path).absolutePath() == QFileInfo(options.data_dir).absoluteFilePath();
  LAMINA_RETURN_IF_ERROR(loadNewestTable(document));
  return document;
}

Result<Document> openTable(const QString& path) {
  LAMINA_ASSIGN_OR_RETURN(SensitivityTable table, read_table(toPath(path)));
  Document document;
  document.source = path;
  addShape(table, document);
  document.table = makeTableData(std::move(table), 0);
  return document;
}

}  // namespace

int PartialTable::rowsDone() const {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return !row.empty(); }));
}

QString Document::displayName() const {
  if (model && !model->id.name.empty()) return toQString(model->id.name);
  return QFileInfo(source).completeBaseName();
}

FileKind fileKind(const QString& path) {
  const QFileInfo info(path);
  if (info.suffix() == QLatin1String("lamina")) return FileKind::kProject;
  if (!info.isFile()) return FileKind::kModel;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return FileKind::kModel;
  const QByteArray head = file.read(64);
  if (head.startsWith("SQLite format 3")) return FileKind::kProject;
  // config.json stands for the model folder it lies in.
  const bool model_file = info.fileName() == QLatin1String("config.json");
  if (head.trimmed().startsWith('{') && !model_file) return FileKind::kTable;
  return FileKind::kModel;
}

QString automaticProjectPath(const QString& data_dir, const ModelId& model) {
  QString name = toQString(model.name);
  for (QChar& c : name) {
    const bool plain = c.isLetterOrNumber() || QStringLiteral("-_.").contains(c);
    if (!plain) c = QLatin1Char('-');
  }
  while (name.startsWith(QLatin1Char('.')) || name.startsWith(QLatin1Char('-'))) name.remove(0, 1);
  if (name.isEmpty()) name = QStringLiteral("model");
  return QDir(data_dir).filePath(
      QStringLiteral("%1-%2.lamina").arg(name.left(80), toQString(model.fingerprint).left(12)));
}

TableData makeTableData(SensitivityTable table, std::int64_t id) {
  TableData data;
  data.sha256 = table_sha256(table);
  data.table = std::move(table);
  data.id = id;
  return data;
}

Status loadNewestTable(Document& document) {
  LAMINA_ASSIGN_OR_RETURN(const std::unique_ptr<Project> project,
                          Project::open(toPath(document.project)));
  LAMINA_ASSIGN_OR_RETURN(const std::vector<CheckpointRecord> checkpoints, project->checkpoints());
  LAMINA_ASSIGN_OR_RETURN(const std::vector<TableRecord> tables, project->tables());
  const bool model_is_open = document.model.has_value();
  const TableRecord* complete = nullptr;
  const TableRecord* unfinished = nullptr;
  for (const TableRecord& record : tables) {
    if (model_is_open && record.checkpoint_id != checkpointId(checkpoints, document.model->id)) {
      continue;
    }
    (record.layers_done == record.layers ? complete : unfinished) = &record;
  }
  const TableRecord* shown = complete ? complete : unfinished;
  if (!model_is_open && !checkpoints.empty()) {
    document.model = summarize(shown ? checkpointOf(checkpoints, *shown) : checkpoints.back());
  }
  if (complete) {
    LAMINA_ASSIGN_OR_RETURN(SensitivityTable table, project->table(complete->id));
    if (!model_is_open) addShape(table, document);
    document.table = makeTableData(std::move(table), complete->id);
  } else if (unfinished) {
    document.unfinished =
        UnfinishedTable{unfinished->layers, unfinished->layers_done, unfinished->scorer};
    if (document.model && !model_is_open) document.model->layers = unfinished->layers;
  }
  return Status::ok();
}

Result<Document> openDocument(const QString& path, const OpenOptions& options,
                              const JobContext& context) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  switch (fileKind(absolute)) {
    case FileKind::kTable:
      return openTable(absolute);
    case FileKind::kProject:
      return openProject(absolute, options);
    case FileKind::kModel:
      break;
  }
  LAMINA_ASSIGN_OR_RETURN(Document document, openModel(absolute, options, context));
  LAMINA_RETURN_IF_ERROR(loadNewestTable(document));
  return document;
}

}  // namespace lamina::studio
