// SPDX-License-Identifier: Apache-2.0
// The one implementation behind Checkpoint: a directory of mapped tensors, filled by the reader of
// either format. Immutable once made; owns the mapped files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "engine/model/checkpoint.h"
#include "engine/model/tensor_type.h"
#include "engine/model/tokenizer.h"
#include "engine/model/weight_names.h"

namespace lamina {

struct StoredTensor {
  TensorInfo info;
  const TensorType* type = nullptr;
  std::span<const std::byte> data;  // empty where the file ends before the tensor does
};

class StoredCheckpoint : public Checkpoint {
 public:
  // What a reader fills in.
  struct Parts {
    std::filesystem::path path;
    std::string format;
    ModelConfig config;
    std::vector<StoredTensor> tensors;  // in any order, names unique
    std::vector<std::shared_ptr<const MappedFile>> files;
    std::shared_ptr<const TokenizerData> tokenizer;
    NameScheme scheme = NameScheme::kGguf;
    Cut cut = Cut::kNone;
    std::string truncation;  // "12 of 34 bytes are there"; empty without a cut
  };
  // Maps names to roles, refuses what the forward would leave out, finishes the configuration.
  static Result<std::shared_ptr<const Checkpoint>> make(Parts parts);

  const std::filesystem::path& path() const override { return parts_.path; }
  const ModelConfig& config() const override { return parts_.config; }
  Cut cut() const override { return parts_.cut; }
  Status require_complete() const override;
  std::string_view format() const override { return parts_.format; }
  const std::vector<TensorInfo>& tensors() const override { return infos_; }
  Result<std::vector<float>> read(TensorRole role, int layer,
                                  std::span<const std::int64_t> shape) const override;
  bool has(TensorRole role, int layer) const override;
  Result<std::vector<float>> read_named(std::string_view name) const override;
  std::shared_ptr<const TokenizerData> tokenizer_data() const override { return parts_.tokenizer; }
  Result<std::string> fingerprint(const JobContext& context) const override;

 private:
  explicit StoredCheckpoint(Parts parts) : parts_(std::move(parts)) {}
  Status map_roles();
  const StoredTensor* find(TensorRole role, int layer) const;
  Result<std::vector<float>> values(const StoredTensor& tensor) const;
  bool stored_interleaved(TensorRole role) const;

  Parts parts_;
  std::vector<TensorInfo> infos_;
  std::map<WeightKey, std::size_t> roles_;
};

// The two readers.
Result<std::shared_ptr<const Checkpoint>> open_gguf(const std::filesystem::path& path);
Result<std::shared_ptr<const Checkpoint>> open_safetensors(const std::filesystem::path& folder);

}  // namespace lamina
