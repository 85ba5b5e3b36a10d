// SPDX-License-Identifier: Apache-2.0
// A checkpoint from a Hugging Face folder.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/base/json.h"
#include "engine/model/hf_config.h"
#include "engine/model/pickle.h"
#include "engine/model/safetensors.h"
#include "engine/model/stored_checkpoint.h"

namespace lamina {
namespace {

namespace fs = std::filesystem;

struct Shards {
  std::vector<fs::path> files;
  std::map<std::string, std::string> index;  // tensor -> file name; empty without an index
};

// The files of a folder with an ending that `wanted` accepts, sorted.
Result<std::vector<fs::path>> list_files(const fs::path& folder, bool (*wanted)(const fs::path&)) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (wanted(it->path())) found.push_back(it->path());
  }
  if (error)
    return Status::bad_input("cannot list the folder: " + error.message(), folder.string(),
                             "check the path");
  std::sort(found.begin(), found.end());
  return found;
}

Result<Shards> read_index(const fs::path& folder, const fs::path& index_path) {
  Shards shards;
  LAMINA_ASSIGN_OR_RETURN(Json json, read_json_file(index_path));
  LAMINA_ASSIGN_OR_RETURN(const Json* map, json_member(json, "weight_map", index_path.string()));
  if (!map->is_object() || map->empty()) {
    return Status::bad_input("'weight_map' names no tensor", index_path.string(),
                             "fetch the folder again");
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find_first_of("/\\") != std::string::npos ||
        !name.ends_with(".safetensors")) {
      return Status::bad_input(
          fmt::format("tensor '{}' is not in a .safetensors file of the folder", tensor),
          index_path.string(), "fetch the folder again");
    }
    shards.index.emplace(tensor, name);
    names.insert(name);
  }
  for (const std::string& name : names) {
    std::error_code error;
    if (!fs::exists(folder / name, error)) {
      return Status::bad_input("a shard is missing", (folder / name).string(),
                               "fetch the folder again");
    }
    shards.files.push_back(folder / name);
  }
  return shards;
}

Result<Shards> find_shards(const fs::path& folder) {
  std::error_code error;
  fs::path index_path = folder / "model.safetensors.index.json";
  if (fs::exists(index_path, error)) return read_index(folder, index_path);
  if (fs::exists(folder / "model.safetensors", error))
    return Shards{{folder / "model.safetensors"}, {}};
  LAMINA_ASSIGN_OR_RETURN(auto found, list_files(folder, [](const fs::path& p) {
                            return p.extension() == ".safetensors";
                          }));
  if (found.size() == 1) return Shards{found, {}};
  if (found.size() > 1) {
    return Status::bad_input("several .safetensors files without model.safetensors.index.json",
                             folder.string(), "fetch the index file too");
  }
  LAMINA_ASSIGN_OR_RETURN(auto pickles, list_files(folder, is_pickle_name));
  if (!pickles.empty()) return refuse_pickle(pickles[0]);
  return Status::bad_input("the folder holds no .safetensors file", folder.string(),
                           "give a GGUF file or a Hugging Face folder with safetensors");
}

// Every tensor is in the shard that the index names, and in no other. What the shards hold whose
// header is cut is not known.
Status check_index(const Shards& shards,
                   const std::vector<std::pair<std::string, std::string>>& placed,
                   const std::set<std::string>& cut_shards, const fs::path& folder) {
  std::map<std::string, std::string> seen;
  for (const auto& [tensor, file] : placed) {
    auto [it, fresh] = seen.emplace(tensor, file);
    if (!fresh) {
      return Status::bad_input(
          fmt::format("duplicate tensor '{}' in {} and {}", tensor, it->second, file),
          folder.string(), "fetch the folder again");
    }
    if (!shards.index.empty() && !shards.index.contains(tensor)) {
      return Status::bad_input(
          fmt::format("the index does not name tensor '{}' of {}", tensor, file), folder.string(),
          "fetch the folder again");
    }
  }
  for (const auto& [tensor, file] : shards.index) {
    if (cut_shards.contains(file)) continue;
    auto it = seen.find(tensor);
    if (it == seen.end() || it->second != file) {
      return Status::bad_input(
          fmt::format("tensor '{}' is not in {}, where the index puts it", tensor, file),
          folder.string(), "fetch the folder again");
    }
  }
  return Status::ok();
}

Status read_shards(const Shards& shards, const fs::path& folder, StoredCheckpoint::Parts& parts) {
  std::vector<std::pair<std::string, std::string>> placed;
  std::set<std::string> cut_shards;
  for (const fs::path& path : shards.files) {
    LAMINA_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
    LAMINA_ASSIGN_OR_RETURN(SafetensorsFile shard,
                            SafetensorsFile::parse(file->bytes(), path.string()));
    parts.cut = std::max(parts.cut, shard.cut);
    if (shard.cut == Cut::kDirectory) cut_shards.insert(path.filename().string());
    if (shard.cut != Cut::kNone && parts.truncation.empty()) {
      const std::size_t bytes = file->bytes().size();
      parts.truncation = shard.cut == Cut::kData
                             ? fmt::format("{} of {} bytes are there", bytes, shard.expected_size)
                             : fmt::format("its {} bytes end inside the header", bytes);
      parts.truncation += " in " + path.filename().string();
    }
    for (SafetensorsEntry& entry : shard.tensors) {
      placed.emplace_back(entry.name, path.filename().string());
      parts.tensors.push_back(
          {{entry.name, std::string(entry.type->name), entry.shape, entry.elements, entry.bytes},
           entry.type,
           entry.data});
    }
    parts.files.push_back(std::move(file));
  }
  return check_index(shards, placed, cut_shards, folder);
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> open_safetensors(const fs::path& folder) {
  LAMINA_ASSIGN_OR_RETURN(Shards shards, find_shards(folder));
  std::error_code error;
  fs::path config_path = folder / "config.json";
  if (!fs::exists(config_path, error)) {
    return Status::bad_input("config.json is missing", folder.string(),
                             "give a whole Hugging Face folder");
  }
  LAMINA_ASSIGN_OR_RETURN(Json json, read_json_file(config_path, std::size_t{16} << 20));
  StoredCheckpoint::Parts parts;
  parts.path = folder;
  parts.format = "safetensors";
  parts.scheme = NameScheme::kHuggingFace;
  LAMINA_ASSIGN_OR_RETURN(parts.config, hf_config(json, config_path.string()));
  LAMINA_RETURN_IF_ERROR(read_shards(shards, folder, parts));
  LAMINA_ASSIGN_OR_RETURN(TokenizerData tokenizer, hf_tokenizer(folder, json, parts.config));
  parts.tokenizer = std::make_shared<const TokenizerData>(std::move(tokenizer));
  fs::path whole = fs::absolute(folder, error).lexically_normal();
  parts.config.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  return StoredCheckpoint::make(std::move(parts));
}

}  // namespace lamina
