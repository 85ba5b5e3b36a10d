// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/prompt_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/calibrate/survivors.h"
#include "kernels/quantize.h"

namespace lamina {
namespace {

// Blocks no longer than this skip most of what the causal mask hides and still fill the matrix
// products.
constexpr std::int64_t kMaxBlock = 128;
constexpr int kGroup = 32;  // asym-g32
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

// x (kv_heads, tokens, head_dim) as a cache of `bits` gives it back.
at::Tensor stored(const at::Tensor& x, int bits) {
  const at::Tensor values = x.contiguous();
  at::Tensor out = at::empty_like(values);
  const float* in = values.const_data_ptr<float>();
  if (bits == 16) {
    kernels::round_to_half(in, values.numel(), out.mutable_data_ptr<float>());
    return out;
  }
  const int dim = static_cast<int>(values.size(2));
  const std::int64_t rows = values.numel() / dim;
  const auto groups = static_cast<std::size_t>(rows * ((dim + kGroup - 1) / kGroup));
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(values.numel()));
  std::vector<std::uint16_t> scale(groups), min(groups);
  kernels::quantize_asym(in, rows, dim, kGroup, bits, codes.data(), scale.data(), min.data());
  kernels::dequantize_asym(codes.data(), scale.data(), min.data(), rows, dim, kGroup,
                           out.mutable_data_ptr<float>());
  return out;
}

double sum_of_squares(const at::Tensor& x) { return x.square().sum(at::kDouble).item<double>(); }

class PromptProbe {
 public:
  PromptProbe(const Transformer& transformer, int layer, const LayerQkv& qkv,
              const std::vector<std::vector<std::int64_t>>& survivors, const ConfigGrid& grid);

  // Adds the queries [begin, end) to the sums.
  Status add_block(std::int64_t begin, std::int64_t end, const JobContext& context);
  Result<std::vector<double>> result() const;

  std::int64_t tokens() const { return tokens_; }
  std::int64_t block_tokens(std::int64_t block_bytes) const;

 private:
  // What the queries [begin, end) see of keep number keep_i: the attention weights' additive mask,
  // (end - begin, survivors before end + 1); the last column is the query's own token where it is
  // not a survivor.
  at::Tensor mask(int keep_i, std::int64_t begin, std::int64_t end, std::int64_t visible) const;
  at::Tensor full_heads(const at::Tensor& scores, std::int64_t begin, std::int64_t end) const;
  void add_keep(int keep_i, const std::vector<at::Tensor>& scores, const at::Tensor& own_score,
                const at::Tensor& full, std::int64_t begin, std::int64_t end);

  const Transformer& transformer_;
  const int layer_;
  const ConfigGrid& grid_;
  std::int64_t heads_, kv_heads_, tokens_, dim_, group_, k_widths_, v_widths_;
  at::Tensor q_;                          // (heads, tokens, head_dim), scaled
  at::Tensor k16_, v16_;                  // (kv_heads, tokens, head_dim), rounded to half
  std::vector<at::Tensor> k_;             // per K width of the grid; (kv_heads, tokens, head_dim)
  at::Tensor v_;                          // (kv_heads, tokens, v_widths * head_dim)
  std::vector<at::Tensor> survivors_;     // per keep: indices among the layer's tokens, int64
  std::vector<std::vector<char>> alive_;  // per keep: (tokens)
  std::vector<double> error_;             // (grid.size()) sums of squares
  double norm_ = 0;                       // of the full output, squared
};

PromptProbe::PromptProbe(const Transformer& transformer, int layer, const LayerQkv& qkv,
                         const std::vector<std::vector<std::int64_t>>& survivors,
                         const ConfigGrid& grid)
    : transformer_(transformer),
      layer_(layer),
      grid_(grid),
      heads_(qkv.q.size(0)),
      kv_heads_(qkv.k.size(0)),
      tokens_(layer_tokens(transformer.config(), layer, qkv.k.size(1))),
      dim_(qkv.k.size(2)),
      group_(heads_ / kv_heads_),
      k_widths_(static_cast<std::int64_t>(grid.k_bits.size())),
      v_widths_(static_cast<std::int64_t>(grid.v_bits.size())),
      error_(static_cast<std::size_t>(grid.size()), 0.0) {
  const std::int64_t first = qkv.k.size(1) - tokens_;
  const at::Tensor k = qkv.k.slice(1, first), v = qkv.v.slice(1, first);
  q_ = qkv.q.slice(1, first) * transformer.attention_scale(layer);
  k16_ = stored(k, 16);
  v16_ = stored(v, 16);
  for (const int bits : grid.k_bits) k_.push_back(bits == 16 ? k16_ : stored(k, bits));
  std::vector<at::Tensor> values;
  for (const int bits : grid.v_bits) values.push_back(bits == 16 ? v16_ : stored(v, bits));
  v_ = at::cat(values, 2);
  for (const std::vector<std::int64_t>& positions : survivors) {
    std::vector<char> alive(static_cast<std::size_t>(tokens_), 0);
    at::Tensor indices = at::empty({static_cast<std::int64_t>(positions.size())}, at::kLong);
    auto* index = indices.mutable_data_ptr<std::int64_t>();
    for (const std::int64_t position : positions) {
      *index++ = position - first;
      alive[static_cast<std::size_t>(position - first)] = 1;
    }
    survivors_.push_back(std::move(indices));
    alive_.push_back(std::move(alive));
  }
}

// The gathered values of one keep do not shrink with the block; the rest does.
std::int64_t PromptProbe::block_tokens(std::int64_t block_bytes) const {
  const double gathered = 4.0 * static_cast<double>(v_.numel());
  const double scores = static_cast<double>(heads_ * tokens_ * (k_widths_ + 3));
  const double outputs =
      static_cast<double>(k_widths_ * v_widths_) *
      (2.0 * static_cast<double>(heads_ * dim_) + 2.0 * transformer_.config().hidden);
  const double left = std::max(block_bytes / 2.0, block_bytes - gathered);
  return static_cast<std::int64_t>(
      std::clamp(left / (4.0 * (scores + outputs)), 1.0, static_cast<double>(kMaxBlock)));
}

at::Tensor PromptProbe::mask(int keep_i, std::int64_t begin, std::int64_t end,
                             std::int64_t visible) const {
  at::Tensor out = at::full({end - begin, visible + 1}, kMinusInf);
  const auto* index = survivors_[keep_i].const_data_ptr<std::int64_t>();
  for (std::int64_t query = begin; query < end; ++query) {
    float* row = out.mutable_data_ptr<float>() + (query - begin) * (visible + 1);
    std::fill(row, row + (std::upper_bound(index, index + visible, query) - index), 0.0f);
    if (alive_[keep_i][static_cast<std::size_t>(query)] == 0) row[visible] = 0.0f;
  }
  return out;
}

// scores (kv_heads, group * queries, end) -> (kv_heads, group * queries, head_dim)
at::Tensor PromptProbe::full_heads(const at::Tensor& scores, std::int64_t begin,
                                   std::int64_t end) const {
  const at::Tensor causal = at::full({end - begin, end}, kMinusInf).triu_(begin + 1);
  const at::Tensor weights =
      at::softmax(scores.view({kv_heads_, group_, end - begin, end}) + causal, -1)
          .view(scores.sizes());
  return at::bmm(weights, v16_.slice(1, 0, end));
}

void PromptProbe::add_keep(int keep_i, const std::vector<at::Tensor>& scores,
                           const at::Tensor& own_score, const at::Tensor& full, std::int64_t begin,
                           std::int64_t end) {
  const std::int64_t queries = end - begin;
  const auto* index = survivors_[keep_i].const_data_ptr<std::int64_t>();
  const std::int64_t visible =
      std::lower_bound(index, index + survivors_[keep_i].numel(), end) - index;
  const at::Tensor chosen = survivors_[keep_i].slice(0, 0, visible);
  const at::Tensor values = v_.index_select(1, chosen);  // (kv_heads, visible, v_widths * head_dim)
  const at::Tensor own_value = v16_.slice(1, begin, end).view({kv_heads_, 1, queries, 1, dim_});
  const at::Tensor hidden_or_not = mask(keep_i, begin, end, visible);
  at::Tensor difference =
      at::empty({kv_heads_, group_, k_widths_, v_widths_, queries, dim_}, q_.options());
  for (std::int64_t k_i = 0; k_i < k_widths_; ++k_i) {
    at::Tensor logits = at::cat({scores[k_i].index_select(2, chosen), own_score}, 2)
                            .view({kv_heads_, group_, queries, visible + 1});
    logits.add_(hidden_or_not);
    const at::Tensor weights = at::softmax(logits, -1);
    logits.reset();
    at::Tensor out =
        at::bmm(weights.view({kv_heads_, group_ * queries, visible + 1}).slice(2, 0, visible),
                values)
            .view({kv_heads_, group_, queries, v_widths_, dim_});
    out.addcmul_(weights.slice(3, visible).unsqueeze(-1), own_value);
    out.sub_(full.view({kv_heads_, group_, queries, 1, dim_}));
    difference.select(2, k_i).copy_(out.transpose(2, 3));
  }
  // o_proj is linear: the difference of the outputs is the projection of the difference of the
  // heads.
  const std::int64_t recipes = k_widths_ * v_widths_;
  const at::Tensor moved =
      transformer_.o_proj(layer_, difference.view({heads_, recipes * queries, dim_}));
  const at::Tensor sums = moved.view({recipes, -1}).square().sum(1, false, at::kDouble);
  for (std::int64_t recipe = 0; recipe < recipes; ++recipe) {
    error_[static_cast<std::size_t>(keep_i * recipes + recipe)] +=
        sums.const_data_ptr<double>()[recipe];
  }
}

Status PromptProbe::add_block(std::int64_t begin, std::int64_t end, const JobContext& context) {
  const std::int64_t queries = end - begin;
  const at::Tensor q = q_.slice(1, begin, end).reshape({kv_heads_, group_ * queries, dim_});
  const at::Tensor scores16 = at::bmm(q, k16_.slice(1, 0, end).transpose(1, 2));
  const at::Tensor full = full_heads(scores16, begin, end);
  norm_ += sum_of_squares(transformer_.o_proj(layer_, full.view({heads_, queries, dim_})));
  const at::Tensor own_score = scores16.view({kv_heads_, group_, queries, end})
                                   .diagonal(begin, 2, 3)
                                   .reshape({kv_heads_, group_ * queries, 1});
  std::vector<at::Tensor> scores;
  for (std::int64_t k_i = 0; k_i < k_widths_; ++k_i) {
    const bool half = grid_.k_bits[k_i] == 16;
    scores.push_back(half ? scores16 : at::bmm(q, k_[k_i].slice(1, 0, end).transpose(1, 2)));
  }
  for (int keep_i = 0; keep_i < static_cast<int>(grid_.keep.size()); ++keep_i) {
    if (context.stop_requested()) return Status::cancelled();
    add_keep(keep_i, scores, own_score, full, begin, end);
  }
  return Status::ok();
}

Result<std::vector<double>> PromptProbe::result() const {
  if (!(norm_ > 0) || !std::isfinite(norm_)) {
    return Status::bad_input(norm_ == 0 ? "the uncompressed attention output is zero"
                                        : "the uncompressed attention output is not finite",
                             fmt::format("layer {}", layer_),
                             "a relative error has no meaning here; check the checkpoint");
  }
  std::vector<double> out;
  for (int c = 0; c < grid_.size(); ++c) {
    const bool full = grid_.at(c) == LayerConfig{1.0, 16, 16};
    out.push_back(full ? 0.0 : std::sqrt(error_[static_cast<std::size_t>(c)] / norm_));
    if (!std::isfinite(out.back())) {
      return Status::bad_input("the attention output under a recipe is not finite",
                               fmt::format("layer {}, {}", layer_, to_string(grid_.at(c))),
                               "check the checkpoint");
    }
  }
  return out;
}

}  // namespace

Result<std::vector<double>> prompt_sensitivity(
    const Transformer& transformer, int layer, const LayerQkv& qkv,
    const std::vector<std::vector<std::int64_t>>& survivors, const ConfigGrid& grid,
    const JobContext& context, std::int64_t block_bytes) {
  PromptProbe probe(transformer, layer, qkv, survivors, grid);
  const std::int64_t step = probe.block_tokens(block_bytes);
  for (std::int64_t begin = 0; begin < probe.tokens(); begin += step) {
    const std::int64_t end = std::min(begin + step, probe.tokens());
    LAMINA_RETURN_IF_ERROR(probe.add_block(begin, end, context));
  }
  return probe.result();
}

}  // namespace lamina
