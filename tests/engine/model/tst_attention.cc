// SPDX-License-Identifier: Apache-2.0
// causal_attention against sums written out in double, and rotary embedding against its formulas.
#include <QtTest>
#include <cmath>
#include <numbers>
#include <random>

#include "tests/engine/model/torch_probe.h"

using lamina::RopeConfig;
using lamina::RopeScaling;
using lamina::test::AttentionCase;

namespace {

std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) value = static_cast<float>(random() % 4001) / 1000.0F - 2.0F;
  return out;
}

std::vector<double> expected_attention(const AttentionCase& c, const std::vector<float>& q,
                                       const std::vector<float>& k, const std::vector<float>& v) {
  std::vector<double> out(q.size(), 0.0);
  for (std::int64_t h = 0; h < c.heads; ++h) {
    const std::int64_t kv = h / (c.heads / c.kv_heads);
    for (std::int64_t i = 0; i < c.queries; ++i) {
      const std::int64_t last = c.tokens - c.queries + i;
      const std::int64_t first = c.window > 0 ? std::max<std::int64_t>(0, last - c.window + 1) : 0;
      const float* query = &q[(h * c.queries + i) * c.head_dim];
      double* target = &out[(h * c.queries + i) * c.head_dim];
      double total = 0;
      for (std::int64_t j = first; j <= last; ++j) {
        double score = 0;
        for (std::int64_t x = 0; x < c.head_dim; ++x) {
          score += static_cast<double>(query[x]) * k[(kv * c.tokens + j) * c.head_dim + x];
        }
        const double weight = std::exp(score * c.scale);
        total += weight;
        for (std::int64_t x = 0; x < c.head_dim; ++x) {
          target[x] += weight * v[(kv * c.tokens + j) * c.head_dim + x];
        }
      }
      for (std::int64_t x = 0; x < c.head_dim; ++x) target[x] /= total;
    }
  }
  return out;
}

}  // namespace

class TestAttention : public QObject {
  Q_OBJECT

 private slots:
  void equals_sums_written_out_data() {
    QTest::addColumn<AttentionCase>("c");
    // heads, kv_heads, queries, tokens, head_dim, window, scale
    const AttentionCase cases[] = {
        {1, 1, 1, 1, 8, 0, 0.3},          {4, 2, 5, 5, 8, 0, 0.3},
        {6, 2, 1, 37, 10, 0, 0.2},        {6, 2, 7, 40, 10, 0, 0.2},
        {9, 3, 130, 131, 64, 0, 0.1},     {4, 4, 600, 700, 16, 0, 0.2},
        {4, 2, 40, 40, 8, 8, 0.3},        {4, 2, 40, 40, 8, 1, 0.3},
        {4, 2, 8, 8, 8, 8, 0.3},          {4, 2, 9, 9, 8, 8, 0.3},
        {4, 2, 1, 30, 8, 8, 0.3},         {4, 2, 5, 30, 8, 8, 0.3},
        {2, 1, 1500, 1500, 8, 600, 0.25}, {2, 1, 300, 1700, 8, 1100, 0.25},
        {3, 1, 70, 71, 12, 33, 0.3}};
    for (const AttentionCase& c : cases) {
      QTest::addRow("heads %d/%d queries %d of %d dim %d window %d", int(c.heads), int(c.kv_heads),
                    int(c.queries), int(c.tokens), int(c.head_dim), int(c.window))
          << c;
    }
  }

  void equals_sums_written_out() {
    QFETCH(AttentionCase, c);
    const auto q = random_values(c.heads * c.queries * c.head_dim, 1);
    const auto k = random_values(c.kv_heads * c.tokens * c.head_dim, 2);
    const auto v = random_values(c.kv_heads * c.tokens * c.head_dim, 3);
    const auto expected = expected_attention(c, q, k, v);
    for (const bool strided : {false, true}) {
      const auto actual = lamina::test::attention(c, q, k, v, strided);
      QCOMPARE(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        QVERIFY2(std::abs(actual[i] - expected[i]) < 1e-5,
                 qPrintable(
                     QString("value %1: %2, expected %3").arg(i).arg(actual[i]).arg(expected[i])));
      }
    }
  }

  void rotates_pairs_half_a_head_apart() {
    RopeConfig rope;
    rope.theta = 10000;
    rope.rotary_dim = 8;
    const std::vector<float> x = random_values(12, 4);  // dimensions 8..11 are not rotated
    const std::int64_t position = 1234567;
    const std::vector<float> actual = lamina::test::rotate(rope, x, position);
    for (int f = 0; f < 4; ++f) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -f / 4.0);
      QVERIFY(std::abs(actual[f] - (x[f] * std::cos(angle) - x[f + 4] * std::sin(angle))) < 1e-6);
      QVERIFY(std::abs(actual[f + 4] - (x[f + 4] * std::cos(angle) + x[f] * std::sin(angle))) <
              1e-6);
    }
    for (int i = 8; i < 12; ++i) QCOMPARE(actual[i], x[i]);
    const std::vector<double> w = lamina::test::frequencies(rope, 12);
    QCOMPARE(w.size(), std::size_t(6));
    QCOMPARE(w[4], 0.0);
    QCOMPARE(w[5], 0.0);
  }

  void scales_frequencies() {
    RopeConfig rope;
    rope.theta = 10000;
    rope.rotary_dim = 64;
    const std::vector<double> plain = lamina::test::frequencies(rope, 64);
    rope.factor = 4;
    rope.scaling = RopeScaling::kLinear;
    const std::vector<double> linear = lamina::test::frequencies(rope, 64);
    rope.scaling = RopeScaling::kYarn;
    rope.original_context = 4096;
    const std::vector<double> yarn = lamina::test::frequencies(rope, 64);
    rope.scaling = RopeScaling::kLlama3;
    const std::vector<double> llama3 = lamina::test::frequencies(rope, 64);
    for (int f = 0; f < 32; ++f) {
      const double turns = 4096 * plain[f] / (2 * std::numbers::pi);
      QCOMPARE(linear[f], plain[f] / 4);
      // Many turns within the trained context: kept. Less than one: stretched. Between: in between.
      if (turns > 40) QCOMPARE(yarn[f], plain[f]);
      if (turns > 4) QCOMPARE(llama3[f], plain[f]);
      if (turns < 1) QCOMPARE(llama3[f], plain[f] / 4);
      if (turns < 0.7) QCOMPARE(yarn[f], plain[f] / 4);
      QVERIFY(yarn[f] <= plain[f] && yarn[f] >= plain[f] / 4);
    }
    rope.scaling = RopeScaling::kNone;
    rope.freq_divisors.assign(32, 2.0F);
    QCOMPARE(lamina::test::frequencies(rope, 64)[5], plain[5] / 2);
  }

  void yarn_has_a_magnitude() {
    RopeConfig rope;
    rope.factor = 4;
    QCOMPARE(lamina::test::magnitude(rope), 1.0);
    rope.scaling = RopeScaling::kYarn;
    QCOMPARE(lamina::test::magnitude(rope), 0.1 * std::log(4.0) + 1);
    rope.attention_factor = 1.5;
    QCOMPARE(lamina::test::magnitude(rope), 1.5);
  }
};

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
