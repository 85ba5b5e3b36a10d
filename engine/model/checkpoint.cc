// SPDX-License-Identifier: Apache-2.0
#include "engine/model/checkpoint.h"

#include <algorithm>
#include <array>
#include <new>

#include "engine/model/pickle.h"
#include "engine/model/stored_checkpoint.h"

namespace lamina {
namespace {

Result<std::shared_ptr<const Checkpoint>> open_any(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_safetensors(path);
  if (is_pickle_name(path)) return refuse_pickle(path);
  if (path.filename() == "config.json" || path.extension() == ".safetensors") {
    if (!std::filesystem::exists(path, error)) {
      return Status::bad_input("cannot read the file: it is not there", path.string(),
                               "check the path");
    }
    std::filesystem::path folder = path.parent_path();
    return open_safetensors(folder.empty() ? std::filesystem::path(".") : folder);
  }
  return open_gguf(path);
}

}  // namespace

bool is_pickle_name(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 6> kEndings = {".bin",  ".pt",  ".pth",
                                                        ".ckpt", ".pkl", ".pickle"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

Status refuse_pickle(const std::filesystem::path& path) {
  return Status::bad_input(
      "pickle checkpoints can run code when they are read, so they are refused", path.string(),
      "convert the model to safetensors, outside Lamina");
}

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const std::filesystem::path& path) {
  try {
    return open_any(path);
  } catch (const std::bad_alloc&) {
    return Status::runtime("not enough memory to read the checkpoint's header", path.string(),
                           "close other programs");
  } catch (const std::exception& error) {
    return Status::bad_input(std::string("cannot read the checkpoint: ") + error.what(),
                             path.string(), "check the path and the file");
  }
}

Result<ModelId> Checkpoint::model_id(const JobContext& context) const {
  LAMINA_ASSIGN_OR_RETURN(std::string sha, fingerprint(context));
  return ModelId{config().name, config().architecture, sha};
}

}  // namespace lamina
