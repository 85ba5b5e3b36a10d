// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/file.h"
#include "engine/model/hf_config.h"
#include "engine/model/json_fields.h"
#include "engine/model/support.h"

namespace lamina {
namespace {

// A JSON file of the folder; an empty object where it is absent.
Result<Json> optional_json(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Json::object();
  return read_json_file(path, std::size_t{16} << 20);
}

// One id or a list of ids; -1 means none.
Status read_ids(const Json& value, const std::string& where, std::vector<std::int32_t>& ids) {
  std::vector<const Json*> items;
  if (value.is_array()) {
    for (const Json& item : value) items.push_back(&item);
  } else {
    items.push_back(&value);
  }
  for (const Json* item : items) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t id, json_to_int(*item, where, -1, kMaxVocab));
    if (id >= 0) ids.push_back(static_cast<std::int32_t>(id));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return Status::ok();
}

// The first of `objects` that has the key decides.
struct Source {
  const Json* object;
  std::string where;
};
Result<std::vector<std::int32_t>> first_ids(const std::vector<Source>& sources, const char* key) {
  std::vector<std::int32_t> ids;
  for (const Source& source : sources) {
    JsonFields fields(*source.object, source.where);
    if (const Json* value = fields.find(key)) {
      LAMINA_RETURN_IF_ERROR(read_ids(*value, fmt::format("{}: {}", source.where, key), ids));
      return ids;
    }
  }
  return ids;
}

// Whether a post-processor puts a special token before the text.
bool begins_with_special(const Json& processor) {
  if (!processor.is_object()) return false;
  if (auto list = processor.find("processors"); list != processor.end() && list->is_array()) {
    return std::any_of(list->begin(), list->end(), [](const Json& item) {
      return item.is_object() && !item.contains("processors") && begins_with_special(item);
    });
  }
  auto single = processor.find("single");
  return single != processor.end() && single->is_array() && !single->empty() &&
         (*single)[0].is_object() && (*single)[0].contains("SpecialToken");
}

// tokenizer.json without its large parts.
Result<Json> small_parts(const std::string& text, const std::string& where) {
  auto keep = [](int depth, Json::parse_event_t event, Json& parsed) {
    return !(depth == 1 && event == Json::parse_event_t::key &&
             (parsed == "model" || parsed == "added_tokens"));
  };
  try {
    return Json::parse(text, keep);
  } catch (const nlohmann::json::exception&) {
    return Status::bad_input("not valid JSON", where, "fetch the folder again");
  }
}

}  // namespace

Result<TokenizerData> hf_tokenizer(const std::filesystem::path& folder, const Json& config_json,
                                   ModelConfig& config) {
  TokenizerData data;
  std::filesystem::path path = folder / "tokenizer.json";
  data.where = path.string();
  LAMINA_ASSIGN_OR_RETURN(Json generation, optional_json(folder / "generation_config.json"));
  LAMINA_ASSIGN_OR_RETURN(Json tokenizer_config, optional_json(folder / "tokenizer_config.json"));
  std::string config_path = (folder / "config.json").string();
  std::vector<Source> sources = {{&generation, (folder / "generation_config.json").string()},
                                 {&config_json, config_path}};
  if (auto it = config_json.find("text_config"); it != config_json.end())
    sources.push_back({&*it, config_path});
  LAMINA_ASSIGN_OR_RETURN(config.eos_ids, first_ids(sources, "eos_token_id"));
  LAMINA_ASSIGN_OR_RETURN(std::vector<std::int32_t> bos, first_ids(sources, "bos_token_id"));
  config.bos_id = bos.empty() ? -1 : bos[0];

  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    data.reason = std::filesystem::exists(folder / "tokenizer.model", error)
                      ? "the folder has tokenizer.model but no tokenizer.json"
                      : "the folder has no tokenizer.json";
    config.tokenizer = "none";
    return data;
  }
  LAMINA_ASSIGN_OR_RETURN(data.json, read_text_file(path));
  data.kind = TokenizerData::Kind::kHfJson;
  config.tokenizer = "tokenizer.json";
  LAMINA_ASSIGN_OR_RETURN(Json parts, small_parts(data.json, data.where));
  bool usual = parts.is_object() && parts.contains("post_processor") &&
               begins_with_special(parts["post_processor"]);
  std::string where = (folder / "tokenizer_config.json").string();
  LAMINA_ASSIGN_OR_RETURN(bool add_bos,
                          JsonFields(tokenizer_config, where).boolean("add_bos_token", usual));
  config.add_bos = add_bos && config.bos_id >= 0;
  return data;
}

}  // namespace lamina
