// SPDX-License-Identifier: Apache-2.0
// The safetensors container: one file's tensor directory, checked by the format's rules: the header
// is at most 100,000,000 bytes, keys are unique, sizes are shape times type, and the data ranges
// follow one another without hole or overlap. The result views the mapped bytes; it is a plain
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/config.h"
#include "engine/model/tensor_type.h"

namespace lamina {

struct SafetensorsEntry {
  std::string name;
  const TensorType* type = nullptr;
  std::vector<std::int64_t> shape;  // row-major, outermost first
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;
  std::span<const std::byte> data;  // empty where the file ends before the tensor does
};

struct SafetensorsFile {
  std::vector<SafetensorsEntry> tensors;  // in the order of their data
  std::uint64_t expected_size = 0;        // of the whole file; 0: the header is cut
  Cut cut = Cut::kNone;                   // kDirectory: no tensor is known

  // where: the path, for errors. `bytes` must outlive the result. A file that ends too early is a
  // success with `cut` set. Errors: kBadInput for anything that is not the beginning of a
  // well-formed file, for files of less than 8 bytes, and for bytes behind the last tensor.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, const std::string& where);
};

}  // namespace lamina
