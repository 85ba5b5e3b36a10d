// SPDX-License-Identifier: Apache-2.0
// Optional members of a config.json: an absent or null member gives the fallback, one of another
// type is kBadInput naming the file and the key. Include only in .cc files.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/json.h"

namespace lamina {

class JsonFields {
 public:
  // Keeps references to both.
  JsonFields(const Json& object, const std::string& where) : object_(object), where_(where) {}

  const Json* find(const char* key) const;  // nullptr: absent or null
  bool has(const char* key) const { return find(key) != nullptr; }
  Result<std::int64_t> integer(const char* key, std::int64_t fallback, std::int64_t min,
                               std::int64_t max) const;
  Result<double> number(const char* key, double fallback) const;
  Result<bool> boolean(const char* key, bool fallback) const;
  Result<std::string> text(const char* key, std::string fallback) const;
  const std::string& where() const { return where_; }

 private:
  const Json& object_;
  const std::string& where_;
};

}  // namespace lamina
