// SPDX-License-Identifier: Apache-2.0
#include "kernels/scores.h"
#include "kernels/z_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lamina::kernels {
namespace {

constexpr int kOffsets = 17;  // 2^0 .. 2^16

double norm(const float* x, int dim) {
  double sum = 0;
  for (int i = 0; i < dim; ++i) sum += static_cast<double>(x[i]) * x[i];
  return std::sqrt(sum);
}

// Mean over the offsets D of exp(i D w).
void mean_rotation(const double* frequencies, int pairs, double* re, double* im) {
  for (int f = 0; f < pairs; ++f) {
    re[f] = im[f] = 0;
    for (int e = 0; e < kOffsets; ++e) {
      const double angle = frequencies[f] * static_cast<double>(1 << e);
      re[f] += std::cos(angle) / kOffsets;
      im[f] += std::sin(angle) / kOffsets;
    }
  }
}

}  // namespace

void score_keydiff(const float* k, std::int64_t tokens, int dim, float* out) {
  std::vector<double> anchor(static_cast<std::size_t>(dim), 0.0);
  std::vector<double> norms(static_cast<std::size_t>(tokens));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* key = k + t * dim;
    const double length = norms[static_cast<std::size_t>(t)] = norm(key, dim);
    if (length == 0) continue;
    for (int i = 0; i < dim; ++i) anchor[static_cast<std::size_t>(i)] += key[i] / length;
  }
  // The cosine does not depend on the anchor's length: the sum stands for the mean.
  double anchor_norm = 0;
  for (double a : anchor) anchor_norm += a * a;
  anchor_norm = std::sqrt(anchor_norm);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* key = k + t * dim;
    double dot = 0;
    for (int i = 0; i < dim; ++i) dot += key[i] * anchor[static_cast<std::size_t>(i)];
    const double lengths = norms[static_cast<std::size_t>(t)] * anchor_norm;
    out[t] = lengths > 0 ? static_cast<float>(-dot / lengths) : 0.0f;
  }
}

// |E q_f||k_f| cos(a + arg(E q_f * conj k_f)) is the real part of E q_f * conj k_f * exp(i a), and
// the mean over offsets D of exp(i (t-p+D) w) is exp(i (t-p) w) times a constant of the frequency:
// one rotation of the key serves every query head and offset.
void score_triattention(const float* k_pre, const std::int64_t* positions, std::int64_t tokens,
                        int dim, std::int64_t t, const float* eq_re, const float* eq_im,
                        const float* eq_abs, int group, const double* frequencies, float* out,
                        double* raw) {
  const int pairs = dim / 2;
  const auto count = static_cast<std::size_t>(pairs);
  std::vector<double> mean_re(count), mean_im(count), re(count), im(count), length(count);
  mean_rotation(frequencies, pairs, mean_re.data(), mean_im.data());
  std::vector<double> excess(static_cast<std::size_t>(group) * count);  // E|q_f| - |E q_f|
  for (std::size_t i = 0; i < excess.size(); ++i) {
    excess[i] =
        eq_abs[i] - std::hypot(static_cast<double>(eq_re[i]), static_cast<double>(eq_im[i]));
  }
  std::vector<double> own;
  if (raw == nullptr) {
    own.resize(static_cast<std::size_t>(group * tokens));
    raw = own.data();
  }
  for (std::int64_t token = 0; token < tokens; ++token) {
    const float* key = k_pre + token * dim;
    const double distance = static_cast<double>(t - positions[token]);
    for (int f = 0; f < pairs; ++f) {
      const double x = key[f], y = key[f + pairs];
      const double c = std::cos(distance * frequencies[f]), s = std::sin(distance * frequencies[f]);
      const double rot_re = c * mean_re[f] - s * mean_im[f],
                   rot_im = s * mean_re[f] + c * mean_im[f];
      re[f] = x * rot_re + y * rot_im;  // conj(k_f) * rotation
      im[f] = x * rot_im - y * rot_re;
      length[f] = std::sqrt(x * x + y * y);
    }
    for (int g = 0; g < group; ++g) {
      const float *qr = eq_re + g * pairs, *qi = eq_im + g * pairs;
      const double* more = excess.data() + g * pairs;
      double sum = 0;
      for (int f = 0; f < pairs; ++f) sum += qr[f] * re[f] - qi[f] * im[f] + more[f] * length[f];
      raw[g * tokens + token] = sum;
    }
  }
  std::fill_n(out, tokens, -std::numeric_limits<float>::infinity());
  for (int g = 0; g < group; ++g) raise_to_z_scores(raw + g * tokens, tokens, out);
}

}  // namespace lamina::kernels
