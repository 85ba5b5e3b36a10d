// SPDX-License-Identifier: Apache-2.0
// What the serving stacks can run, as resources/targets.json or a file of the user's says.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/json.h"
#include "engine/solve/limits.h"
#include "engine/solve/targets_text.h"

namespace lamina {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxTargets = 1000;

constexpr std::pair<std::string_view, PlanShape> kShapes[] = {{"per_layer", PlanShape::kPerLayer},
                                                              {"edges", PlanShape::kEdges},
                                                              {"uniform", PlanShape::kUniform}};

Result<std::string> filled_string(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(std::string text, json_string(object, key, where));
  if (text.empty())
    return Status::bad_input(fmt::format("'{}' is empty", key), where, "write a text");
  return text;
}

Result<PlanShape> read_shape(const Json& object, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const std::string name, json_string(object, "shape", where));
  for (const auto& [text, shape] : kShapes) {
    if (name == text) return shape;
  }
  return Status::bad_input(fmt::format("the shape '{}' is unknown", name.substr(0, 60)),
                           where + ": shape", "use per_layer, edges or uniform");
}

// The list at `key`, null where the object has none. An empty list would allow nothing.
Result<const Json*> optional_list(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) return static_cast<const Json*>(nullptr);
  if (!found->is_array() || found->empty()) {
    return Status::bad_input(fmt::format("'{}' must be a list with an entry", key), where,
                             "leave it out where any value is possible");
  }
  return &*found;
}

Result<Target> read_target(const Json& object, const std::string& where) {
  Target target;
  LAMINA_ASSIGN_OR_RETURN(target.name, filled_string(object, "name", where));
  const std::string place = fmt::format("{}: target {}", where, target.name.substr(0, 60));
  LAMINA_ASSIGN_OR_RETURN(target.title, filled_string(object, "title", place));
  if (object.contains("note")) {
    LAMINA_ASSIGN_OR_RETURN(target.note, json_string(object, "note", place));
  }
  LAMINA_ASSIGN_OR_RETURN(target.shape, read_shape(object, place));
  LAMINA_ASSIGN_OR_RETURN(const Json* keeps, optional_list(object, "keep", place));
  for (std::size_t i = 0; keeps && i < keeps->size(); ++i) {
    LAMINA_ASSIGN_OR_RETURN(const double keep, json_to_number((*keeps)[i], place + ": keep"));
    if (!(keep > 0 && keep <= 1)) {
      return Status::bad_input(fmt::format("keep is {}", keep), place + ": keep",
                               "it lies above 0 and up to 1");
    }
    target.keep.push_back(keep);
  }
  LAMINA_ASSIGN_OR_RETURN(const Json* pairs, optional_list(object, "bits", place));
  for (std::size_t i = 0; pairs && i < pairs->size(); ++i) {
    const Json& pair = (*pairs)[i];
    if (!pair.is_array() || pair.size() != 2) {
      return Status::bad_input("a pair [K bits, V bits] was expected", place + ": bits",
                               "write e.g. [[8, 8], [16, 16]]");
    }
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t k, json_to_int(pair[0], place + ": bits", 1, 16));
    LAMINA_ASSIGN_OR_RETURN(const std::int64_t v, json_to_int(pair[1], place + ": bits", 1, 16));
    target.k_v_bits.emplace_back(static_cast<int>(k), static_cast<int>(v));
  }
  return target;
}

Result<std::vector<Target>> targets_from(const Json& document, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* list, json_member(document, "targets", where));
  if (!list->is_array() || list->empty() || list->size() > kMaxTargets) {
    return Status::bad_input(
        fmt::format("'targets' must be a list of 1 to {} targets", kMaxTargets), where,
        "resources/schema/targets.schema.json says how one is written");
  }
  std::vector<Target> targets;
  for (std::size_t i = 0; i < list->size(); ++i) {
    LAMINA_ASSIGN_OR_RETURN(Target target,
                            read_target((*list)[i], fmt::format("{}: targets[{}]", where, i)));
    if (std::any_of(targets.begin(), targets.end(),
                    [&](const Target& other) { return other.name == target.name; })) {
      return Status::bad_input(fmt::format("two targets are named '{}'", target.name), where,
                               "give each a name of its own");
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace

const std::vector<Target>& builtin_targets() {
  static const std::vector<Target> targets = [] {
    Result<std::vector<Target>> read =
        targets_from_json(std::string(builtin_targets_text()), "built-in targets");
    return read ? std::move(*read) : std::vector<Target>{};
  }();
  return targets;
}

Result<Target> find_target(std::string_view name, const std::vector<Target>& targets) {
  std::string names;
  for (const Target& target : targets) {
    if (target.name == name) return target;
    names += (names.empty() ? "" : ", ") + target.name;
  }
  return Status::usage(fmt::format("there is no target '{}'", name), "",
                       fmt::format("use one of {}", names));
}

Result<std::vector<Target>> targets_from_json(const std::string& text, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json document, parse_json(text, where));
  return targets_from(document, where);
}

Result<std::vector<Target>> read_targets(const std::filesystem::path& path) {
  LAMINA_ASSIGN_OR_RETURN(const Json document, read_json_file(path, kMaxFileBytes));
  return targets_from(document, path.string());
}

}  // namespace lamina
