// SPDX-License-Identifier: Apache-2.0
#include "engine/model/stored_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <system_error>

#include "engine/base/integer.h"
#include "engine/base/sha256.h"
#include "engine/model/dequant.h"
#include "engine/model/info.h"
#include "engine/model/support.h"
#include "kernels/quantize.h"

namespace lamina {
namespace {

std::string role_name(TensorRole role, int layer) {
  return layer < 0 ? std::string(to_string(role))
                   : fmt::format("{} of layer {}", to_string(role), layer);
}

bool is_global(TensorRole role) {
  return role == TensorRole::kEmbedding || role == TensorRole::kOutput ||
         role == TensorRole::kOutputNorm;
}

// Whether the architecture's forward uses a weight of this role.
bool takes_part(TensorRole role, const ModelConfig& config) {
  switch (role) {
    case TensorRole::kQNorm:
    case TensorRole::kKNorm:
      return config.qk_norm;
    case TensorRole::kPostAttnNorm:
    case TensorRole::kPostMlpNorm:
      return config.post_norms;
    default:
      return true;
  }
}

// Rows of each head from the pairing (2i, 2i + 1) of the file to (i, i + rotary/2).
// values: (heads * head_dim, columns)
std::vector<float> pair_halves(const std::vector<float>& values, std::size_t head_dim,
                               std::size_t rotary, std::size_t columns) {
  std::vector<float> out(values.size());
  std::size_t rows = values.size() / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t within = row % head_dim, target = row;
    if (within < rotary) target = row - within + within % 2 * (rotary / 2) + within / 2;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * columns), columns,
                out.begin() + static_cast<std::ptrdiff_t>(target * columns));
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> StoredCheckpoint::make(Parts parts) {
  std::shared_ptr<StoredCheckpoint> checkpoint(new StoredCheckpoint(std::move(parts)));
  Parts& p = checkpoint->parts_;
  std::sort(p.tensors.begin(), p.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.info.name < b.info.name; });
  checkpoint->infos_.reserve(p.tensors.size());
  Int128 elements = 0, bytes = 0;
  for (const StoredTensor& tensor : p.tensors) {
    checkpoint->infos_.push_back(tensor.info);
    elements += tensor.info.elements;
    bytes += tensor.info.bytes;
  }
  if (!narrow(elements) || !narrow(bytes)) {
    return Status::bad_input("the tensors' sizes exceed 64-bit integers", p.path.string(),
                             "the file is damaged");
  }
  if (p.config.name.empty() && p.cut != Cut::kMetadata) p.config.name = p.path.stem().string();
  LAMINA_RETURN_IF_ERROR(checkpoint->map_roles());
  LAMINA_RETURN_IF_ERROR(finish_config(p.config, p.path.string(), p.cut));
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

Status StoredCheckpoint::map_roles() {
  ModelConfig& config = parts_.config;
  bool known = is_known_architecture(config.architecture) && parts_.cut != Cut::kMetadata;
  for (std::size_t i = 0; i < parts_.tensors.size(); ++i) {
    const std::string& name = parts_.tensors[i].info.name;
    auto key = weight_key(parts_.scheme, config.architecture, name);
    bool used = key && key->layer < config.layers && takes_part(key->role, config);
    if (used && !roles_.emplace(*key, i).second) {
      return Status::bad_input(
          fmt::format("two tensors are the {}: '{}' and '{}'", role_name(key->role, key->layer),
                      parts_.tensors[roles_[*key]].info.name, name),
          parts_.path.string(), "the checkpoint is damaged");
    }
    if (used && known && parts_.tensors[i].type->encoding == Encoding::kOpaque) {
      add_reason(config, fmt::format("weights of type {}", parts_.tensors[i].type->name));
    }
    if (!used && known && !is_unused_weight(parts_.scheme, name) &&
        config.unsupported_reason.empty()) {
      add_reason(config,
                 fmt::format("the tensor '{}', which its architecture does not have", name));
    }
  }
  return Status::ok();
}

Status StoredCheckpoint::require_complete() const {
  if (complete()) return Status::ok();
  return Status::bad_input("the file is truncated: " + parts_.truncation, parts_.path.string(),
                           "fetch it again; only `lamina info` reads it as it is");
}

const StoredTensor* StoredCheckpoint::find(TensorRole role, int layer) const {
  auto it = roles_.find(WeightKey{role, is_global(role) ? -1 : layer});
  return it == roles_.end() ? nullptr : &parts_.tensors[it->second];
}

bool StoredCheckpoint::has(TensorRole role, int layer) const {
  if (role == TensorRole::kOutput && parts_.config.tied_embeddings) return false;
  return find(role, layer) != nullptr;
}

// The llama architecture's GGUF files hold the rows of q and k as interleaved pairs.
bool StoredCheckpoint::stored_interleaved(TensorRole role) const {
  return parts_.scheme == NameScheme::kGguf && parts_.config.architecture == "llama" &&
         (role == TensorRole::kQ || role == TensorRole::kK || role == TensorRole::kQBias ||
          role == TensorRole::kKBias);
}

Result<std::vector<float>> StoredCheckpoint::values(const StoredTensor& tensor) const {
  LAMINA_RETURN_IF_ERROR(require_complete());
  std::string where = fmt::format("{}, tensor '{}'", parts_.path.string(), tensor.info.name);
  if (tensor.type->encoding == Encoding::kOpaque) {
    return Status::bad_input(fmt::format("weights of type {} cannot be read", tensor.type->name),
                             where,
                             "use another quantisation of the model, e.g. Q4_K, Q8_0 or BF16");
  }
  try {
    std::vector<float> out(static_cast<std::size_t>(tensor.info.elements));
    if (!dequantize(*tensor.type, tensor.data, out)) {
      return Status::bad_input("the tensor's size does not fit its type", where,
                               "the file is damaged");
    }
    const std::int64_t at =
        kernels::find_non_finite(out.data(), static_cast<std::int64_t>(out.size()));
    if (at >= 0) {
      const bool nan = std::isnan(out[static_cast<std::size_t>(at)]);
      return Status::bad_input(fmt::format("value {} is {}", at, nan ? "NaN" : "infinite"), where,
                               "the weights are damaged; fetch the model again");
    }
    return out;
  } catch (const std::bad_alloc&) {
    return Status::runtime(
        fmt::format("not enough memory for {} float32 values", tensor.info.elements), where,
        "close other programs or use a smaller model");
  } catch (const std::system_error& error) {
    return Status::runtime(fmt::format("cannot start a thread: {}", error.what()), where,
                           "close other programs, or use fewer threads");
  }
}

Result<std::vector<float>> StoredCheckpoint::read(TensorRole role, int layer,
                                                  std::span<const std::int64_t> shape) const {
  LAMINA_RETURN_IF_ERROR(require_complete());
  bool tied = role == TensorRole::kOutput && parts_.config.tied_embeddings;
  const StoredTensor* tensor = find(tied ? TensorRole::kEmbedding : role, layer);
  if (tensor == nullptr) {
    const int key_layer = is_global(role) ? -1 : layer;
    return Status::bad_input(
        fmt::format("the {} is missing, tensor '{}'", role_name(role, key_layer),
                    weight_name(parts_.scheme, parts_.config.architecture, {role, key_layer})),
        parts_.path.string(), "the checkpoint is incomplete; fetch it again");
  }
  if (!std::equal(shape.begin(), shape.end(), tensor->info.shape.begin(),
                  tensor->info.shape.end())) {
    return Status::bad_input(
        fmt::format("tensor '{}' has the shape [{}], expected [{}]", tensor->info.name,
                    fmt::join(tensor->info.shape, ", "), fmt::join(shape, ", ")),
        parts_.path.string(), "the checkpoint is damaged");
  }
  LAMINA_ASSIGN_OR_RETURN(std::vector<float> out, values(*tensor));
  if (stored_interleaved(role)) {
    auto head_dim = static_cast<std::size_t>(parts_.config.head_dim(layer));
    auto rotary = static_cast<std::size_t>(parts_.config.rope.rotary_dim);
    auto columns = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : std::size_t{1};
    if (head_dim == 0 || columns == 0 || out.size() % (head_dim * columns) != 0) {
      return Status::bad_input(
          fmt::format("tensor '{}' is not made of heads of {} rows", tensor->info.name, head_dim),
          parts_.path.string(), "the checkpoint is damaged");
    }
    return pair_halves(out, head_dim, rotary, columns);
  }
  return out;
}

Result<std::vector<float>> StoredCheckpoint::read_named(std::string_view name) const {
  auto it = std::lower_bound(
      infos_.begin(), infos_.end(), name,
      [](const TensorInfo& info, std::string_view key) { return info.name < key; });
  if (it == infos_.end() || it->name != name) {
    return Status::bad_input(fmt::format("there is no tensor '{}'", name), parts_.path.string(),
                             "check the name");
  }
  return values(parts_.tensors[static_cast<std::size_t>(it - infos_.begin())]);
}

Result<std::string> StoredCheckpoint::fingerprint(const JobContext& context) const {
  LAMINA_RETURN_IF_ERROR(require_complete());
  std::int64_t total = 0;
  for (const StoredTensor& tensor : parts_.tensors)
    total += static_cast<std::int64_t>(tensor.data.size());
  StageProgress progress(context, "fingerprinting", total, "bytes");
  Sha256 sha;
  sha.update(fingerprint_header(parts_.config));
  std::int64_t done = 0;
  for (const StoredTensor& tensor : parts_.tensors) {
    sha.update(fmt::format("{}:{} {} [{}] {}\n", tensor.info.name.size(), tensor.info.name,
                           tensor.info.type, fmt::join(tensor.info.shape, ","),
                           tensor.data.size()));
    constexpr std::size_t kChunk = std::size_t{8} << 20;
    for (std::size_t begin = 0; begin < tensor.data.size(); begin += kChunk) {
      if (context.stop_requested()) return Status::cancelled();
      std::size_t length = std::min(kChunk, tensor.data.size() - begin);
      sha.update(tensor.data.subspan(begin, length));
      done += static_cast<std::int64_t>(length);
      progress.report(done);
    }
  }
  return sha.hex_digest();
}

}  // namespace lamina
