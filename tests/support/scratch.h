// SPDX-License-Identifier: Apache-2.0
// A folder for one test's files, removed at its end.
#pragma once

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace lamina::test {

class Scratch {
 public:
  std::filesystem::path path(const std::string& name) const { return root() / name; }
  std::filesystem::path root() const { return dir_.path().toStdString(); }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::filesystem::path where = path(name);
    std::filesystem::create_directories(where.parent_path());
    std::filesystem::remove(where);  // rewriting in place would wait for the disk
    std::ofstream(where, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return where;
  }

  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  QTemporaryDir dir_;
};

}  // namespace lamina::test
