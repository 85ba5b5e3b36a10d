// SPDX-License-Identifier: Apache-2.0
// Files: read-only memory maps, whole small files, and writes that are never seen half done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace lamina {

// A file mapped read-only; unmapped with the last owner. The bytes stay valid as long as the object
// lives and nobody truncates the file. Const access is thread-safe.
class MappedFile {
 public:
  // Errors: kBadInput for a missing path, a directory, an empty or unreadable file.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::filesystem::path path_;
};

// Ends the program with exit code 4 and one line on standard error, instead of a crash without a
// word, when a mapped file is cut short by somebody else while it is read (SIGBUS). For the mains;
// `program` must outlive the process.
void end_on_lost_mapping(const char* program);

// The text of a regular file of at most max_bytes. Errors: kBadInput.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::size_t max_bytes = std::size_t{256} << 20);

// Replaces `path` by `text`: a temporary file beside it, fsync, rename, fsync of the folder; the
// old file stays untouched on any error, its permissions are kept. A link's target is replaced, not
// the link; a terminal, pipe or device is written as it is. Errors: kRuntime (read-only or full
// disk, missing folder, a folder of that name, a pipe without a reader).
Status write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lamina
