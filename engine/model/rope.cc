// SPDX-License-Identifier: Apache-2.0
#include "engine/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lamina {
namespace {

// The pair whose wavelength makes `rotations` turns within the original context (YaRN, equation 17
// solved for the dimension).
double yarn_pair_of(double rotations, const RopeConfig& rope) {
  return rope.rotary_dim *
         std::log(static_cast<double>(rope.original_context) / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

void scale_yarn(const RopeConfig& rope, std::vector<double>& w) {
  const double low = std::max(0.0, std::floor(yarn_pair_of(rope.beta_fast, rope)));
  const double high =
      std::min(rope.rotary_dim - 1.0, std::ceil(yarn_pair_of(rope.beta_slow, rope)));
  const double width = high == low ? 0.001 : high - low;
  for (int f = 0; f < rope.rotary_dim / 2; ++f) {
    const double interpolated = std::clamp((f - low) / width, 0.0, 1.0);
    w[f] *= 1 - interpolated + interpolated / rope.factor;
  }
}

void scale_llama3(const RopeConfig& rope, std::vector<double>& w) {
  const double context = static_cast<double>(rope.original_context);
  for (int f = 0; f < rope.rotary_dim / 2; ++f) {
    const double rotations = context * w[f] / (2 * std::numbers::pi);
    const double kept = std::clamp(
        (rotations - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor), 0.0,
        1.0);
    w[f] *= kept + (1 - kept) / rope.factor;
  }
}

}  // namespace

std::vector<double> rope_frequencies(const RopeConfig& rope, int head_dim) {
  std::vector<double> w(head_dim / 2, 0.0);
  const int pairs = rope.rotary_dim / 2;
  for (int f = 0; f < pairs; ++f) w[f] = std::pow(rope.theta, -2.0 * f / rope.rotary_dim);
  switch (rope.scaling) {
    case RopeScaling::kNone:
      break;
    case RopeScaling::kLinear:
      for (int f = 0; f < pairs; ++f) w[f] /= rope.factor;
      break;
    case RopeScaling::kLlama3:
      scale_llama3(rope, w);
      break;
    case RopeScaling::kYarn:
      scale_yarn(rope, w);
      break;
  }
  if (!rope.freq_divisors.empty()) {
    for (int f = 0; f < pairs; ++f) w[f] /= rope.freq_divisors[f];
  }
  return w;
}

double rope_magnitude(const RopeConfig& rope) {
  if (rope.scaling != RopeScaling::kYarn) return 1.0;
  if (rope.attention_factor > 0) return rope.attention_factor;
  return rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1.0;
}

RopeTable rope_table(const std::vector<double>& frequencies, int rotary_dim, double magnitude,
                     std::int64_t first_position, std::int64_t tokens) {
  const int pairs = rotary_dim / 2;
  RopeTable table{at::empty({tokens, pairs}, at::kFloat), at::empty({tokens, pairs}, at::kFloat)};
  float* cos = table.cos.data_ptr<float>();
  float* sin = table.sin.data_ptr<float>();
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double position = static_cast<double>(first_position + t);
    for (int f = 0; f < pairs; ++f) {
      const double angle = position * frequencies[f];
      *cos++ = static_cast<float>(magnitude * std::cos(angle));
      *sin++ = static_cast<float>(magnitude * std::sin(angle));
    }
  }
  return table;
}

at::Tensor apply_rope(const at::Tensor& x, const RopeTable& table) {
  const std::int64_t pairs = table.cos.size(1);
  const std::int64_t head_dim = x.size(2);
  at::Tensor out = at::empty(x.sizes(), x.options());  // (heads, tokens, head_dim)
  const at::Tensor a = x.narrow(2, 0, pairs);
  const at::Tensor b = x.narrow(2, pairs, pairs);
  at::Tensor out_a = out.narrow(2, 0, pairs);
  at::Tensor out_b = out.narrow(2, pairs, pairs);
  at::mul_out(out_a, a, table.cos).addcmul_(b, table.sin, -1);
  at::mul_out(out_b, b, table.cos).addcmul_(a, table.sin);
  if (2 * pairs < head_dim) {
    out.narrow(2, 2 * pairs, head_dim - 2 * pairs)
        .copy_(x.narrow(2, 2 * pairs, head_dim - 2 * pairs));
  }
  return out;
}

}  // namespace lamina
