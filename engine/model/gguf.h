// SPDX-License-Identifier: Apache-2.0
// The GGUF container, versions 2 and 3: metadata and the tensor directory of one file. Every count,
// length and offset is checked against the bytes that are left before memory is taken for it. The
// result owns copies of the metadata and views of the mapped bytes; it is a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/config.h"
#include "engine/model/tensor_type.h"

namespace lamina {

// One metadata value. All integers are int64 and all floats double; a U64 above int64 is refused.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<bool>, std::vector<std::string>>;

struct GgufTensor {
  std::string name;
  const TensorType* type = nullptr;
  std::vector<std::int64_t> shape;  // row-major, outermost first (the file's order reversed)
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;
  std::span<const std::byte> data;  // empty where the file ends before the tensor does
};

// Typed look-ups that name the key. Absent keys give the fallback; a value of another type or out
// of range is kBadInput.
class GgufMetadata {
 public:
  std::map<std::string, GgufValue, std::less<>> values;
  std::string where;  // the file, for errors
  bool whole = true;  // false: the file ends before all of them were read

  const GgufValue* find(std::string_view key) const;
  Result<std::int64_t> integer(std::string_view key, std::int64_t fallback, std::int64_t min,
                               std::int64_t max) const;
  Result<double> number(std::string_view key, double fallback) const;  // finite
  Result<bool> boolean(std::string_view key, bool fallback) const;
  Result<std::string> text(std::string_view key, std::string fallback) const;
  // One value for all, or a list of `count` values.
  Result<std::vector<std::int64_t>> per_layer(std::string_view key, std::size_t count,
                                              std::int64_t fallback, std::int64_t min,
                                              std::int64_t max) const;
  Status wrong_type(std::string_view key, std::string_view expected) const;
};

struct GgufFile {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // in file order
  std::uint64_t expected_size = 0;  // of the whole file, without padding; 0: the header is cut
  Cut cut = Cut::kNone;

  // where: the path, for errors. `bytes` must outlive the result. A file that ends too early is a
  // success with `cut` set and what was read until there. Errors: kBadInput for anything that is
  // not the beginning of a well-formed file: counts and lengths that no longer file could hold, and
  // files that end inside the magic.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, const std::string& where);
};

}  // namespace lamina
