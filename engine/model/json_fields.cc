// SPDX-License-Identifier: Apache-2.0
#include "engine/model/json_fields.h"

namespace lamina {

const Json* JsonFields::find(const char* key) const {
  if (!object_.is_object()) return nullptr;
  auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

Result<std::int64_t> JsonFields::integer(const char* key, std::int64_t fallback, std::int64_t min,
                                         std::int64_t max) const {
  return has(key) ? json_int(object_, key, where_, min, max) : fallback;
}

Result<double> JsonFields::number(const char* key, double fallback) const {
  return has(key) ? json_number(object_, key, where_) : fallback;
}

Result<bool> JsonFields::boolean(const char* key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    return Status::bad_input(std::string("'") + key + "' must be true or false", where_,
                             "correct the file, or make it again");
  }
  return value->get<bool>();
}

Result<std::string> JsonFields::text(const char* key, std::string fallback) const {
  return has(key) ? json_string(object_, key, where_) : fallback;
}

}  // namespace lamina
