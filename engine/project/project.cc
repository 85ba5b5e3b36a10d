// SPDX-License-Identifier: Apache-2.0
#include "engine/project/project.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "engine/base/clock.h"
#include "engine/project/database.h"

namespace lamina {
namespace {

using database::damaged;
using database::digest;

static_assert(std::endian::native == std::endian::little,
              "rows are stored as little-endian doubles");

std::string pack(const std::vector<double>& values) {
  std::string out(values.size() * sizeof(double), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::vector<double> unpack(const std::string& bytes) {
  std::vector<double> out(bytes.size() / sizeof(double));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(double));
  return out;
}

void bind_blob(SQLite::Statement& statement, int index, const std::string& bytes) {
  statement.bindNoCopy(index, bytes.data(), static_cast<int>(bytes.size()));
}

std::string text(SQLite::Statement& row, int column) { return row.getColumn(column).getString(); }

// The table without its values, with its place in the project.
struct TableHead {
  std::int64_t checkpoint_id = 0;
  std::string created;
  SensitivityTable table;
};

}  // namespace

struct Project::State {
  std::filesystem::path path;
  std::string where;
  std::unique_ptr<database::LockWait> wait;  // outlives db
  SQLite::Database db;

  State(const std::filesystem::path& p, std::unique_ptr<database::LockWait> lock_wait,
        SQLite::Database&& database)
      : path(p), where(p.string()), wait(std::move(lock_wait)), db(std::move(database)) {}

  template <class F>
  auto guarded(F&& f) {
    return database::guarded(where, std::forward<F>(f), wait->stop());
  }

  std::int64_t next_id(const char* table) {
    return db.execAndGet(fmt::format("SELECT coalesce(max(id), 0) + 1 FROM {}", table)).getInt64();
  }

  Status missing(const char* what, std::int64_t id) const {
    return Status::bad_input(fmt::format("the project has no {} {}", what, id), where,
                             "list what it holds");
  }

  // Every reader of a row checks its digest through this.
  Status check_digest(const std::string& stored, const std::string& computed,
                      const std::string& row) const {
    if (stored == computed) return Status::ok();
    return damaged(fmt::format("{} does not match its checksum", row), where);
  }

  Result<std::vector<CheckpointRecord>> read_checkpoints() {
    std::vector<CheckpointRecord> out;
    SQLite::Statement query(
        db,
        "SELECT id, name, architecture, fingerprint, path, info, digest FROM checkpoints "
        "ORDER BY id");
    while (query.executeStep()) {
      CheckpointRecord record;
      record.id = query.getColumn(0).getInt64();
      record.model = {text(query, 1), text(query, 2), text(query, 3)};
      record.path = text(query, 4);
      record.info_json = text(query, 5);
      LAMINA_RETURN_IF_ERROR(check_digest(text(query, 6), checkpoint_digest(record),
                                          fmt::format("checkpoint {}", record.id)));
      out.push_back(std::move(record));
    }
    return out;
  }

  static std::string checkpoint_digest(const CheckpointRecord& record) {
    return digest({"checkpoint", std::to_string(record.id), record.model.name,
                   record.model.architecture, record.model.fingerprint, record.path,
                   record.info_json});
  }

  Result<CheckpointRecord> checkpoint(std::int64_t id) {
    LAMINA_ASSIGN_OR_RETURN(std::vector<CheckpointRecord> all, read_checkpoints());
    for (CheckpointRecord& record : all) {
      if (record.id == id) return std::move(record);
    }
    return missing("checkpoint", id);
  }

  Result<TableHead> read_head(std::int64_t table_id) {
    SQLite::Statement query(
        db, "SELECT checkpoint_id, created, document, digest FROM tables WHERE id = ?");
    query.bind(1, table_id);
    if (!query.executeStep()) return missing("table", table_id);
    TableHead head;
    head.checkpoint_id = query.getColumn(0).getInt64();
    head.created = text(query, 1);
    const std::string document = text(query, 2);
    const std::string row = fmt::format("table {}", table_id);
    LAMINA_RETURN_IF_ERROR(check_digest(
        text(query, 3), table_digest(table_id, head.checkpoint_id, head.created, document), row));
    LAMINA_ASSIGN_OR_RETURN(head.table, unmeasured_table_from_json(document, where + ": " + row));
    return head;
  }

  static std::string table_digest(std::int64_t id, std::int64_t checkpoint_id,
                                  const std::string& created, const std::string& document) {
    return digest({"table", std::to_string(id), std::to_string(checkpoint_id), created, document});
  }

  static std::string row_digest(std::int64_t table_id, int layer, const std::string& bytes) {
    return digest({"row", std::to_string(table_id), std::to_string(layer), bytes});
  }

  // Inside a transaction of the caller.
  Result<std::int64_t> insert_head(std::int64_t checkpoint_id, SensitivityTable table) {
    LAMINA_ASSIGN_OR_RETURN(CheckpointRecord owner, checkpoint(checkpoint_id));
    LAMINA_RETURN_IF_ERROR(check_same_model(table, owner.model));
    table.values.clear();
    const std::int64_t id = next_id("tables");
    const std::string created = now_utc();
    const std::string document = table_to_json(table);
    SQLite::Statement insert(db, "INSERT INTO tables VALUES (?, ?, ?, ?, ?)");
    insert.bind(1, id);
    insert.bind(2, checkpoint_id);
    insert.bind(3, created);
    insert.bind(4, document);
    insert.bind(5, table_digest(id, checkpoint_id, created, document));
    insert.exec();
    return id;
  }

  void insert_row(std::int64_t table_id, int layer, const std::vector<double>& values) {
    const std::string bytes = pack(values);
    SQLite::Statement insert(db, "INSERT OR REPLACE INTO table_rows VALUES (?, ?, ?, ?)");
    insert.bind(1, table_id);
    insert.bind(2, layer);
    bind_blob(insert, 3, bytes);
    insert.bind(4, row_digest(table_id, layer, bytes));
    insert.exec();
  }

  Result<std::vector<std::vector<double>>> read_rows(std::int64_t table_id,
                                                     const SensitivityTable& head) {
    std::vector<std::vector<double>> rows(head.geometry.layers.size());
    SQLite::Statement query(db,
                            "SELECT layer, sensitivities, digest FROM table_rows "
                            "WHERE table_id = ? ORDER BY layer");
    query.bind(1, table_id);
    while (query.executeStep()) {
      const std::int64_t layer = query.getColumn(0).getInt64();
      const std::string row = fmt::format("layer {} of table {}", layer, table_id);
      if (layer < 0 || layer >= static_cast<std::int64_t>(rows.size())) {
        return damaged(row + " does not exist", where);
      }
      const std::string bytes = text(query, 1);
      LAMINA_RETURN_IF_ERROR(
          check_digest(text(query, 2), row_digest(table_id, static_cast<int>(layer), bytes), row));
      if (bytes.size() != static_cast<std::size_t>(head.grid.size()) * sizeof(double)) {
        return damaged(row + " has another number of values than its grid", where);
      }
      rows[static_cast<std::size_t>(layer)] = unpack(bytes);
    }
    return rows;
  }

  Result<TableRecord> table_record(std::int64_t id) {
    LAMINA_ASSIGN_OR_RETURN(TableHead head, read_head(id));
    TableRecord record;
    record.id = id;
    record.checkpoint_id = head.checkpoint_id;
    record.layers = static_cast<int>(head.table.geometry.layers.size());
    record.created = head.created;
    if (head.table.provenance) {
      record.scorer = head.table.provenance->scorer;
      record.probe = head.table.provenance->probe;
    }
    SQLite::Statement count(db, "SELECT count(*) FROM table_rows WHERE table_id = ?");
    count.bind(1, id);
    count.executeStep();
    record.layers_done = count.getColumn(0).getInt();
    return record;
  }

  Result<std::vector<TableRecord>> read_tables() {
    std::vector<std::int64_t> ids;
    SQLite::Statement query(db, "SELECT id FROM tables ORDER BY id");
    while (query.executeStep()) ids.push_back(query.getColumn(0).getInt64());
    std::vector<TableRecord> out;
    for (std::int64_t id : ids) {
      LAMINA_ASSIGN_OR_RETURN(TableRecord record, table_record(id));
      out.push_back(std::move(record));
    }
    return out;
  }

  static std::string plan_digest(std::int64_t id, std::int64_t table_id, const std::string& name,
                                 const std::string& created, const std::string& document) {
    return digest({"plan", std::to_string(id), std::to_string(table_id), name, created, document});
  }

  // The record and its document, checked.
  Result<std::pair<PlanRecord, std::string>> plan_row(SQLite::Statement& query) {
    PlanRecord record;
    record.id = query.getColumn(0).getInt64();
    record.table_id = query.getColumn(1).getInt64();
    record.name = text(query, 2);
    record.created = text(query, 3);
    std::string document = text(query, 4);
    LAMINA_RETURN_IF_ERROR(
        check_digest(text(query, 5),
                     plan_digest(record.id, record.table_id, record.name, record.created, document),
                     fmt::format("plan {}", record.id)));
    return std::pair{std::move(record), std::move(document)};
  }
};

Project::Project(std::unique_ptr<State> state) : state_(std::move(state)) {}
Project::~Project() = default;

Result<std::unique_ptr<Project>> Project::create(const std::filesystem::path& path,
                                                 std::stop_token stop) {
  return database::guarded(path.string(), [&]() -> Result<std::unique_ptr<Project>> {
    auto wait = std::make_unique<database::LockWait>(std::move(stop));
    LAMINA_ASSIGN_OR_RETURN(SQLite::Database db,
                            database::create_new(path, database::project_migrations(), *wait));
    return std::unique_ptr<Project>(
        new Project(std::make_unique<State>(path, std::move(wait), std::move(db))));
  });
}

Result<std::unique_ptr<Project>> Project::open(const std::filesystem::path& path,
                                               std::stop_token stop) {
  return database::guarded(path.string(), [&]() -> Result<std::unique_ptr<Project>> {
    auto wait = std::make_unique<database::LockWait>(std::move(stop));
    LAMINA_ASSIGN_OR_RETURN(SQLite::Database db,
                            database::open_checked(path, database::project_migrations(), *wait));
    return std::unique_ptr<Project>(
        new Project(std::make_unique<State>(path, std::move(wait), std::move(db))));
  });
}

Result<std::unique_ptr<Project>> Project::open_or_create(const std::filesystem::path& path,
                                                         std::stop_token stop) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  const bool empty = exists && std::filesystem::is_regular_file(path, error) &&
                     std::filesystem::file_size(path, error) == 0;
  return exists && !empty ? open(path, std::move(stop)) : create(path, std::move(stop));
}

const std::filesystem::path& Project::path() const { return state_->path; }

Result<std::int64_t> Project::put_checkpoint(const ModelId& model, const std::string& path,
                                             const std::string& info_json) {
  return state_->guarded([&]() -> Result<std::int64_t> {
    SQLite::Transaction transaction(state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    LAMINA_ASSIGN_OR_RETURN(std::vector<CheckpointRecord> known, state_->read_checkpoints());
    CheckpointRecord record{0, model, path, info_json};
    for (const CheckpointRecord& other : known) {
      if (other.model.fingerprint == model.fingerprint) record.id = other.id;
    }
    const char* sql =
        record.id != 0 ? "UPDATE checkpoints SET name = ?2, architecture = ?3, fingerprint = ?4, "
                         "path = ?5, info = ?6, digest = ?7 WHERE id = ?1"
                       : "INSERT INTO checkpoints VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    if (record.id == 0) record.id = state_->next_id("checkpoints");
    SQLite::Statement put(state_->db, sql);
    put.bind(1, record.id);
    put.bind(2, model.name);
    put.bind(3, model.architecture);
    put.bind(4, model.fingerprint);
    put.bind(5, path);
    put.bind(6, info_json);
    put.bind(7, State::checkpoint_digest(record));
    put.exec();
    transaction.commit();
    return record.id;
  });
}

Result<std::vector<CheckpointRecord>> Project::checkpoints() const {
  return state_->guarded([&] { return state_->read_checkpoints(); });
}

Result<std::int64_t> Project::begin_table(std::int64_t checkpoint_id,
                                          const SensitivityTable& table) {
  return state_->guarded([&]() -> Result<std::int64_t> {
    LAMINA_RETURN_IF_ERROR(table.geometry.validate("new table"));
    LAMINA_RETURN_IF_ERROR(table.grid.validate("new table"));
    SQLite::Transaction transaction(state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    LAMINA_ASSIGN_OR_RETURN(std::int64_t id, state_->insert_head(checkpoint_id, table));
    transaction.commit();
    return id;
  });
}

Status Project::put_layer(std::int64_t table_id, int layer, const std::vector<double>& values) {
  return state_->guarded([&]() -> Status {
    SQLite::Transaction transaction(state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    LAMINA_ASSIGN_OR_RETURN(TableHead head, state_->read_head(table_id));
    LAMINA_RETURN_IF_ERROR(
        head.table.check_row(layer, values, fmt::format("new row of table {}", table_id)));
    state_->insert_row(table_id, layer, values);
    transaction.commit();
    return Status::ok();
  });
}

Result<std::int64_t> Project::put_table(std::int64_t checkpoint_id, const SensitivityTable& table) {
  return state_->guarded([&]() -> Result<std::int64_t> {
    LAMINA_RETURN_IF_ERROR(table.validate("new table"));
    SQLite::Transaction transaction(state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    LAMINA_ASSIGN_OR_RETURN(std::int64_t id, state_->insert_head(checkpoint_id, table));
    for (int l = 0; l < table.layers(); ++l) {
      state_->insert_row(id, l, table.values[static_cast<std::size_t>(l)]);
    }
    transaction.commit();
    return id;
  });
}

Result<std::vector<TableRecord>> Project::tables() const {
  return state_->guarded([&]() -> Result<std::vector<TableRecord>> {
    SQLite::Transaction snapshot(state_->db);
    return state_->read_tables();
  });
}

Result<SensitivityTable> Project::table(std::int64_t table_id) const {
  return state_->guarded([&]() -> Result<SensitivityTable> {
    SQLite::Transaction snapshot(state_->db);
    LAMINA_ASSIGN_OR_RETURN(TableHead head, state_->read_head(table_id));
    LAMINA_ASSIGN_OR_RETURN(head.table.values, state_->read_rows(table_id, head.table));
    std::size_t missing = 0;
    for (const std::vector<double>& row : head.table.values) missing += row.empty() ? 1 : 0;
    if (missing > 0) {
      return Status::bad_input(fmt::format("{} of the {} layers of table {} are not measured",
                                           missing, head.table.values.size(), table_id),
                               state_->where, "finish its calibration");
    }
    LAMINA_RETURN_IF_ERROR(
        head.table.validate(fmt::format("{}: table {}", state_->where, table_id)));
    return std::move(head.table);
  });
}

Result<SensitivityTable> Project::unmeasured_table(std::int64_t table_id) const {
  return state_->guarded([&]() -> Result<SensitivityTable> {
    LAMINA_ASSIGN_OR_RETURN(TableHead head, state_->read_head(table_id));
    return std::move(head.table);
  });
}

Result<std::optional<TableRecord>> Project::newest_table() const {
  LAMINA_ASSIGN_OR_RETURN(std::vector<TableRecord> all, tables());
  for (auto record = all.rbegin(); record != all.rend(); ++record) {
    if (record->layers_done == record->layers) return std::optional<TableRecord>(*record);
  }
  return std::optional<TableRecord>();
}

Result<std::vector<std::vector<double>>> Project::partial_rows(std::int64_t table_id) const {
  return state_->guarded([&]() -> Result<std::vector<std::vector<double>>> {
    SQLite::Transaction snapshot(state_->db);
    LAMINA_ASSIGN_OR_RETURN(TableHead head, state_->read_head(table_id));
    return state_->read_rows(table_id, head.table);
  });
}

Status Project::put_blob(std::int64_t checkpoint_id, const std::string& name,
                         const std::string& bytes) {
  return state_->guarded([&]() -> Status {
    if (bytes.size() > database::kMaxValueBytes / 2) {
      return Status::bad_input(fmt::format("'{}' has {} bytes", name, bytes.size()), state_->where,
                               fmt::format("at most {} are stored", database::kMaxValueBytes / 2));
    }
    SQLite::Transaction transaction(state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    LAMINA_RETURN_IF_ERROR(state_->checkpoint(checkpoint_id).status());
    SQLite::Statement put(state_->db, "INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?)");
    put.bind(1, checkpoint_id);
    put.bind(2, name);
    bind_blob(put, 3, bytes);
    put.bind(4, digest({"blob", std::to_string(checkpoint_id), name, bytes}));
    put.exec();
    transaction.commit();
    return Status::ok();
  });
}

Result<std::optional<std::string>> Project::blob(std::int64_t checkpoint_id,
                                                 const std::string& name) const {
  return state_->guarded([&]() -> Result<std::optional<std::string>> {
    SQLite::Statement query(state_->db,
                            "SELECT bytes, digest FROM blobs WHERE checkpoint_id = ? AND name = ?");
    query.bind(1, checkpoint_id);
    query.bind(2, name);
    if (!query.executeStep()) return std::optional<std::string>();
    std::string bytes = text(query, 0);
    LAMINA_RETURN_IF_ERROR(state_->check_digest(
        text(query, 1), digest({"blob", std::to_string(checkpoint_id), name, bytes}),
        fmt::format("'{}'", name)));
    return std::optional<std::string>(std::move(bytes));
  });
}

Result<std::int64_t> Project::put_plan(std::int64_t table_id, const std::string& name,
                                       const Plan& plan) {
  return state_->guarded([&]() -> Result<std::int64_t> {
    LAMINA_RETURN_IF_ERROR(plan.validate("new plan"));
    SQLite::Transaction transaction(state_->db, SQLite::TransactionBehavior::IMMEDIATE);
    LAMINA_RETURN_IF_ERROR(state_->read_head(table_id).status());
    const std::int64_t id = state_->next_id("plans");
    const std::string created = now_utc();
    const std::string document = plan_to_json(plan);
    SQLite::Statement insert(state_->db, "INSERT INTO plans VALUES (?, ?, ?, ?, ?, ?)");
    insert.bind(1, id);
    insert.bind(2, table_id);
    insert.bind(3, name);
    insert.bind(4, created);
    insert.bind(5, document);
    insert.bind(6, State::plan_digest(id, table_id, name, created, document));
    insert.exec();
    transaction.commit();
    return id;
  });
}

Result<std::vector<PlanRecord>> Project::plans() const {
  return state_->guarded([&]() -> Result<std::vector<PlanRecord>> {
    std::vector<PlanRecord> out;
    SQLite::Statement query(
        state_->db, "SELECT id, table_id, name, created, document, digest FROM plans ORDER BY id");
    while (query.executeStep()) {
      LAMINA_ASSIGN_OR_RETURN(auto row, state_->plan_row(query));
      out.push_back(std::move(row.first));
    }
    return out;
  });
}

Result<Plan> Project::plan(std::int64_t plan_id) const {
  return state_->guarded([&]() -> Result<Plan> {
    SQLite::Statement query(
        state_->db, "SELECT id, table_id, name, created, document, digest FROM plans WHERE id = ?");
    query.bind(1, plan_id);
    if (!query.executeStep()) return state_->missing("plan", plan_id);
    LAMINA_ASSIGN_OR_RETURN(auto row, state_->plan_row(query));
    return plan_from_json(row.second, fmt::format("{}: plan {}", state_->where, plan_id));
  });
}

}  // namespace lamina
