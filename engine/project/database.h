// SPDX-License-Identifier: Apache-2.0
// One connection to a project file: settings that keep a hostile file harmless, the migration of
// older files, and SQLite's exceptions as Status. Used by project.cc and its tests; include only in
// .cc files.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace lamina::database {

inline constexpr std::int32_t kApplicationId = 0x4c414d49;  // "LAMI"
inline constexpr int kBusyTimeoutMs = 10000;
inline constexpr int kMaxValueBytes = 256 << 20;  // of one column; SQLite's own limit is 1 GB

// How a connection waits for another program's lock: up to kBusyTimeoutMs, no longer than until
// `stop` is requested. It must outlive the connection; one connection each.
class LockWait {
 public:
  explicit LockWait(std::stop_token stop = {}) : stop_(std::move(stop)) {}
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;
  const std::stop_token& stop() const { return stop_; }
  // SQLite's busy handler; self: the LockWait.
  static int on_busy(void* self, int calls);

 private:
  std::stop_token stop_;
  std::chrono::steady_clock::time_point begin_;
};

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
                                      std::span<const Migration> migrations, LockWait& wait);
// Makes a project in a new or empty file. Errors as Project::create.
Result<SQLite::Database> create_new(const std::filesystem::path& path,
                                    std::span<const Migration> migrations, LockWait& wait);

// kRuntime where the machine failed (disk, lock, permissions, memory), kBadInput where the file is
// wrong, kCancelled where the file is locked and `stop` has ended the wait.
Status status_of(const SQLite::Exception& error, const std::string& where,
                 const std::stop_token& stop = {});
Status damaged(const std::string& what, const std::string& where);

// Calls f(), which returns a Status or Result, and turns every exception into a Status.
template <class F>
auto guarded(const std::string& where, F&& f, const std::stop_token& stop = {}) -> decltype(f()) {
  try {
    return f();
  } catch (const SQLite::Exception& error) {
    return status_of(error, where, stop);
  } catch (const std::bad_alloc&) {
    return Status::runtime("out of memory", where, "close other programs and try again");
  } catch (const std::exception& error) {
    return Status::runtime(error.what(), where, "check the file and its folder");
  }
}

// SHA-256 over the parts and their lengths: stored beside every row, so that a flipped bit is
// noticed.
std::string digest(std::initializer_list<std::string_view> parts);

}  // namespace lamina::database
