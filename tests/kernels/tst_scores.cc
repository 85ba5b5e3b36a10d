// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "engine/base/json.h"
#include "kernels/scores.h"

using namespace lamina;

namespace {

std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& value : x) value = normal(random);
  return x;
}

// -cos(k, mean of k/||k||) as written.
std::vector<double> naive_keydiff(const std::vector<float>& k, int tokens, int dim) {
  std::vector<double> mean(dim, 0.0), out;
  const auto length = [&](int t) {
    double sum = 0;
    for (int i = 0; i < dim; ++i) sum += double(k[t * dim + i]) * double(k[t * dim + i]);
    return std::sqrt(sum);
  };
  for (int t = 0; t < tokens; ++t) {
    for (int i = 0; i < dim; ++i) mean[i] += k[t * dim + i] / length(t) / tokens;
  }
  double mean_length = 0;
  for (double m : mean) mean_length += m * m;
  mean_length = std::sqrt(mean_length);
  for (int t = 0; t < tokens; ++t) {
    double dot = 0;
    for (int i = 0; i < dim; ++i) dot += double(k[t * dim + i]) * mean[i];
    out.push_back(-dot / (length(t) * mean_length));
  }
  return out;
}

// One query head's S by the formula of spec section 4, with its cosines and arguments.
double naive_triattention(const float* key, double distance, const float* qr, const float* qi,
                          const float* qabs, const double* frequencies, int pairs) {
  double sum = 0, extra = 0;
  for (int f = 0; f < pairs; ++f) {
    const std::complex<double> q(qr[f], qi[f]), k(key[f], key[f + pairs]);
    for (int e = 0; e <= 16; ++e) {
      const double angle =
          (distance + std::ldexp(1.0, e)) * frequencies[f] + std::arg(q * std::conj(k));
      sum += std::abs(q) * std::abs(k) * std::cos(angle) / 17.0;
    }
    extra += (qabs[f] - std::abs(q)) * std::abs(k);
  }
  return sum + extra;
}

}  // namespace

class TestScores : public QObject {
  Q_OBJECT

 private slots:
  void keydiff_equals_the_formula() {
    for (const auto& [tokens, dim] : {std::pair{1, 64}, {27, 64}, {33, 48}, {500, 80}, {7, 1}}) {
      const auto k = random_values(static_cast<std::size_t>(tokens) * dim, 5u + tokens);
      std::vector<float> out(tokens);
      kernels::score_keydiff(k.data(), tokens, dim, out.data());
      const auto expected = naive_keydiff(k, tokens, dim);
      for (int t = 0; t < tokens; ++t) QVERIFY(std::fabs(out[t] - expected[t]) < 2e-7);
    }
  }

  void keydiff_of_a_zero_key_is_zero() {
    std::vector<float> k = {1, 2, 0, 0, 3, -1};
    std::vector<float> out(3, -9.0f);
    kernels::score_keydiff(k.data(), 3, 2, out.data());
    QCOMPARE(out[1], 0.0f);
    const auto expected = naive_keydiff({1, 2, 3, -1}, 2, 2);
    QVERIFY(std::fabs(out[0] - expected[0]) < 1e-6 && std::fabs(out[2] - expected[1]) < 1e-6);
    k = {1, 0, -1, 0};  // the mean of the directions is zero
    kernels::score_keydiff(k.data(), 2, 2, out.data());
    QCOMPARE(out[0], 0.0f);
    QCOMPARE(out[1], 0.0f);
  }

  void triattention_equals_the_reference_data() {
    QTest::addColumn<QString>("layer");
    for (const char* layer : {"0", "14", "29"}) QTest::newRow(layer) << QString(layer);
  }

  void triattention_equals_the_reference() {
    QFETCH(QString, layer);
    auto file = read_json_file(LAMINA_TEST_DATA "/triattention_scores.json");
    QVERIFY2(file.has_value(), file.status().message().c_str());
    const Json& data = (*file)["layers"][layer.toStdString()];
    const int kv_heads = 3, group = 3, tokens = 64, dim = 64;
    std::vector<double> frequencies;
    for (int f = 0; f < dim / 2; ++f) frequencies.push_back(std::pow(100000.0, -2.0 * f / dim));
    std::vector<std::int64_t> positions(tokens);
    for (int t = 0; t < tokens; ++t) positions[t] = t;
    std::vector<float> scores;
    for (int head = 0; head < kv_heads; ++head) {
      const auto k = data["k_unrotated"][head].get<std::vector<std::vector<float>>>();
      std::vector<float> keys, re, im, magnitude, out(tokens);
      for (const auto& row : k) keys.insert(keys.end(), row.begin(), row.end());
      for (int g = 0; g < group; ++g) {
        const auto append = [&](const char* name, std::vector<float>& to) {
          const auto row = data[name][head * group + g].get<std::vector<float>>();
          to.insert(to.end(), row.begin(), row.end());
        };
        append("Eq_re", re);
        append("Eq_im", im);
        append("Eabs", magnitude);
      }
      std::vector<double> raw(group * tokens);
      kernels::score_triattention(keys.data(), positions.data(), tokens, dim, tokens - 1, re.data(),
                                  im.data(), magnitude.data(), group, frequencies.data(),
                                  out.data(), raw.data());
      for (int t = 0; t < tokens; ++t) {
        QVERIFY(std::fabs(out[t] - data["score"][head][t].get<double>()) < 1e-5);
        for (int g = 0; g < group; ++g) {
          const auto expected = data["raw_per_query_head"][head * group + g][t].get<double>();
          QVERIFY(std::fabs(raw[g * tokens + t] - expected) < 1e-4);
        }
      }
      scores.insert(scores.end(), out.begin(), out.end());
    }
    for (const auto& [keep, survivors] : data["survivors"].items()) {
      const auto expected = survivors.get<std::vector<std::int64_t>>();
      std::vector<std::int64_t> kept(expected.size());
      kernels::select_shared(scores.data(), kv_heads, tokens,
                             static_cast<std::int64_t>(kept.size()), 4, 128, kept.data());
      QVERIFY2(kept == expected, keep.c_str());
    }
  }

  void triattention_equals_the_formula() {
    const int tokens = 40, dim = 48, pairs = dim / 2, group = 2;
    const auto keys = random_values(tokens * dim, 1);
    const auto re = random_values(group * pairs, 2), im = random_values(group * pairs, 3);
    std::vector<float> magnitude(group * pairs);
    for (int i = 0; i < group * pairs; ++i) magnitude[i] = 0.1f + std::hypot(re[i], im[i]);
    std::vector<double> frequencies(pairs, 0.0);  // the last quarter is not rotated
    for (int f = 0; f < 3 * pairs / 4; ++f) frequencies[f] = std::pow(1e4, -2.0 * f / 36);
    std::vector<std::int64_t> positions;
    for (int t = 0; t < tokens; ++t)
      positions.push_back(100 + 3 * t + t % 2);  // gaps, as after eviction
    const std::int64_t newest = positions.back();
    std::vector<float> out(tokens), without_raw(tokens);
    std::vector<double> raw(group * tokens);
    kernels::score_triattention(keys.data(), positions.data(), tokens, dim, newest, re.data(),
                                im.data(), magnitude.data(), group, frequencies.data(), out.data(),
                                raw.data());
    kernels::score_triattention(keys.data(), positions.data(), tokens, dim, newest, re.data(),
                                im.data(), magnitude.data(), group, frequencies.data(),
                                without_raw.data(), nullptr);
    QVERIFY(out == without_raw);
    std::vector<double> best(tokens, -1e300);
    for (int g = 0; g < group; ++g) {
      std::vector<double> s;
      double mean = 0, square = 0;
      for (int t = 0; t < tokens; ++t) {
        s.push_back(naive_triattention(keys.data() + t * dim, double(newest - positions[t]),
                                       re.data() + g * pairs, im.data() + g * pairs,
                                       magnitude.data() + g * pairs, frequencies.data(), pairs));
        QVERIFY(std::fabs(raw[g * tokens + t] - s.back()) < 1e-8);
        mean += s.back() / tokens;
      }
      for (double v : s) square += (v - mean) * (v - mean) / tokens;
      for (int t = 0; t < tokens; ++t)
        best[t] = std::fmax(best[t], (s[t] - mean) / std::sqrt(square));
    }
    for (int t = 0; t < tokens; ++t) QVERIFY(std::fabs(out[t] - best[t]) < 1e-6);
  }

  void triattention_of_equal_keys_is_zero() {
    const int tokens = 3, dim = 4;
    const std::vector<float> keys(tokens * dim, 0.3f), q = {0.1f, 0.7f};
    const std::vector<std::int64_t> positions = {0, 1, 2};
    const std::vector<double> frequencies = {0.0, 0.0};
    std::vector<float> out(tokens, 5.0f);
    kernels::score_triattention(keys.data(), positions.data(), tokens, dim, 2, q.data(), q.data(),
                                q.data(), 1, frequencies.data(), out.data(), nullptr);
    for (float score : out) QCOMPARE(score, 0.0f);
  }
};

QTEST_APPLESS_MAIN(TestScores)
#include "tst_scores.moc"
