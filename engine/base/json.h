// SPDX-License-Identifier: Apache-2.0
// Reading JSON files that may be hostile: size and depth are bounded, duplicate keys and trailing
// text are refused, and every error names the file. Values are taken with as_*() helpers that name
// the field. Include only in .cc files (nlohmann/json is slow to compile).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace lamina {

using Json = nlohmann::json;                 // for reading: look-up in O(log n)
using OrderedJson = nlohmann::ordered_json;  // for writing: keys stay in the order they were set

// where: named in errors, e.g. the path. More than 64 levels and duplicate keys are refused; a
// syntax error names the byte and the path of the value, e.g. values[3][17] (kBadInput).
Result<Json> parse_json(std::string_view text, const std::string& where);
Result<Json> read_json_file(const std::filesystem::path& path,
                            std::size_t max_bytes = std::size_t{256} << 20);

// Whether `text` may be the beginning of a longer JSON text: there is no fault before its end.
bool is_json_beginning(std::string_view text);

// A member of an object. Errors (kBadInput) name `where` and the key. Numbers must be finite; an
// int64 may be written 3 or 3.0.
Result<const Json*> json_member(const Json& object, const char* key, const std::string& where);
Result<std::string> json_string(const Json& object, const char* key, const std::string& where);
Result<std::int64_t> json_int(const Json& object, const char* key, const std::string& where,
                              std::int64_t min, std::int64_t max);
Result<double> json_number(const Json& object, const char* key, const std::string& where);
Result<std::int64_t> json_to_int(const Json& value, const std::string& where, std::int64_t min,
                                 std::int64_t max);
Result<double> json_to_number(const Json& value, const std::string& where);

}  // namespace lamina
