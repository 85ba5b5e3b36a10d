// SPDX-License-Identifier: Apache-2.0
#include "engine/project/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>

#include "engine/base/sha256.h"

namespace lamina::database {
namespace {

// A file may come from a stranger: its schema must not run functions, views or triggers.
void harden(SQLite::Database& db) {
  sqlite3* handle = db.getHandle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  db.exec("PRAGMA trusted_schema = OFF");
  db.exec("PRAGMA cell_size_check = ON");
  db.exec("PRAGMA mmap_size = 0");
  db.exec("PRAGMA foreign_keys = ON");
}

// Rollback journal, and every commit on the disk before the call returns.
Status set_durability(SQLite::Database& db, const std::string& where) {
  std::string mode = db.execAndGet("PRAGMA journal_mode = DELETE").getString();
  if (mode != "delete") {
    return Status::runtime(fmt::format("the project's journal mode stays '{}'", mode), where,
                           "close other programs that use the file");
  }
  db.exec("PRAGMA synchronous = FULL");
  return Status::ok();
}

SQLite::Database connect(const std::filesystem::path& path, LockWait& wait) {
  // An absolute path is never taken for a URI or for a name such as ":memory:".
  SQLite::Database db(std::filesystem::absolute(path).string(), SQLite::OPEN_READWRITE);
  sqlite3_busy_handler(db.getHandle(), &LockWait::on_busy, &wait);
  harden(db);
  return db;
}

int pragma_int(SQLite::Database& db, const char* name) {
  return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

// Missing, a folder, a device, unreadable: said before SQLite sees the path.
Status check_regular(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::file_status info = std::filesystem::status(path, error);
  auto refuse = [&](const std::string& why) {
    return Status::bad_input("cannot open the project: " + why, path.string(), "check the path");
  };
  if (!std::filesystem::exists(info)) {
    return refuse(error ? error.message() : "no such file");
  }
  if (!std::filesystem::is_regular_file(info)) {
    return refuse(std::filesystem::is_directory(info) ? "it is a folder"
                                                      : "it is not a regular file");
  }
  if (std::filesystem::file_size(path, error) == 0 && !error) {
    return refuse("it is empty");
  }
  return Status::ok();
}

Status check_sound(SQLite::Database& db, const std::string& where) {
  std::string verdict = db.execAndGet("PRAGMA quick_check(1)").getString();
  if (verdict != "ok") return damaged(verdict, where);
  return Status::ok();
}

Status cannot_create(const std::filesystem::path& path, int error) {
  return Status::runtime(fmt::format("cannot create the project: {}", std::strerror(error)),
                         path.string(), "choose a writable folder with free space");
}

// The empty file that a new project starts as; `made` tells whether this call made it.
Status claim_empty_file(const std::filesystem::path& path, bool& made) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  made = fd >= 0;
  if (made) {
    ::close(fd);
    return Status::ok();
  }
  if (errno != EEXIST) return cannot_create(path, errno);
  std::error_code error;
  bool empty = std::filesystem::is_regular_file(path, error) &&
               std::filesystem::file_size(path, error) == 0 && !error;
  if (empty) return Status::ok();  // e.g. what a creation left that was killed
  return Status::bad_input("the file exists already", path.string(),
                           "open it, or choose another name");
}

}  // namespace

int LockWait::on_busy(void* self, int calls) {
  auto& wait = *static_cast<LockWait*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (calls == 0) wait.begin_ = now;
  if (wait.stop_.stop_requested()) return 0;
  if (now - wait.begin_ > std::chrono::milliseconds(kBusyTimeoutMs)) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return 1;
}

Status damaged(const std::string& what, const std::string& where) {
  return Status::bad_input(fmt::format("the project is damaged: {}", what), where,
                           "restore it from a copy");
}

Status status_of(const SQLite::Exception& error, const std::string& where,
                 const std::stop_token& stop) {
  switch (error.getErrorCode() & 0xff) {
    case SQLITE_NOTADB:
      return Status::bad_input("the file is not a Lamina project", where, "choose a .lamina file");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      if (stop.stop_requested()) return Status::cancelled();
      return Status::runtime("the project is in use by another program", where,
                             "try again when it has finished");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Status::runtime(fmt::format("the project cannot be written: {}", error.what()), where,
                             "make the file and its folder writable, or work on a copy");
    case SQLITE_FULL:
      return Status::runtime("the disk is full", where, "free some space and try again");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS:
      return Status::runtime(fmt::format("the project cannot be used: {}", error.what()), where,
                             "check the disk, its permissions and the memory");
    default:
      return damaged(error.what(), where);
  }
}

Status migrate(SQLite::Database& db, std::span<const Migration> migrations,
               const std::string& where) {
  const int newest = migrations.back().to_version;
  auto check = [&](int version) {
    if (version >= 0 && version <= newest) return Status::ok();
    if (version < 0) return damaged(fmt::format("its version is {}", version), where);
    return Status::bad_input("the project was made by a newer version of Lamina", where,
                             fmt::format("it has format {}, this Lamina reads up to {}: update "
                                         "Lamina",
                                         version, newest));
  };
  int version = pragma_int(db, "user_version");
  LAMINA_RETURN_IF_ERROR(check(version));
  if (version == newest) return Status::ok();
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  version = pragma_int(db, "user_version");  // another program may have migrated meanwhile
  LAMINA_RETURN_IF_ERROR(check(version));
  for (const Migration& migration : migrations) {
    if (migration.to_version > version) db.exec(migration.sql);
  }
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  db.exec(fmt::format("PRAGMA user_version = {}", newest));
  transaction.commit();
  return Status::ok();
}

Result<SQLite::Database> open_checked(const std::filesystem::path& path,
                                      std::span<const Migration> migrations, LockWait& wait) {
  const std::string where = path.string();
  const auto open = [&]() -> Result<SQLite::Database> {
    LAMINA_RETURN_IF_ERROR(check_regular(path));
    SQLite::Database db = connect(path, wait);
    std::error_code error;
    if (pragma_int(db, "page_count") == 0 && std::filesystem::file_size(path, error) == 0) {
      // A creation that was killed: its journal has just been rolled back to nothing.
      LAMINA_RETURN_IF_ERROR(set_durability(db, where));
      LAMINA_RETURN_IF_ERROR(migrate(db, migrations, where));
      return db;
    }
    if (pragma_int(db, "application_id") != kApplicationId) {
      return Status::bad_input("the database is not a Lamina project", where,
                               "choose a .lamina file");
    }
    LAMINA_RETURN_IF_ERROR(check_sound(db, where));
    // The version is looked at first: a newer file is never written.
    LAMINA_RETURN_IF_ERROR(migrate(db, migrations, where));
    LAMINA_RETURN_IF_ERROR(set_durability(db, where));
    return db;
  };
  return guarded(where, open, wait.stop());
}

Result<SQLite::Database> create_new(const std::filesystem::path& path,
                                    std::span<const Migration> migrations, LockWait& wait) {
  const std::string where = path.string();
  bool made = false;
  LAMINA_RETURN_IF_ERROR(claim_empty_file(path, made));
  const auto fill = [&]() -> Result<SQLite::Database> {
    SQLite::Database db = connect(path, wait);
    LAMINA_RETURN_IF_ERROR(set_durability(db, where));
    LAMINA_RETURN_IF_ERROR(migrate(db, migrations, where));
    return db;
  };
  auto result = guarded(where, fill, wait.stop());
  std::error_code error;
  if (!result && made && std::filesystem::file_size(path, error) == 0 && !error) {
    std::filesystem::remove(path, error);
  }
  return result;
}

std::string digest(std::initializer_list<std::string_view> parts) {
  Sha256 hash;
  for (std::string_view part : parts) {
    hash.update(fmt::format("{}:", part.size()));
    hash.update(part);
  }
  return hash.hex_digest();
}

}  // namespace lamina::database
