// SPDX-License-Identifier: Apache-2.0
// One connection to a project file: settings that keep a hostile file harmless, the migration of
// older files, and SQLite's exceptions as Status. Used by project.cc and its tests; include only in
// .cc files.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace lamina::database {

inline constexpr std::int32_t kApplicationId = 0x4c414d49;  // "LAMI"
inline constexpr int kBusyTimeoutMs = 10000;
inline constexpr int kMaxValueBytes = 256 << 20;  // of one column; SQLite's own limit is 1 GB

// SQL that brings a file from version `to_version` - 1 to `to_version`. A published migration is
// frozen.
struct Migration {
  int to_version = 0;
  const char* sql = nullptr;
};

// All of them in ascending order; the last one's version is what this Lamina writes. The first one
// makes the tables of an empty file.
std::span<const Migration> project_migrations();

// Applies what `db` lacks in one transaction, which writes user_version last; a file that is up to
// date is not written. Errors: kBadInput for a newer file, kRuntime for the disk; then nothing has
// changed.
Status migrate(SQLite::Database& db, std::span<const Migration> migrations,
               const std::string& where);

// Opens an existing project (its file must not be empty), checks that it is one and sound, and
// migrates. Errors as Project::open.
Result<SQLite::Database> open_checked(const std::filesystem::path& path,
                                      std::span<const Migration> migrations);
// Makes a project in a new or empty file. Errors as Project::create.
Result<SQLite::Database> create_new(const std::filesystem::path& path,
                                    std::span<const Migration> migrations);

// kRuntime where the machine failed (disk, lock, permissions, memory), kBadInput where the file is
// wrong.
Status status_of(const SQLite::Exception& error, const std::string& where);
Status damaged(const std::string& what, const std::string& where);

// Calls f(), which returns a Status or Result, and turns every exception into a Status.
template <class F>
auto guarded(const std::string& where, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const SQLite::Exception& error) {
    return status_of(error, where);
  } catch (const std::bad_alloc&) {
    return Status::runtime("out of memory", where, "close other programs and try again");
  } catch (const std::exception& error) {
    return Status::runtime(error.what(), where);
  }
}

// SHA-256 over the parts and their lengths: stored beside every row, so that a flipped bit is
// noticed.
std::string digest(std::initializer_list<std::string_view> parts);

}  // namespace lamina::database
