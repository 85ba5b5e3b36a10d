// SPDX-License-Identifier: Apache-2.0
#include "engine/model/safetensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/json.h"
#include "engine/model/checked.h"

namespace lamina {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxTensors = 1'000'000;
constexpr std::size_t kMaxDims = 8;
constexpr std::int64_t kMaxOffset = INT64_MAX / 2;

Status fault(std::string what, const std::string& where) {
  return Status::bad_input(std::move(what), where, "the file is damaged; fetch it again");
}

// begin: where its data starts, relative to the data section.
Status read_entry(const std::string& name, const Json& json, const std::string& where,
                  SafetensorsEntry& entry, std::uint64_t& begin) {
  std::string place = fmt::format("{}, tensor '{}'", where, name);
  entry.name = name;
  LAMINA_ASSIGN_OR_RETURN(std::string type, json_string(json, "dtype", place));
  entry.type = find_safetensors_type(type);
  if (entry.type == nullptr) return fault(fmt::format("unknown type '{}'", type), place);
  LAMINA_ASSIGN_OR_RETURN(const Json* shape, json_member(json, "shape", place));
  if (!shape->is_array() || shape->size() > kMaxDims) {
    return fault(fmt::format("the shape must be a list of at most {} sizes", kMaxDims), place);
  }
  std::uint64_t elements = 1;
  for (const Json& dim : *shape) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t size, json_to_int(dim, place, 0, INT64_MAX));
    if (!checked_mul(elements, static_cast<std::uint64_t>(size), elements) ||
        elements > static_cast<std::uint64_t>(INT64_MAX)) {
      return fault("its dimensions overflow", place);
    }
    entry.shape.push_back(size);
  }
  entry.elements = static_cast<std::int64_t>(elements);
  if (!tensor_bytes(*entry.type, elements, entry.bytes)) return fault("its size overflows", place);
  LAMINA_ASSIGN_OR_RETURN(const Json* offsets, json_member(json, "data_offsets", place));
  if (!offsets->is_array() || offsets->size() != 2)
    return fault("data_offsets must be two numbers", place);
  LAMINA_ASSIGN_OR_RETURN(std::int64_t from, json_to_int((*offsets)[0], place, 0, kMaxOffset));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t to, json_to_int((*offsets)[1], place, from, kMaxOffset));
  begin = static_cast<std::uint64_t>(from);
  if (static_cast<std::uint64_t>(to - from) != entry.bytes) {
    return fault(
        fmt::format("its data takes {} bytes, its shape and type {}", to - from, entry.bytes),
        place);
  }
  return Status::ok();
}

struct Placed {
  std::uint64_t begin;
  SafetensorsEntry entry;
};

// No hole, no overlap: each range begins where the one before ends.
Status place_entries(std::vector<Placed>& placed, std::span<const std::byte> data,
                     const std::string& where, SafetensorsFile& file) {
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.entry.bytes < b.entry.bytes;
  });
  std::uint64_t next = 0;
  for (Placed& item : placed) {
    if (item.begin != next) {
      return fault(fmt::format("tensor '{}': its data begins at {}, expected {}", item.entry.name,
                               item.begin, next),
                   where);
    }
    std::uint64_t end = next + item.entry.bytes;  // both below kMaxOffset
    if (end <= data.size()) item.entry.data = data.subspan(next, item.entry.bytes);
    next = end;
    file.tensors.push_back(std::move(item.entry));
  }
  if (next < data.size()) {
    return fault(fmt::format("{} bytes follow the last tensor", data.size() - next), where);
  }
  file.cut = next == data.size() ? Cut::kNone : Cut::kData;
  file.expected_size = next;
  return Status::ok();
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                               const std::string& where) {
  if (bytes.size() < 8)
    return fault("not a safetensors file: it is shorter than its header's length", where);
  std::uint64_t length = 0;
  for (int i = 0; i < 8; ++i) {
    length |=
        static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]))
        << (8 * i);
  }
  if (length > kMaxHeader) {
    return fault(fmt::format("not a safetensors file: its header claims {} bytes, the limit is {}",
                             length, kMaxHeader),
                 where);
  }
  const std::uint64_t there = std::min<std::uint64_t>(length, bytes.size() - 8);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, there);
  if (length < 2 || (!text.empty() && text[0] != '{'))
    return fault("not a safetensors file: its header is no JSON object", where);
  if (there < length && is_json_beginning(text)) {
    SafetensorsFile beginning;
    beginning.cut = Cut::kDirectory;
    return beginning;
  }
  LAMINA_ASSIGN_OR_RETURN(Json header, parse_json(text, where));
  if (header.size() > kMaxTensors)
    return fault(fmt::format("{} tensors are claimed", header.size()), where);
  std::vector<Placed> placed;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return fault("__metadata__ must be an object of texts", where);
      for (const auto& item : value.items()) {
        if (!item.value().is_string())
          return fault("__metadata__ must be an object of texts", where);
      }
      continue;
    }
    Placed item{};
    LAMINA_RETURN_IF_ERROR(read_entry(name, value, where, item.entry, item.begin));
    placed.push_back(std::move(item));
  }
  SafetensorsFile file;
  LAMINA_RETURN_IF_ERROR(place_entries(placed, bytes.subspan(8 + length), where, file));
  file.expected_size += 8 + length;
  return file;
}

}  // namespace lamina
