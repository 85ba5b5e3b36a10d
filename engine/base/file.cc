// SPDX-License-Identifier: Apache-2.0
#include "engine/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

// Writes everything; 0 or the errno of the failure.
int write_all(int fd, std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

// A pipe or device such as /dev/stdout cannot be replaced; it is written to.
Status write_device(const std::filesystem::path& path, std::string_view text) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) return cannot_write(path, errno);
  if (int error = write_all(fd.get(), text)) return cannot_write(path, error);
  if (fd.close() != 0) return cannot_write(path, errno);
  return Status::ok();
}

Status replace_file(const std::filesystem::path& path, std::string_view text) {
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return cannot_write(path, errno);
  auto fail = [&](int error) {
    ::unlink(temporary.c_str());
    return cannot_write(path, error);
  };
  if (int error = write_all(fd.get(), text)) return fail(error);
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd.get(), 0666 & ~mask) != 0 || ::fsync(fd.get()) != 0) return fail(errno);
  if (fd.close() != 0) return fail(errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno);
  std::filesystem::path folder = path.parent_path().empty() ? "." : path.parent_path();
  Descriptor folder_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_fd.get() >= 0) ::fsync(folder_fd.get());
  return Status::ok();
}

}  // namespace

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
  // A link is followed, so that it is its target that gets replaced.
  std::error_code error;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  if (error) target = path;
  std::filesystem::file_status status = std::filesystem::status(target, error);
  if (std::filesystem::is_directory(status)) return cannot_write(path, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return write_device(target, text);
  }
  return replace_file(target, text);
}

}  // namespace lamina
