// SPDX-License-Identifier: Apache-2.0
#include "engine/base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "engine/base/file.h"

namespace lamina {
namespace {

constexpr int kMaxDepth = 64;

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& where) {
  // Duplicate keys: the parser's callback sees every key with its depth; one set per open object.
  std::vector<std::set<std::string>> keys;
  std::string fault;
  auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) {
      fault = fmt::format("JSON is nested deeper than {} levels", kMaxDepth);
      throw std::length_error(fault);
    }
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      if (!keys.back().insert(parsed.get<std::string>()).second) {
        fault = fmt::format("duplicate key '{}'", parsed.get<std::string>());
        throw std::length_error(fault);
      }
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), callback);
  } catch (const nlohmann::json::parse_error& error) {
    return Status::bad_input(fmt::format("not valid JSON at byte {}", error.byte), where,
                             "the file is damaged or of another kind");
  } catch (const std::exception& error) {
    return Status::bad_input(fault.empty() ? error.what() : fault, where);
  }
}

Result<Json> read_json_file(const std::filesystem::path& path, std::size_t max_bytes) {
  LAMINA_ASSIGN_OR_RETURN(std::string text, read_text_file(path, max_bytes));
  return parse_json(text, path.string());
}

Result<const Json*> json_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) return Status::bad_input("a JSON object was expected", where);
  auto it = object.find(key);
  if (it == object.end()) {
    return Status::bad_input(fmt::format("'{}' is missing", key), where);
  }
  return &*it;
}

Result<std::string> json_string(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* value, json_member(object, key, where));
  if (!value->is_string()) {
    return Status::bad_input(fmt::format("'{}' must be a string", key), where);
  }
  return value->get<std::string>();
}

Result<std::int64_t> json_to_int(const Json& value, const std::string& where, std::int64_t min,
                                 std::int64_t max) {
  if (value.is_number_unsigned()) {
    auto wide = value.get<std::uint64_t>();
    if (wide <= static_cast<std::uint64_t>(INT64_MAX) && static_cast<std::int64_t>(wide) >= min &&
        static_cast<std::int64_t>(wide) <= max) {
      return static_cast<std::int64_t>(wide);
    }
  } else if (value.is_number_integer()) {
    auto v = value.get<std::int64_t>();
    if (v >= min && v <= max) return v;
  } else if (value.is_number_float()) {
    double v = value.get<double>();
    if (v == std::floor(v) && v >= static_cast<double>(min) && v <= static_cast<double>(max) &&
        std::abs(v) < 9.0e15) {
      return static_cast<std::int64_t>(v);
    }
  }
  return Status::bad_input(
      fmt::format("a whole number from {} to {} was expected, not {}", min, max,
                  value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40)),
      where);
}

Result<double> json_to_number(const Json& value, const std::string& where) {
  if (value.is_number()) {
    double v = value.get<double>();
    if (std::isfinite(v)) return v;
  }
  return Status::bad_input("a finite number was expected", where);
}

Result<std::int64_t> json_int(const Json& object, const char* key, const std::string& where,
                              std::int64_t min, std::int64_t max) {
  LAMINA_ASSIGN_OR_RETURN(const Json* value, json_member(object, key, where));
  return json_to_int(*value, fmt::format("{}: {}", where, key), min, max);
}

Result<double> json_number(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* value, json_member(object, key, where));
  return json_to_number(*value, fmt::format("{}: {}", where, key));
}

}  // namespace lamina
