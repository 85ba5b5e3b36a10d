// SPDX-License-Identifier: Apache-2.0
#include "engine/model/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "engine/model/checked.h"

namespace lamina {
namespace {

constexpr std::uint64_t kMaxHeader = std::uint64_t{64} << 20;  // metadata and tensor directory
constexpr std::uint64_t kMaxString = std::uint64_t{32} << 20;
constexpr std::uint64_t kMaxKey = 65535;
constexpr std::uint64_t kMaxTensorName = 1024;
constexpr std::uint64_t kMaxTensors = 1'000'000;
constexpr std::uint64_t kMaxDims = 4;
// The smallest entries: key length, one key byte, type, one value byte; name length, one name byte,
// dims count, one dim, type, offset.
constexpr std::uint64_t kMinMetadataEntry = 8 + 1 + 4 + 1;
constexpr std::uint64_t kMinTensorEntry = 8 + 1 + 4 + 8 + 4 + 8;

enum ValueType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

std::uint64_t value_size(std::uint32_t type) {
  switch (type) {
    case kU8:
    case kI8:
    case kBool:
      return 1;
    case kU16:
    case kI16:
      return 2;
    case kU32:
    case kI32:
    case kF32:
      return 4;
    case kU64:
    case kI64:
    case kF64:
      return 8;
    default:
      return 0;
  }
}

// Reads little-endian values of the header and accounts for what is left.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& where)
      : rest_(bytes.first(std::min<std::size_t>(bytes.size(), kMaxHeader))),
        size_(rest_.size()),
        where_(where) {}

  std::uint64_t left() const { return rest_.size(); }
  std::uint64_t offset() const { return size_ - rest_.size(); }

  Status fault(std::string what) const {
    return Status::bad_input(std::move(what), fmt::format("{}, byte {}", where_, offset()),
                             "the file is damaged; fetch it again");
  }
  // Whether an error came from the file's early end, not from what it says.
  bool was_cut() const { return cut_; }

  // Whether `count` values of at least `min_bytes` each can be there: an error that says where they
  // cannot be in any file, or one with was_cut() where they can be in a longer one.
  Status need(std::uint64_t count, std::uint64_t min_bytes, std::string_view what) {
    if (count > (kMaxHeader - offset()) / min_bytes) {
      return fault(fmt::format("{}: the header would be longer than {} bytes", what, kMaxHeader));
    }
    if (count * min_bytes <= left()) return Status::ok();
    cut_ = true;
    return fault(fmt::format("the file ends inside its header, in {}", what));
  }

  Result<std::uint64_t> unsigned_value(std::uint64_t width, std::string_view what) {
    LAMINA_RETURN_IF_ERROR(need(width, 1, what));
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_ = rest_.subspan(width);
    return value;
  }
  Result<std::uint32_t> u32(std::string_view what) {
    LAMINA_ASSIGN_OR_RETURN(std::uint64_t value, unsigned_value(4, what));
    return static_cast<std::uint32_t>(value);
  }
  Result<std::uint64_t> u64(std::string_view what) { return unsigned_value(8, what); }

  Result<std::string> string(std::uint64_t max, std::string_view what) {
    LAMINA_ASSIGN_OR_RETURN(std::uint64_t length, u64(what));
    if (length > max) {
      return fault(fmt::format("{} claims {} bytes, the limit is {}", what, length, max));
    }
    LAMINA_RETURN_IF_ERROR(need(length, 1, what));
    std::string text(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
    return text;
  }

 private:
  std::span<const std::byte> rest_;
  std::uint64_t size_;
  bool cut_ = false;
  const std::string& where_;
};

std::int64_t sign_extend(std::uint64_t value, std::uint64_t width) {
  auto shift = static_cast<int>(64 - 8 * width);
  return static_cast<std::int64_t>(value << shift) >> shift;
}

bool is_integer(std::uint32_t type) { return type <= kI32 || type == kU64 || type == kI64; }

Result<std::int64_t> read_integer(Cursor& cursor, std::uint32_t type, std::string_view key) {
  std::uint64_t width = value_size(type);
  LAMINA_ASSIGN_OR_RETURN(std::uint64_t raw, cursor.unsigned_value(width, key));
  if (type == kI8 || type == kI16 || type == kI32 || type == kI64) return sign_extend(raw, width);
  if (raw > static_cast<std::uint64_t>(INT64_MAX)) {
    return cursor.fault(fmt::format("the value of '{}' is beyond 63 bits", key));
  }
  return static_cast<std::int64_t>(raw);
}

Result<double> read_float(Cursor& cursor, std::uint32_t type, std::string_view key) {
  LAMINA_ASSIGN_OR_RETURN(std::uint64_t raw, cursor.unsigned_value(value_size(type), key));
  if (type == kF64) return std::bit_cast<double>(raw);
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(raw)));
}

Result<bool> read_bool(Cursor& cursor, std::string_view key) {
  LAMINA_ASSIGN_OR_RETURN(std::uint64_t raw, cursor.unsigned_value(1, key));
  if (raw > 1) return cursor.fault(fmt::format("the truth value of '{}' is {}", key, raw));
  return raw == 1;
}

// `count` values by `read`, whose memory is bounded by the bytes that are left.
template <class T>
Result<GgufValue> read_list(Cursor& cursor, std::uint64_t count, std::uint64_t min_bytes,
                            std::string_view key, auto&& read) {
  LAMINA_RETURN_IF_ERROR(
      cursor.need(count, min_bytes, fmt::format("the list '{}' claims {} values", key, count)));
  std::vector<T> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    LAMINA_ASSIGN_OR_RETURN(auto value, read());
    values.push_back(std::move(value));
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> read_array(Cursor& cursor, std::string_view key) {
  LAMINA_ASSIGN_OR_RETURN(std::uint32_t type, cursor.u32(key));
  LAMINA_ASSIGN_OR_RETURN(std::uint64_t count, cursor.u64(key));
  if (type == kString) {
    return read_list<std::string>(cursor, count, 8, key,
                                  [&] { return cursor.string(kMaxString, key); });
  }
  if (type == kF32 || type == kF64) {
    return read_list<double>(cursor, count, value_size(type), key,
                             [&] { return read_float(cursor, type, key); });
  }
  if (type == kBool) {
    return read_list<bool>(cursor, count, 1, key, [&] { return read_bool(cursor, key); });
  }
  if (is_integer(type)) {
    return read_list<std::int64_t>(cursor, count, value_size(type), key,
                                   [&] { return read_integer(cursor, type, key); });
  }
  if (type == kArray)
    return cursor.fault(fmt::format("'{}' is a list of lists, which is not supported", key));
  return cursor.fault(fmt::format("the list '{}' has the unknown value type {}", key, type));
}

template <class T>
Result<GgufValue> wrap(Result<T> value) {
  if (!value) return value.status();
  return GgufValue(std::move(value).value());
}

Result<GgufValue> read_value(Cursor& cursor, std::string_view key) {
  LAMINA_ASSIGN_OR_RETURN(std::uint32_t type, cursor.u32(key));
  if (type == kString) return wrap(cursor.string(kMaxString, key));
  if (type == kArray) return read_array(cursor, key);
  if (type == kBool) return wrap(read_bool(cursor, key));
  if (type == kF32 || type == kF64) return wrap(read_float(cursor, type, key));
  if (is_integer(type)) return wrap(read_integer(cursor, type, key));
  return cursor.fault(fmt::format("'{}' has the unknown value type {}", key, type));
}

// REQUIRES that the key is there.
Status check_alignment(GgufFile& file) {
  const auto* number =
      std::get_if<std::int64_t>(&file.metadata.values.find("general.alignment")->second);
  if (number == nullptr) return file.metadata.wrong_type("general.alignment", "a whole number");
  if (*number < 8 || *number > 65536 || !std::has_single_bit(static_cast<std::uint64_t>(*number))) {
    return Status::bad_input(
        fmt::format("the alignment {} is not a power of two from 8 to 65536", *number),
        file.metadata.where, "the file is damaged; fetch it again");
  }
  file.alignment = static_cast<std::uint64_t>(*number);
  return Status::ok();
}

Result<std::uint32_t> read_version(Cursor& cursor, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(std::uint32_t magic, cursor.u32("the magic"));
  if (magic != 0x46554747) {  // "GGUF"
    return Status::bad_input("not a GGUF file: the magic is wrong", where,
                             "give a .gguf file or a Hugging Face folder");
  }
  LAMINA_ASSIGN_OR_RETURN(std::uint32_t version, cursor.u32("the version"));
  if ((version & 0xffff) == 0 && version != 0) {
    return Status::bad_input("a big-endian GGUF file", where, "convert it to little-endian");
  }
  if (version < 2) {
    return Status::bad_input(fmt::format("GGUF version {} is too old", version), where,
                             "convert the model again; versions 2 and 3 are read");
  }
  if (version > 3) {
    return Status::bad_input(fmt::format("GGUF version {} is newer than this program", version),
                             where, "update Lamina; versions 2 and 3 are read");
  }
  return version;
}

Status read_metadata(Cursor& cursor, std::uint64_t count, GgufFile& file) {
  for (std::uint64_t i = 0; i < count; ++i) {
    LAMINA_ASSIGN_OR_RETURN(std::string key, cursor.string(kMaxKey, "a metadata key"));
    if (key.empty()) return cursor.fault("an empty metadata key");
    if (file.metadata.values.contains(key))
      return cursor.fault(fmt::format("duplicate key '{}'", key));
    LAMINA_ASSIGN_OR_RETURN(GgufValue value, read_value(cursor, key));
    const bool is_alignment = key == "general.alignment";
    file.metadata.values.emplace(std::move(key), std::move(value));
    if (is_alignment) LAMINA_RETURN_IF_ERROR(check_alignment(file));
  }
  return Status::ok();
}

// One entry of the directory; `next` is where its data must begin, relative to the data section.
Status read_tensor(Cursor& cursor, const GgufFile& file, std::uint64_t& next, GgufTensor& tensor,
                   std::uint64_t& offset) {
  LAMINA_ASSIGN_OR_RETURN(tensor.name, cursor.string(kMaxTensorName, "a tensor name"));
  if (tensor.name.empty()) return cursor.fault("a tensor without a name");
  auto fault = [&](std::string_view what) {
    return cursor.fault(fmt::format("tensor '{}': {}", tensor.name, what));
  };
  LAMINA_ASSIGN_OR_RETURN(std::uint32_t dims, cursor.u32("a tensor's dimension count"));
  if (dims < 1 || dims > kMaxDims)
    return fault(fmt::format("{} dimensions, 1 to {} are possible", dims, kMaxDims));
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < dims; ++i) {
    LAMINA_ASSIGN_OR_RETURN(std::uint64_t dim, cursor.u64("a tensor's dimensions"));
    if (dim == 0) return fault("a dimension is 0");
    if (!checked_mul(elements, dim, elements) || elements > static_cast<std::uint64_t>(INT64_MAX)) {
      return fault("its dimensions overflow");
    }
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(dim));
  }
  tensor.elements = static_cast<std::int64_t>(elements);
  LAMINA_ASSIGN_OR_RETURN(std::uint32_t type, cursor.u32("a tensor's type"));
  tensor.type = find_ggml_type(type);
  if (tensor.type == nullptr) return fault(fmt::format("unknown type {}", type));
  if (tensor.shape.back() % tensor.type->block_elements != 0) {
    return fault(fmt::format("rows of {} values are no whole {} blocks", tensor.shape.back(),
                             tensor.type->name));
  }
  if (!tensor_bytes(*tensor.type, elements, tensor.bytes)) return fault("its size overflows");
  LAMINA_ASSIGN_OR_RETURN(offset, cursor.u64("a tensor's offset"));
  if (offset != next) return fault(fmt::format("its data offset is {}, expected {}", offset, next));
  std::uint64_t end = 0;
  if (!checked_add(offset, tensor.bytes, end) || !checked_align(end, file.alignment, next)) {
    return fault("the sum of the tensor sizes overflows");
  }
  return Status::ok();
}

// The data's place in the file, behind the directory.
Status place_data(Cursor& cursor, const std::vector<std::uint64_t>& offsets, GgufFile& file,
                  std::span<const std::byte> bytes) {
  std::uint64_t data = 0;
  if (!checked_align(cursor.offset(), file.alignment, data))
    return cursor.fault("the data offset overflows");
  file.expected_size = cursor.offset();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::uint64_t begin = 0, end = 0;
    if (!checked_add(data, offsets[i], begin) || !checked_add(begin, file.tensors[i].bytes, end)) {
      return cursor.fault(fmt::format("tensor '{}': its end overflows", file.tensors[i].name));
    }
    file.expected_size = end;
    if (end <= bytes.size()) file.tensors[i].data = bytes.subspan(begin, file.tensors[i].bytes);
  }
  file.cut = file.expected_size <= bytes.size() ? Cut::kNone : Cut::kData;
  return Status::ok();
}

Status read_directory(Cursor& cursor, std::uint64_t count, GgufFile& file,
                      std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> offsets;
  std::unordered_set<std::string> names;
  // No more than the bytes that are there can describe.
  const std::uint64_t possible = std::min(count, cursor.left() / kMinTensorEntry);
  file.tensors.reserve(possible);
  offsets.reserve(possible);
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufTensor tensor;
    std::uint64_t offset = 0;
    LAMINA_RETURN_IF_ERROR(read_tensor(cursor, file, next, tensor, offset));
    if (!names.insert(tensor.name).second)
      return cursor.fault(fmt::format("duplicate tensor '{}'", tensor.name));
    file.tensors.push_back(std::move(tensor));
    offsets.push_back(offset);
  }
  return place_data(cursor, offsets, file, bytes);
}

// Everything, or an error; `file` then holds what came before it.
Status read_file(Cursor& cursor, std::span<const std::byte> bytes, GgufFile& file) {
  file.cut = Cut::kMetadata;
  file.metadata.whole = false;
  LAMINA_ASSIGN_OR_RETURN(file.version, read_version(cursor, file.metadata.where));
  LAMINA_ASSIGN_OR_RETURN(std::uint64_t tensors, cursor.u64("the tensor count"));
  LAMINA_ASSIGN_OR_RETURN(std::uint64_t entries, cursor.u64("the metadata count"));
  const std::uint64_t room = kMaxHeader - cursor.offset();
  if (entries > room / kMinMetadataEntry) {
    return cursor.fault(
        fmt::format("{} metadata entries are claimed, more than a file can hold", entries));
  }
  if (tensors > kMaxTensors || tensors > (room - entries * kMinMetadataEntry) / kMinTensorEntry) {
    return cursor.fault(fmt::format("{} tensors are claimed, more than a file can hold", tensors));
  }
  LAMINA_RETURN_IF_ERROR(read_metadata(cursor, entries, file));
  file.cut = Cut::kDirectory;
  file.metadata.whole = true;
  return read_directory(cursor, tensors, file, bytes);
}

}  // namespace

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < 4) {
    return Status::bad_input(fmt::format("not a GGUF file: it has {} bytes", bytes.size()), where,
                             "give a .gguf file or a Hugging Face folder");
  }
  GgufFile file;
  file.metadata.where = where;
  Cursor cursor(bytes, where);
  Status status = read_file(cursor, bytes, file);
  if (!status.is_ok() && !cursor.was_cut()) return status;
  return file;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  auto it = values.find(key);
  return it == values.end() ? nullptr : &it->second;
}

Status GgufMetadata::wrong_type(std::string_view key, std::string_view expected) const {
  return Status::bad_input(fmt::format("'{}' must be {}", key, expected), where,
                           "the file is damaged or was written by a faulty converter");
}

Result<std::int64_t> GgufMetadata::integer(std::string_view key, std::int64_t fallback,
                                           std::int64_t min, std::int64_t max) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number == nullptr || *number < min || *number > max) {
    return wrong_type(key, fmt::format("a whole number from {} to {}", min, max));
  }
  return *number;
}

Result<double> GgufMetadata::number(std::string_view key, double fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* count = std::get_if<std::int64_t>(value)) return static_cast<double>(*count);
  const auto* real = std::get_if<double>(value);
  if (real == nullptr || !std::isfinite(*real)) return wrong_type(key, "a finite number");
  return *real;
}

Result<bool> GgufMetadata::boolean(std::string_view key, bool fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* truth = std::get_if<bool>(value)) return *truth;
  return wrong_type(key, "true or false");
}

Result<std::string> GgufMetadata::text(std::string_view key, std::string fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* string = std::get_if<std::string>(value)) return *string;
  return wrong_type(key, "a text");
}

Result<std::vector<std::int64_t>> GgufMetadata::per_layer(std::string_view key, std::size_t count,
                                                          std::int64_t fallback, std::int64_t min,
                                                          std::int64_t max) const {
  const GgufValue* value = find(key);
  if (value == nullptr || std::holds_alternative<std::int64_t>(*value)) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t one, integer(key, fallback, min, max));
    return std::vector<std::int64_t>(count, one);
  }
  const auto* list = std::get_if<std::vector<std::int64_t>>(value);
  if (list == nullptr || list->size() != count) {
    return wrong_type(key, fmt::format("a whole number or a list of {}", count));
  }
  for (std::int64_t number : *list) {
    if (number < min || number > max) {
      return wrong_type(key, fmt::format("a list of whole numbers from {} to {}", min, max));
    }
  }
  return *list;
}

}  // namespace lamina
