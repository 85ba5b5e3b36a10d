// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "engine/base/json.h"
#include "kernels/scores.h"

using namespace lamina;

namespace {

// Places are given one after another to the best candidate left; written from spec section 3.
std::vector<std::int64_t> naive_select(const std::vector<float>& scores, int heads, int tokens,
                                       int n, int sinks, int recent) {
  const int first = std::min(sinks, n / 4), last = std::min(recent, n / 4);
  std::set<std::int64_t> kept;
  for (int t = 0; t < first; ++t) kept.insert(t);
  for (int t = tokens - last; t < tokens; ++t) kept.insert(t);
  std::vector<double> best(tokens, -1e300);
  for (int head = 0; head < heads; ++head) {
    const float* row = scores.data() + head * tokens;
    const int count = tokens - first - last;
    double mean = 0, square = 0;
    bool equal = true;
    for (int t = first; t < tokens - last; ++t) {
      mean += double(row[t]) / count;
      equal = equal && row[t] == row[first];
    }
    for (int t = first; t < tokens - last; ++t) square += std::pow(row[t] - mean, 2) / count;
    for (int t = first; t < tokens - last; ++t) {
      best[t] = std::max(best[t], equal ? 0.0 : (row[t] - mean) / std::sqrt(square));
    }
  }
  while (static_cast<int>(kept.size()) < n) {
    int winner = -1;
    for (int t = first; t < tokens - last; ++t) {
      if (kept.count(t) != 0) continue;
      if (winner < 0 || best[t] >= best[winner]) winner = t;  // equal: the later one
    }
    kept.insert(winner);
  }
  return {kept.begin(), kept.end()};
}

std::vector<std::int64_t> select(const std::vector<float>& scores, int heads, int tokens, int n,
                                 int sinks = 4, int recent = 128) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n) + 1, -5);
  kernels::select_shared(scores.data(), heads, tokens, n, sinks, recent, out.data());
  if (out.back() != -5) return {};
  out.pop_back();
  return out;
}

}  // namespace

class TestSelect : public QObject {
  Q_OBJECT

 private slots:
  void random_scores() {
    std::mt19937 random(42);
    std::normal_distribution<float> normal;
    for (int round = 0; round < 400; ++round) {
      const int heads = 1 + int(random() % 4), tokens = 1 + int(random() % 700);
      const int n = 1 + int(random() % unsigned(tokens));
      const int sinks = int(random() % 6), recent = round % 2 == 0 ? 128 : int(random() % 40);
      std::vector<float> scores(heads * tokens);
      for (float& s : scores) s = normal(random);
      QCOMPARE(select(scores, heads, tokens, n, sinks, recent),
               naive_select(scores, heads, tokens, n, sinks, recent));
    }
  }

  // One head of few distinct values: many candidates share the last place's score.
  void tied_scores_go_to_the_later_position() {
    std::mt19937 random(43);
    for (int round = 0; round < 400; ++round) {
      const int tokens = 1 + int(random() % 200), n = 1 + int(random() % unsigned(tokens));
      std::vector<float> scores(tokens);
      for (float& s : scores) s = float(random() % 3);
      QCOMPARE(select(scores, 1, tokens, n), naive_select(scores, 1, tokens, n, 4, 128));
    }
    QCOMPARE(select({1, 1, 1, 0, 1}, 1, 5, 3), (std::vector<std::int64_t>{1, 2, 4}));
  }

  void one_and_all_tokens() {
    QCOMPARE(select({0, 3, 1}, 1, 3, 1), (std::vector<std::int64_t>{1}));
    QCOMPARE(select({7}, 1, 1, 1), (std::vector<std::int64_t>{0}));
    QCOMPARE(select({5, 4, 3, 2, 1, 0}, 1, 6, 6), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  }

  void protected_tokens_survive_the_lowest_scores() {
    std::vector<float> scores(40, 1.0f);
    for (int t : {0, 1, 2, 36, 37, 38, 39}) scores[t] = -100.0f;
    // n = 12: three sinks, three recent, six by score.
    QCOMPARE(select(scores, 1, 40, 12),
             (std::vector<std::int64_t>{0, 1, 2, 30, 31, 32, 33, 34, 35, 37, 38, 39}));
    // n = 3: nothing is protected.
    QCOMPARE(select(scores, 1, 40, 3), (std::vector<std::int64_t>{33, 34, 35}));
  }

  // A constant head scores 0, the mean of every other head.
  void constant_scores() {
    for (float value : {0.0f, 0.1f, -3.7f}) {
      QCOMPARE(select(std::vector<float>(9, value), 1, 9, 3), (std::vector<std::int64_t>{6, 7, 8}));
    }
    std::vector<float> scores(14, 0.1f);
    for (int t = 0; t < 7; ++t) scores[7 + t] = t == 2 ? 1.0f : (t == 4 ? 0.4f : 0.2f);
    QCOMPARE(select(scores, 2, 7, 3), naive_select(scores, 2, 7, 3, 4, 128));
    QCOMPARE(select(scores, 2, 7, 3), (std::vector<std::int64_t>{2, 4, 6}));
  }

  // The streaming scorer's survivors are known from positions alone; the reference lists them.
  void survivors_of_the_reference() {
    auto file = read_json_file(LAMINA_TEST_DATA "/smol_prompt27_S.json");
    QVERIFY2(file.has_value(), file.status().message().c_str());
    std::vector<float> scores;
    for (int head = 0; head < 3; ++head) {
      for (int t = 0; t < 27; ++t) scores.push_back(float(t));
    }
    for (const auto& [layer, sets] : (*file)["survivors"]["streaming"].items()) {
      for (const auto& [keep, survivors] : sets.items()) {
        const auto expected = survivors.get<std::vector<std::int64_t>>();
        QCOMPARE(select(scores, 3, 27, static_cast<int>(expected.size())), expected);
      }
    }
  }
};

QTEST_APPLESS_MAIN(TestSelect)
#include "tst_select.moc"
