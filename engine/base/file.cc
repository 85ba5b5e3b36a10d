// SPDX-License-Identifier: Apache-2.0
#include "engine/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace lamina {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int close() {
    int result = fd_ >= 0 ? ::close(fd_) : 0;
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

Status cannot_read(const std::filesystem::path& path, const std::string& why) {
  return Status::bad_input("cannot read the file: " + why, path.string(), "check the path");
}

Status cannot_write(const std::filesystem::path& path, int error) {
  return Status::runtime(std::string("cannot write the file: ") + std::strerror(error),
                         path.string(), "choose a writable place with free space");
}

// Opens a regular, non-empty file and tells its size.
Result<int> open_regular(const std::filesystem::path& path, std::size_t& size) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return cannot_read(path, std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    int error = errno;
    ::close(fd);
    return cannot_read(path, std::strerror(error));
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return cannot_read(path, S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  if (info.st_size == 0) {
    ::close(fd);
    return cannot_read(path, "it is empty");
  }
  size = static_cast<std::size_t>(info.st_size);
  return fd;
}

// 0 or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// Terminals, pipes and devices such as /dev/stdout are written as they are, never replaced.
Status write_through(const std::filesystem::path& path, std::string_view text) {
  // Without O_NONBLOCK, opening a pipe that nobody reads would wait for a reader.
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENXIO) {
    return Status::runtime("cannot write to a pipe or device that nobody reads", path.string(),
                           "start its reader first, or name a file");
  }
  if (fd.get() < 0) return cannot_write(path, errno);
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return cannot_write(path, errno);
  }
  if (int error = write_all(fd.get(), text); error != 0) return cannot_write(path, error);
  return fd.close() == 0 ? Status::ok() : cannot_write(path, errno);
}

// A new file in `folder` with the permissions of any new file; -1 and errno where there is none.
int open_temporary(const std::filesystem::path& folder, std::filesystem::path& name) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = folder / (".lamina-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

const char* lost_mapping_program = "";

// Only async-signal-safe calls.
void on_lost_mapping(int) {
  for (const char* part : {lost_mapping_program,
                           ": error: a file that is being read was cut short by another program: "
                           "restore it and try again\n"}) {
    [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, part, std::strlen(part));
  }
  ::_exit(static_cast<int>(ErrorKind::kRuntime));
}

}  // namespace

void end_on_lost_mapping(const char* program) {
  lost_mapping_program = program;
  std::signal(SIGBUS, on_lost_mapping);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  std::size_t size = 0;
  LAMINA_ASSIGN_OR_RETURN(int raw, open_regular(path, size));
  Descriptor fd(raw);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return cannot_read(path, std::strerror(errno));
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->data_ = static_cast<const std::byte*>(data);
  file->size_ = size;
  file->path_ = path;
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::size_t size = 0;
  LAMINA_ASSIGN_OR_RETURN(int raw, open_regular(path, size));
  Descriptor fd(raw);
  if (size > max_bytes) {
    return Status::bad_input("the file is too large for its kind", path.string(),
                             "at most " + std::to_string(max_bytes) + " bytes are read");
  }
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    ssize_t n = ::read(fd.get(), text.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot_read(path, n < 0 ? std::strerror(errno) : "it ended early");
    done += static_cast<std::size_t>(n);
  }
  return text;
}

Status write_text_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path target = path;
  struct stat old {};
  const bool replaces = ::stat(path.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) return cannot_write(path, EISDIR);
  if (replaces && !S_ISREG(old.st_mode)) return write_through(path, text);
  if (replaces) {  // a link stays; the file it points to is replaced
    std::error_code error;
    target = std::filesystem::canonical(path, error);
    if (error) return cannot_write(path, error.value());
  }
  const std::filesystem::path folder =
      target.parent_path().empty() ? std::filesystem::path(".") : target.parent_path();
  std::filesystem::path temporary;
  Descriptor fd(open_temporary(folder, temporary));
  if (fd.get() < 0) return cannot_write(path, errno);
  auto fail = [&](int error) {
    ::unlink(temporary.c_str());
    return cannot_write(path, error);
  };
  if (replaces && ::fchmod(fd.get(), old.st_mode & 07777) != 0) return fail(errno);
  if (int error = write_all(fd.get(), text); error != 0) return fail(error);
  if (::fsync(fd.get()) != 0) return fail(errno);
  if (fd.close() != 0) return fail(errno);
  if (::rename(temporary.c_str(), target.c_str()) != 0) return fail(errno);
  Descriptor folder_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_fd.get() >= 0) ::fsync(folder_fd.get());
  return Status::ok();
}

}  // namespace lamina
