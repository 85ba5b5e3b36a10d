// SPDX-License-Identifier: Apache-2.0
// Transformer::load: checks the sizes, then reads every weight to float32.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/rope.h"
#include "engine/model/support.h"
#include "engine/model/torch_scope.h"
#include "engine/model/transformer_state.h"

namespace lamina {
namespace {

using Shape = std::vector<std::int64_t>;

Status bad(const Checkpoint& checkpoint, std::string what) {
  return Status::bad_input(std::move(what), checkpoint.path().string(),
                           "use a checkpoint that is whole and of a supported architecture");
}

Status check_rope(const Checkpoint& checkpoint, const RopeConfig& rope, int head_dim) {
  const bool scaled = rope.scaling != RopeScaling::kNone;
  const bool needs_context =
      rope.scaling == RopeScaling::kLlama3 || rope.scaling == RopeScaling::kYarn;
  if (rope.rotary_dim < 2 || rope.rotary_dim % 2 != 0 || rope.rotary_dim > head_dim) {
    return bad(checkpoint, fmt::format("{} rotated dimensions do not fit heads of {}",
                                       rope.rotary_dim, head_dim));
  }
  if (!(rope.theta > 1) || !std::isfinite(rope.theta) ||
      (scaled && (!(rope.factor > 0) || !std::isfinite(rope.factor))) ||
      (needs_context && rope.original_context <= 0) ||
      (rope.scaling == RopeScaling::kLlama3 && !(rope.high_freq_factor > rope.low_freq_factor)) ||
      (rope.scaling == RopeScaling::kYarn && !(rope.beta_slow > 0 && rope.beta_fast > 0))) {
    return bad(checkpoint, "the RoPE parameters are not usable numbers");
  }
  const std::size_t pairs = static_cast<std::size_t>(rope.rotary_dim) / 2;
  if (!rope.freq_divisors.empty() && rope.freq_divisors.size() != pairs) {
    return bad(checkpoint, fmt::format("rope_freqs.weight has {} values, expected {}",
                                       rope.freq_divisors.size(), pairs));
  }
  for (const float divisor : rope.freq_divisors) {
    if (!(divisor > 0)) return bad(checkpoint, "rope_freqs.weight has a value that is not above 0");
  }
  return Status::ok();
}

Status check_config(const Checkpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config();
  LAMINA_RETURN_IF_ERROR(checkpoint.require_complete());
  if (!c.supported) {
    const std::string reason =
        c.unsupported_reason.empty() ? "" : fmt::format(": {}", c.unsupported_reason);
    const bool known = is_known_architecture(c.architecture);
    return Status::bad_input(fmt::format("the engine cannot run this model of architecture '{}'{}",
                                         c.architecture, reason),
                             checkpoint.path().string(),
                             known ? "use a checkpoint of it without that"
                                   : "it runs llama, mistral, qwen2, qwen3 and gemma3 text models");
  }
  if (c.layers < 1 || c.hidden < 1 || c.intermediate < 1 || c.heads < 1 || c.vocab < 1 ||
      c.kv.size() != static_cast<std::size_t>(c.layers)) {
    return bad(checkpoint, "a size in the checkpoint's header is missing or not above 0");
  }
  for (int l = 0; l < c.layers; ++l) {
    const LayerGeometry& g = c.kv[l];
    if (g.kv_heads < 1 || c.heads % g.kv_heads != 0 || g.head_dim < 1) {
      return bad(checkpoint, fmt::format("layer {}: {} heads do not share {} KV heads of {}", l,
                                         c.heads, g.kv_heads, g.head_dim));
    }
    LAMINA_RETURN_IF_ERROR(
        check_rope(checkpoint, g.window > 0 ? c.rope_local : c.rope, g.head_dim));
  }
  return Status::ok();
}

// In doubles: no product of sizes from a file can overflow.
double weight_bytes(const ModelConfig& c) {
  const double hidden = c.hidden;
  double values = static_cast<double>(c.vocab) * hidden * (c.tied_embeddings ? 1 : 2);
  for (const LayerGeometry& g : c.kv) {
    values +=
        hidden * g.head_dim * (2.0 * c.heads + 2.0 * g.kv_heads) + 3.0 * hidden * c.intermediate;
  }
  return values * sizeof(float);
}

// Takes over the values without a copy.
at::Tensor adopt(std::vector<float>&& values, const Shape& shape) {
  auto* owned = new std::vector<float>(std::move(values));
  return at::from_blob(
      owned->data(), shape, [owned](void*) { delete owned; }, at::kFloat);
}

}  // namespace

class TransformerLoader {
 public:
  TransformerLoader(std::shared_ptr<const Checkpoint> checkpoint, const JobContext& context)
      : context_(context),
        progress_(context, "loading tensors",
                  static_cast<std::int64_t>(checkpoint->tensors().size()), "tensors"),
        state_(std::make_unique<Transformer::State>()) {
    state_->config = checkpoint->config();
    state_->checkpoint = std::move(checkpoint);
  }

  Result<std::shared_ptr<const Transformer>> run() {
    LAMINA_RETURN_IF_ERROR(check_config(*state_->checkpoint));
    LAMINA_RETURN_IF_ERROR(check_memory(weight_bytes(state_->config), "the weights in float32",
                                        state_->checkpoint->path().string(),
                                        "close other programs or use a smaller model"));
    use_threads(context_);
    LAMINA_RETURN_IF_ERROR(load_global());
    state_->layers.resize(state_->config.layers);
    for (int l = 0; l < state_->config.layers; ++l) LAMINA_RETURN_IF_ERROR(load_layer(l));
    return std::shared_ptr<const Transformer>(new Transformer(std::move(state_)));
  }

 private:
  struct Part {
    TensorRole role;
    std::int64_t rows;
  };

  Result<std::vector<float>> read(TensorRole role, int layer, const Shape& shape) {
    if (context_.stop_requested()) return Status::cancelled();
    LAMINA_ASSIGN_OR_RETURN(std::vector<float> values,
                            state_->checkpoint->read(role, layer, shape));
    progress_.report(++done_);
    return values;
  }

  Status load(at::Tensor& out, TensorRole role, int layer, const Shape& shape) {
    LAMINA_ASSIGN_OR_RETURN(std::vector<float> values, read(role, layer, shape));
    out = adopt(std::move(values), shape);
    return Status::ok();
  }

  Status load_norm(at::Tensor& out, TensorRole role, int layer, std::int64_t size) {
    LAMINA_RETURN_IF_ERROR(load(out, role, layer, {size}));
    if (state_->config.norm_plus_one) out.add_(1);
    return Status::ok();
  }

  // Several matrices (columns > 0) or vectors (columns = 0) one below the other.
  template <std::size_t N>
  Status load_stacked(at::Tensor& out, const std::array<Part, N>& parts, int layer,
                      std::int64_t columns) {
    const auto shape = [&](std::int64_t rows) {
      return columns > 0 ? Shape{rows, columns} : Shape{rows};
    };
    std::int64_t rows = 0;
    for (const Part& part : parts) rows += part.rows;
    out = at::empty(shape(rows), at::kFloat);
    rows = 0;
    for (const Part& part : parts) {
      LAMINA_ASSIGN_OR_RETURN(const std::vector<float> values,
                              read(part.role, layer, shape(part.rows)));
      float* target = out.data_ptr<float>() + rows * std::max<std::int64_t>(1, columns);
      std::copy(values.begin(), values.end(), target);
      rows += part.rows;
    }
    return Status::ok();
  }

  Status load_global() {
    const ModelConfig& c = state_->config;
    LAMINA_RETURN_IF_ERROR(load(state_->embedding, TensorRole::kEmbedding, 0, {c.vocab, c.hidden}));
    LAMINA_RETURN_IF_ERROR(load_norm(state_->output_norm, TensorRole::kOutputNorm, 0, c.hidden));
    state_->output = state_->embedding;
    if (c.tied_embeddings) return Status::ok();
    return load(state_->output, TensorRole::kOutput, 0, {c.vocab, c.hidden});
  }

  Status load_attention(LayerWeights& w, int l) {
    const ModelConfig& c = state_->config;
    const std::int64_t head_dim = c.kv[l].head_dim;
    const std::int64_t q_rows = c.heads * head_dim, kv_rows = c.kv[l].kv_heads * head_dim;
    LAMINA_RETURN_IF_ERROR(load_norm(w.attn_norm, TensorRole::kAttnNorm, l, c.hidden));
    const std::array<Part, 3> qkv{
        {{TensorRole::kQ, q_rows}, {TensorRole::kK, kv_rows}, {TensorRole::kV, kv_rows}}};
    LAMINA_RETURN_IF_ERROR(load_stacked(w.qkv, qkv, l, c.hidden));
    if (c.qkv_bias) {
      const std::array<Part, 3> bias{{{TensorRole::kQBias, q_rows},
                                      {TensorRole::kKBias, kv_rows},
                                      {TensorRole::kVBias, kv_rows}}};
      LAMINA_RETURN_IF_ERROR(load_stacked(w.qkv_bias, bias, l, 0));
    }
    if (c.qk_norm) {
      LAMINA_RETURN_IF_ERROR(load_norm(w.q_norm, TensorRole::kQNorm, l, head_dim));
      LAMINA_RETURN_IF_ERROR(load_norm(w.k_norm, TensorRole::kKNorm, l, head_dim));
    }
    LAMINA_RETURN_IF_ERROR(load(w.o, TensorRole::kO, l, {c.hidden, q_rows}));
    const RopeConfig& rope = c.kv[l].window > 0 ? c.rope_local : c.rope;
    w.rope_frequencies = rope_frequencies(rope, c.kv[l].head_dim);
    w.rope_magnitude = rope_magnitude(rope);
    w.rotary_dim = rope.rotary_dim;
    w.attention_scale =
        c.attention_scale > 0 ? c.attention_scale : 1 / std::sqrt(static_cast<double>(head_dim));
    return Status::ok();
  }

  Status load_layer(int l) {
    const ModelConfig& c = state_->config;
    LayerWeights& w = state_->layers[l];
    LAMINA_RETURN_IF_ERROR(load_attention(w, l));
    LAMINA_RETURN_IF_ERROR(load_norm(w.mlp_norm, TensorRole::kMlpNorm, l, c.hidden));
    const std::array<Part, 2> gate_up{
        {{TensorRole::kGate, c.intermediate}, {TensorRole::kUp, c.intermediate}}};
    LAMINA_RETURN_IF_ERROR(load_stacked(w.gate_up, gate_up, l, c.hidden));
    LAMINA_RETURN_IF_ERROR(load(w.down, TensorRole::kDown, l, {c.hidden, c.intermediate}));
    if (c.post_norms) {
      LAMINA_RETURN_IF_ERROR(load_norm(w.post_attn_norm, TensorRole::kPostAttnNorm, l, c.hidden));
      LAMINA_RETURN_IF_ERROR(load_norm(w.post_mlp_norm, TensorRole::kPostMlpNorm, l, c.hidden));
    }
    return Status::ok();
  }

  const JobContext& context_;
  StageProgress progress_;
  std::unique_ptr<Transformer::State> state_;
  std::int64_t done_ = 0;
};

Result<std::shared_ptr<const Transformer>> Transformer::load(
    std::shared_ptr<const Checkpoint> checkpoint, const JobContext& context) {
  const std::string where = checkpoint->path().string();
  return guarded(where, [&]() -> Result<std::shared_ptr<const Transformer>> {
    return TransformerLoader(std::move(checkpoint), context).run();
  });
}

}  // namespace lamina
