// SPDX-License-Identifier: Apache-2.0
// A checkpoint on disk: GGUF (one or split files) or a Hugging Face folder (safetensors). Opening reads
// and checks the headers only; tensors are memory-mapped and dequantised one at a time. Const access is
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/progress.h"
#include "engine/base/status.h"
#include "engine/model/config.h"
#include "engine/table/table.h"

namespace lamina {

struct TensorInfo {
  std::string name;                 // as in the file
  std::string type;                 // "F32", "Q4_K", "BF16", ...
  std::vector<std::int64_t> shape;  // row-major, outermost first (GGUF's order reversed)
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;  // in the file
};

// What a weight does, independent of the file format's names.
enum class TensorRole : int {
  kEmbedding, kOutput, kOutputNorm,
  kAttnNorm, kQ, kK, kV, kO, kQBias, kKBias, kVBias, kQNorm, kKNorm, kPostAttnNorm,
  kMlpNorm, kGate, kUp, kDown, kPostMlpNorm
};
std::string_view to_string(TensorRole role);

class TokenizerData;  // engine/model/tokenizer.h

class Checkpoint {
 public:
  // A .gguf file (any part of a split one), a folder with config.json and *.safetensors, or the
  // path of that config.json or of one .safetensors file in it. A truncated file opens with
  // complete() false. Errors: kBadInput for everything malformed, and for files too short to tell
  // their format (3 bytes of GGUF, 7 of safetensors); pickle files are refused with the advice to
  // convert.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& path);
  virtual ~Checkpoint() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual const ModelConfig& config() const = 0;
  // Where its files end too early. What `cut` leaves unknown of config() is negative or empty
  // there.
  virtual Cut cut() const = 0;
  bool complete() const { return cut() == Cut::kNone; }
  // Errors: kBadInput, "the file is truncated", for a checkpoint that is not complete.
  virtual Status require_complete() const = 0;
  virtual std::string_view format() const = 0;  // "gguf" or "safetensors"
  // Sorted by name.
  virtual const std::vector<TensorInfo>& tensors() const = 0;

  // The weight of a role (layer ignored for global ones) as float32, row-major, in the layout the
  // forward expects: matrices (out, in); GGUF's permuted q/k rows of the llama architecture are put
  // back; gemma norms of GGUF files and HF files agree (see ModelConfig::norm_plus_one). `shape` is the
  // expected one; optional roles that the file lacks: has() is false.
  // Errors: kBadInput: missing, wrong shape (expected and actual are named), NaN or Inf in it (named).
  virtual Result<std::vector<float>> read(TensorRole role, int layer,
                                          std::span<const std::int64_t> shape) const = 0;
  virtual bool has(TensorRole role, int layer) const = 0;
  // Raw float32 values of a tensor by the file's name. Errors: kBadInput.
  virtual Result<std::vector<float>> read_named(std::string_view name) const = 0;

  // What the tokenizer is built from; never null, possibly of kind "none".
  virtual std::shared_ptr<const TokenizerData> tokenizer_data() const = 0;

  // SHA-256 of spec section 6. Reads every byte (about 1 s per GB). Errors: incomplete file, cancelled.
  virtual Result<std::string> fingerprint(const JobContext& context) const = 0;

  Result<ModelId> model_id(const JobContext& context) const;
};

// The JSON document of `lamina info` (spec section 10); fingerprint "" leaves it null.
std::string info_json(const Checkpoint& checkpoint, const std::string& fingerprint);

}  // namespace lamina
