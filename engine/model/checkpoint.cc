// SPDX-License-Identifier: Apache-2.0
#include "engine/model/checkpoint.h"

#include <algorithm>
#include <array>
#include <new>

#include "engine/model/stored_checkpoint.h"

namespace lamina {
namespace {

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

Result<std::shared_ptr<const Checkpoint>> open_any(const std::filesystem::path& path) {
  if (is_pickle_name(path)) return refuse_pickle(path);
  return open_gguf(path);
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const std::filesystem::path& path) {
  try {
    return open_any(path);
  } catch (const std::bad_alloc&) {
    return Status::runtime("not enough memory to read the checkpoint's header", path.string(),
                           "close other programs");
  } catch (const std::exception& error) {
    return Status::bad_input(std::string("cannot read the checkpoint: ") + error.what(),
                             path.string());
  }
}

Result<ModelId> Checkpoint::model_id(const JobContext& context) const {
  LAMINA_ASSIGN_OR_RETURN(std::string sha, fingerprint(context));
  return ModelId{config().name, config().architecture, sha};
}

}  // namespace lamina
