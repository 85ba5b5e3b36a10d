// SPDX-License-Identifier: Apache-2.0
#include "engine/base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <new>
#include <set>
#include <stdexcept>

#include "engine/base/file.h"

namespace lamina {
namespace {

constexpr int kMaxDepth = 64;
constexpr char kControl[] =
    "control characters cannot stand there; the file is damaged or of another kind";
constexpr char kMendIt[] = "correct the file, or make it again";

// Walks a text that does not parse and says where it stops: the byte and the path, e.g.
// values[3][17].
class FaultFinder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    levels_.back().key = name;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& token,
                   const nlohmann::json::exception& error) override {
    byte_ = byte;
    token_ = token;
    reason_ = error.what();
    return false;
  }

  std::size_t byte() const { return byte_; }

  // text: what was walked.
  Status status(std::string_view text, const std::string& where) const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.is_array) {
        path += fmt::format("[{}]", level.index);
      } else if (!level.key.empty()) {
        path += (path.empty() ? "" : ".") + level.key.substr(0, 60);
      }
    }
    std::string what = fmt::format("not valid JSON at byte {}", byte_);
    if (!path.empty()) what += ", in " + path;
    return Status::bad_input(what, where, advice(text));
  }

 private:
  // The library tells the faults apart only in words: its message, and the token as far as it was
  // read.
  const char* advice(std::string_view text) const {
    const auto says = [&](const char* words) { return reason_.find(words) != std::string::npos; };
    // The library takes a NUL for the end of the text.
    const bool nul = byte_ > 0 && byte_ <= text.size() && text[byte_ - 1] == '\0';
    if (nul || says("control character") || token_.find("<U+") != std::string::npos) {
      return kControl;
    }
    if (says("surrogate")) {
      return "\\ud800 to \\udfff stand for a character in pairs only; write the character itself";
    }
    if (says("ill-formed UTF-8")) return "the file must be UTF-8";
    // NaN, nan, Infinity, inf with or without a sign, each up to the letter that is too much.
    const auto ends = [&](const char* letters) { return token_.ends_with(letters); };
    const bool not_finite = (says("invalid literal") || says("invalid number")) &&
                            (ends("N") || ends("na") || ends("-n") || ends("I") || ends("i"));
    if (not_finite || says("number overflow")) {
      return "a finite number may be expected there; JSON has no NaN or Infinity";
    }
    return "the file is damaged or of another kind";
  }

  struct Level {
    bool is_array = false;
    std::size_t index = 0;
    std::string key;
  };

  bool value() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  bool open(bool is_array) {
    levels_.push_back({is_array, 0, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }

  std::vector<Level> levels_;
  std::size_t byte_ = 0;
  std::string token_;
  std::string reason_;
};

Status syntax_fault(std::string_view text, const std::string& where) {
  FaultFinder finder;
  Json::sax_parse(text.begin(), text.end(), &finder);
  return finder.status(text, where);
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& where) {
  // Duplicate keys: the parser's callback sees every key; one set per open object.
  std::vector<std::set<std::string>> keys;
  std::string fault;
  auto refuse = [&](std::string why) {
    fault = std::move(why);
    throw std::length_error(fault);
  };
  auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= kMaxDepth) {
      refuse(fmt::format("JSON is nested deeper than {} levels", kMaxDepth));
    }
    if (event == Event::object_start) {
      keys.emplace_back();
    } else if (event == Event::object_end) {
      keys.pop_back();
    } else if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      refuse(fmt::format("duplicate key '{}'", parsed.get<std::string>().substr(0, 60)));
    }
    return true;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), callback);
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
      return Status::bad_input(fmt::format("not valid JSON at byte {}", nul + 1), where, kControl);
    }
    return json;
  } catch (const std::bad_alloc&) {
    return Status::runtime("out of memory", where, "the file is too large for this machine");
  } catch (const std::exception&) {
    if (!fault.empty()) return Status::bad_input(fault, where, kMendIt);
    return syntax_fault(text, where);
  }
}

bool is_json_beginning(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  FaultFinder finder;
  return Json::sax_parse(text.begin(), text.end(), &finder) || finder.byte() > text.size();
}

Result<Json> read_json_file(const std::filesystem::path& path, std::size_t max_bytes) {
  LAMINA_ASSIGN_OR_RETURN(std::string text, read_text_file(path, max_bytes));
  return parse_json(text, path.string());
}

Result<const Json*> json_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) return Status::bad_input("a JSON object was expected", where, kMendIt);
  auto it = object.find(key);
  if (it == object.end()) {
    return Status::bad_input(fmt::format("'{}' is missing", key), where, kMendIt);
  }
  return &*it;
}

Result<std::string> json_string(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* value, json_member(object, key, where));
  if (!value->is_string()) {
    return Status::bad_input(fmt::format("'{}' must be a string", key), where, kMendIt);
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
      where, kMendIt);
}

Result<double> json_to_number(const Json& value, const std::string& where) {
  if (value.is_number()) {
    double v = value.get<double>();
    if (std::isfinite(v)) return v;
  }
  return Status::bad_input("a finite number was expected", where, kMendIt);
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
