// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/calibrate/naive_probe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/calibrate/layer_pass.h"
#include "engine/calibrate/prompt_probe.h"
#include "engine/model/transformer.h"

namespace lamina::testing {
namespace {

LayerQkv qkv_of(const Model& model, const std::vector<std::int32_t>& ids, int layer) {
  const Transformer& transformer = model.transformer();
  at::Tensor x = transformer.embed(ids);
  for (int l = 0; l < layer; ++l) {
    const LayerQkv at_l = transformer.qkv(l, x, 0);
    const at::Tensor heads = transformer.attend(l, at_l.q, at_l.k, at_l.v);
    x = transformer.finish_layer(l, x, transformer.o_proj(l, heads));
  }
  return transformer.qkv(layer, x, 0);
}

std::int64_t tokens_of(const Model& model, int layer, std::int64_t tokens) {
  const std::int64_t window = model.config().kv[layer].window;
  return window > 0 && window < tokens ? window : tokens;
}

at::Tensor half(const at::Tensor& x) { return x.clamp(-65504, 65504).to(at::kHalf).to(at::kFloat); }

at::Tensor rounded(const at::Tensor& x, int bits) {
  if (bits == 16) return half(x);
  const double levels = std::pow(2, bits) - 1;
  std::vector<at::Tensor> groups;
  for (std::int64_t begin = 0; begin < x.size(-1); begin += 32) {
    const at::Tensor group = x.slice(-1, begin, begin + 32);
    const at::Tensor min = group.amin(-1, true),
                     scale = half((group.amax(-1, true) - min) / levels);
    const at::Tensor base = half(min);
    const at::Tensor codes = ((group - base) / scale).round().clamp(0, levels);
    groups.push_back(at::where(scale > 0, codes * scale + base, base.expand_as(group)));
  }
  return at::cat(groups, -1);
}

// The attention output after o_proj, (tokens * hidden), when the tokens of `alive` are stored with
// these bits and every query's own token, where it is not among them, with 16.
std::vector<double> output(const Transformer& transformer, int layer, const LayerQkv& qkv,
                           std::int64_t tokens, const std::set<std::int64_t>& alive, int k_bits,
                           int v_bits) {
  const std::int64_t heads = qkv.q.size(0), kv_heads = qkv.k.size(0), dim = qkv.q.size(2);
  const std::int64_t first = qkv.q.size(1) - tokens;
  const auto last = [&](const at::Tensor& x) {
    return x.slice(1, first).to(at::kDouble).contiguous();
  };
  const at::Tensor q = last(qkv.q), k = last(rounded(qkv.k, k_bits)),
                   v = last(rounded(qkv.v, v_bits));
  const at::Tensor k16 = last(half(qkv.k)), v16 = last(half(qkv.v));
  at::Tensor out = at::zeros({heads, tokens, dim}, at::kDouble);
  for (std::int64_t head = 0; head < heads; ++head) {
    const std::int64_t kv = head * kv_heads / heads;
    const auto row = [&](const at::Tensor& x, std::int64_t h, std::int64_t token) {
      return x.const_data_ptr<double>() + (h * tokens + token) * dim;
    };
    for (std::int64_t query = 0; query < tokens; ++query) {
      std::vector<double> weights;
      std::vector<const double*> values;
      for (std::int64_t token = 0; token <= query; ++token) {
        const bool lives = alive.count(token + first) != 0;
        if (!lives && token != query) continue;
        const double* key = row(lives ? k : k16, kv, token);
        double dot = 0;
        for (std::int64_t i = 0; i < dim; ++i) dot += row(q, head, query)[i] * key[i];
        weights.push_back(dot * transformer.attention_scale(layer));
        values.push_back(row(lives ? v : v16, kv, token));
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double total = 0;
      for (double& w : weights) total += w = std::exp(w - largest);
      double* to = out.mutable_data_ptr<double>() + (head * tokens + query) * dim;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        for (std::int64_t i = 0; i < dim; ++i) to[i] += weights[j] / total * values[j][i];
      }
    }
  }
  const at::Tensor projected =
      transformer.o_proj(layer, out.to(at::kFloat)).to(at::kDouble).contiguous();
  const double* data = projected.const_data_ptr<double>();
  return {data, data + projected.numel()};
}

// Over the last dimension; population deviation.
at::Tensor z_scores(const at::Tensor& x) {
  const at::Tensor deviation = x.std(-1, false, true);
  return at::where(deviation > 0, (x - x.mean(-1, true)) / deviation, at::zeros_like(x));
}

at::Tensor keydiff(const at::Tensor& k) {  // (kv_heads, tokens, head_dim) -> (kv_heads, tokens)
  const at::Tensor mean = (k / k.norm(2, {-1}, true)).mean(1, true);
  return -(k * mean).sum(-1) / (k.norm(2, {-1}) * mean.norm(2, {-1}));
}

// The two halves of every pair as complex numbers; the dimensions behind `rotated` are paired
// likewise.
at::Tensor complex_pairs(const at::Tensor& x, std::int64_t rotated) {
  const std::int64_t dim = x.size(-1);
  const auto pair = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t middle = (begin + end) / 2;
    return at::complex(x.slice(-1, begin, middle).contiguous(),
                       x.slice(-1, middle, end).contiguous());
  };
  return at::cat({pair(0, rotated), pair(rotated, dim)}, -1);
}

// k: post-RoPE, all tokens; the scores of the tokens from `first` on.
at::Tensor triattention(const Model& model, const at::Tensor& k, std::int64_t first,
                        const std::vector<std::int32_t>& statistics_ids, int layer) {
  const Transformer& transformer = model.transformer();
  const ModelConfig& config = model.config();
  const std::int64_t tokens = k.size(1);
  const std::int64_t rotated =
      config.kv[layer].window > 0 ? config.rope_local.rotary_dim : config.rope.rotary_dim;
  const at::Tensor w = at::tensor(transformer.rope_frequencies(layer), at::kDouble);
  const at::Tensor position = at::arange(first, tokens, at::kDouble).unsqueeze(1);
  const at::Tensor turn = at::polar(at::ones_like(position * w), -position * w);
  const at::Tensor key =
      complex_pairs(k.slice(1, first) / transformer.rope_magnitude(layer), rotated) * turn;
  const at::Tensor query = complex_pairs(qkv_of(model, statistics_ids, layer).q_pre.to(at::kDouble),
                                         rotated);  // (heads, n, pairs)
  const std::int64_t group = query.size(0) / key.size(0);
  const at::Tensor mean = query.mean(1, true), size = query.abs().mean(1, true);
  const at::Tensor keys = key.repeat_interleave(group, 0);
  const at::Tensor phase = at::angle(mean * keys.conj());
  const at::Tensor distance = (static_cast<double>(tokens - 1) - position).unsqueeze(0);
  at::Tensor s = ((size - mean.abs()) * keys.abs()).sum(-1);
  for (int e = 0; e <= 16; ++e) {
    const at::Tensor angle = (distance + std::ldexp(1.0, e)) * w + phase;
    s = s + (mean.abs() * keys.abs() * at::cos(angle)).sum(-1) / 17.0;
  }
  return std::get<0>(z_scores(s).view({key.size(0), group, tokens - first}).max(1));
}

}  // namespace

std::vector<double> naive_sensitivity(const Model& model, const std::vector<std::int32_t>& ids,
                                      int layer, const std::vector<Positions>& survivors,
                                      const ConfigGrid& grid) {
  const LayerQkv qkv = qkv_of(model, ids, layer);
  const std::int64_t all = qkv.k.size(1), tokens = tokens_of(model, layer, all);
  std::set<std::int64_t> everything;
  for (std::int64_t token = all - tokens; token < all; ++token) everything.insert(token);
  const auto reference = output(model.transformer(), layer, qkv, tokens, everything, 16, 16);
  std::vector<double> result;
  for (const Positions& kept : survivors) {
    for (const int k_bits : grid.k_bits) {
      for (const int v_bits : grid.v_bits) {
        const auto moved = output(model.transformer(), layer, qkv, tokens,
                                  {kept.begin(), kept.end()}, k_bits, v_bits);
        double error = 0, norm = 0;
        for (std::size_t i = 0; i < moved.size(); ++i) {
          error += (moved[i] - reference[i]) * (moved[i] - reference[i]);
          norm += reference[i] * reference[i];
        }
        result.push_back(std::sqrt(error / norm));
      }
    }
  }
  return result;
}

Positions naive_survivors(const Model& model, const std::vector<std::int32_t>& ids,
                          const std::vector<std::int32_t>& statistics_ids,
                          const std::string& scorer, int layer, double keep) {
  const at::Tensor k = qkv_of(model, ids, layer).k.to(at::kDouble);
  const std::int64_t tokens = tokens_of(model, layer, k.size(1)), first = k.size(1) - tokens;
  at::Tensor score = at::arange(tokens, at::kDouble).unsqueeze(0);
  if (scorer == "keydiff") score = keydiff(k.slice(1, first));
  if (scorer == "triattention") score = triattention(model, k, first, statistics_ids, layer);
  const auto n = static_cast<std::int64_t>(std::max(1.0, std::ceil(keep * tokens - 1e-9)));
  const std::int64_t sinks = std::min<std::int64_t>(4, n / 4);
  const std::int64_t recent = std::min<std::int64_t>(128, n / 4);
  const at::Tensor best = std::get<0>(z_scores(score.slice(1, sinks, tokens - recent)).max(0));
  std::set<std::int64_t> kept;
  for (std::int64_t t = 0; t < sinks; ++t) kept.insert(first + t);
  for (std::int64_t t = tokens - recent; t < tokens; ++t) kept.insert(first + t);
  while (static_cast<std::int64_t>(kept.size()) < n) {
    std::int64_t winner = -1;
    for (std::int64_t t = 0; t < best.numel(); ++t) {
      if (kept.count(first + sinks + t) != 0) continue;
      if (winner < 0 || best[t].item<double>() >= best[winner].item<double>()) winner = t;
    }
    kept.insert(first + sinks + winner);
  }
  return {kept.begin(), kept.end()};
}

std::vector<double> blocked_sensitivity(const Model& model, const std::vector<std::int32_t>& ids,
                                        int layer, const std::vector<Positions>& survivors,
                                        const ConfigGrid& grid, std::int64_t block_bytes) {
  auto row = prompt_sensitivity(model.transformer(), layer, qkv_of(model, ids, layer), survivors,
                                grid, JobContext(), block_bytes);
  return row ? std::move(row).value() : std::vector<double>();
}

Status checked_planes(bool in_v, int layer, int head, int token, float bad) {
  LayerQkv qkv;
  qkv.k = at::ones({4, 9, 6});
  qkv.v = at::ones({4, 9, 6});
  (in_v ? qkv.v : qkv.k).select(0, head).select(0, token).select(0, 5).fill_(bad);
  return check_finite(qkv, layer);
}

}  // namespace lamina::testing
