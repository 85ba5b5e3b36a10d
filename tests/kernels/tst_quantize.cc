// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "engine/base/json.h"
#include "kernels/quantize.h"

using namespace lamina;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

unsigned bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

unsigned hex(const Json& text) {
  return static_cast<unsigned>(std::stoul(text.get<std::string>(), nullptr, 16));
}

// The value of a half by its definition, in double.
double half_value(unsigned h) {
  const int exponent = static_cast<int>((h >> 10) & 0x1f);
  const double mantissa = h & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}

// The half nearest to x by search: ties to the even code, saturated.
unsigned naive_half(float x) {
  const unsigned sign = std::signbit(x) ? 0x8000u : 0u;
  const double magnitude = std::fabs(static_cast<double>(x));
  if (magnitude >= 65504.0) return sign | 0x7bffu;
  unsigned low = 0, high = 0x7bff;  // value(low) <= magnitude < value(high)
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (half_value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - half_value(low), above = half_value(high) - magnitude;
  const bool up = above < below || (above == below && (high & 1) == 0);
  return sign | (up ? high : low);
}

std::vector<float> random_values(std::size_t n, unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> x(n);
  for (float& value : x) value = normal(random);
  return x;
}

}  // namespace

class TestQuantize : public QObject {
  Q_OBJECT

 private slots:
  void every_half_survives_the_round_trip() {
    for (unsigned h = 0; h < 0x10000; ++h) {
      if ((h & 0x7c00) == 0x7c00) continue;
      const float value = kernels::float_from_half(static_cast<std::uint16_t>(h));
      QCOMPARE(static_cast<double>(value), half_value(h));
      QCOMPARE(std::signbit(value), (h & 0x8000) != 0);
      QCOMPARE(static_cast<unsigned>(kernels::half_from_float(value)), h);
    }
    QCOMPARE(kernels::float_from_half(0x7c00), kInf);
    QCOMPARE(kernels::float_from_half(0xfc00), -kInf);
    QVERIFY(std::isnan(kernels::float_from_half(0x7e00)));
  }

  void half_is_the_nearest_one() {
    std::vector<float> x = {0.0f,     -0.0f, 65504.0f, 65505.0f, 65519.99f,
                            65520.0f, 1e30f, kInf,     -kInf};
    for (unsigned h = 0; h < 0x7bff; h += 3) {
      const double low = half_value(h), high = half_value(h + 1);
      const auto tie = static_cast<float>((low + high) / 2);  // exact in float32
      for (float value : {tie, std::nextafterf(tie, 0.0f), std::nextafterf(tie, kInf)}) {
        x.push_back(value);
        x.push_back(-value);
      }
    }
    std::mt19937 random(7);
    for (int i = 0; i < 100000; ++i) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (!std::isnan(value)) x.push_back(value);
    }
    std::vector<float> rounded(x.size());
    kernels::round_to_half(x.data(), static_cast<std::int64_t>(x.size()), rounded.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const unsigned expected = naive_half(x[i]);
      QCOMPARE(static_cast<unsigned>(kernels::half_from_float(x[i])), expected);
      QCOMPARE(bits_of(rounded[i]), bits_of(static_cast<float>(half_value(expected))));
    }
  }

  void nan_stays_nan() {
    for (std::uint32_t payload : {0x7fc00000u, 0x7f800001u, 0xffc12345u}) {
      const float x = std::bit_cast<float>(payload);
      const std::uint16_t h = kernels::half_from_float(x);
      QVERIFY((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0);
      float rounded = 0;
      kernels::round_to_half(&x, 1, &rounded);
      QVERIFY(std::isnan(rounded));
    }
  }

  void vectors_of_the_reference() {
    auto file = read_json_file(LAMINA_TEST_DATA "/quant_vectors.json");
    QVERIFY2(file.has_value(), file.status().message().c_str());
    const Json& vectors = (*file)["vectors"];
    QCOMPARE(vectors.size(), std::size_t{23});
    for (const Json& vector : vectors) {
      const std::string name = vector["name"];
      std::vector<float> x;
      for (const Json& word : vector["x_hex"]) x.push_back(std::bit_cast<float>(hex(word)));
      for (std::size_t i = 0; i < x.size(); ++i) {
        QVERIFY2(kernels::half_from_float(x[i]) == hex(vector["fp16_hex"][i]), name.c_str());
      }
      for (int bits : {4, 8}) {
        const Json& expected = vector["b" + std::to_string(bits)];
        std::vector<std::uint8_t> codes(x.size());
        std::uint16_t scale = 0, min = 0;
        kernels::quantize_asym(x.data(), 1, static_cast<int>(x.size()), 32, bits, codes.data(),
                               &scale, &min);
        QVERIFY2(scale == hex(expected["scale_fp16_hex"]), name.c_str());
        QVERIFY2(min == hex(expected["min_fp16_hex"]), name.c_str());
        std::vector<float> back(x.size());
        kernels::dequantize_asym(codes.data(), &scale, &min, 1, static_cast<int>(x.size()), 32,
                                 back.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          QVERIFY2(codes[i] == expected["codes"][i].get<int>(), name.c_str());
          QVERIFY2(bits_of(back[i]) == bits_of(expected["dequant"][i].get<float>()), name.c_str());
        }
      }
    }
  }

  void odd_sizes_data() {
    QTest::addColumn<int>("dim");
    QTest::addColumn<int>("group");
    QTest::addColumn<int>("bits");
    for (int dim : {1, 33, 48, 80, 128}) {
      for (int group : {32, 64, 7}) {
        for (int bits : {1, 2, 3, 4, 8}) {
          QTest::addRow("dim %d group %d bits %d", dim, group, bits) << dim << group << bits;
        }
      }
    }
  }

  // Every group on its own, from the definition, in double where the result does not depend on it.
  void odd_sizes() {
    QFETCH(int, dim);
    QFETCH(int, group);
    QFETCH(int, bits);
    const int rows = 5, groups = (dim + group - 1) / group, levels = (1 << bits) - 1;
    const auto x = random_values(static_cast<std::size_t>(rows * dim), 11, 3.0f);
    std::vector<std::uint8_t> codes(x.size() + 1, 0xee);
    std::vector<std::uint16_t> scale(static_cast<std::size_t>(rows * groups) + 1, 0xeeee),
        min = scale;
    kernels::quantize_asym(x.data(), rows, dim, group, bits, codes.data(), scale.data(),
                           min.data());
    std::vector<float> back(x.size() + 1, -77.0f);
    kernels::dequantize_asym(codes.data(), scale.data(), min.data(), rows, dim, group, back.data());
    for (int row = 0; row < rows; ++row) {
      for (int g = 0; g < groups; ++g) {
        const int begin = g * group, end = std::min(dim, begin + group);
        float low = kInf, high = -kInf;
        for (int i = begin; i < end; ++i) {
          low = std::fmin(low, x[row * dim + i]);
          high = std::fmax(high, x[row * dim + i]);
        }
        const unsigned s = naive_half((high - low) / static_cast<float>(levels)),
                       m = naive_half(low);
        QCOMPARE(static_cast<unsigned>(scale[row * groups + g]), s);
        QCOMPARE(static_cast<unsigned>(min[row * groups + g]), m);
        for (int i = begin; i < end; ++i) {
          const auto step = static_cast<float>(half_value(s)),
                     base = static_cast<float>(half_value(m));
          const double code =
              s == 0
                  ? 0.0
                  : std::fmin(std::fmax(std::rint((x[row * dim + i] - base) / step), 0.0), levels);
          QCOMPARE(static_cast<double>(codes[row * dim + i]), code);
          const float product = static_cast<float>(code) * step;
          QCOMPARE(bits_of(back[row * dim + i]), bits_of(product + base));
        }
      }
    }
    QCOMPARE(codes.back(), std::uint8_t{0xee});
    QCOMPARE(scale.back(), std::uint16_t{0xeeee});
    QCOMPARE(back.back(), -77.0f);
  }

  void rows_do_not_depend_on_each_other() {
    const int rows = 9, dim = 80;
    const auto x = random_values(rows * dim, 3, 100.0f);
    std::vector<std::uint8_t> codes(x.size()), one(dim);
    std::vector<std::uint16_t> scale(rows * 3), min(rows * 3), scale1(3), min1(3);
    kernels::quantize_asym(x.data(), rows, dim, 32, 4, codes.data(), scale.data(), min.data());
    for (int row = 0; row < rows; ++row) {
      kernels::quantize_asym(x.data() + row * dim, 1, dim, 32, 4, one.data(), scale1.data(),
                             min1.data());
      QVERIFY(std::equal(one.begin(), one.end(), codes.begin() + row * dim));
      QVERIFY(std::equal(scale1.begin(), scale1.end(), scale.begin() + row * 3));
      QVERIFY(std::equal(min1.begin(), min1.end(), min.begin() + row * 3));
    }
  }

  void non_finite_values_are_found() {
    std::vector<float> x(5000, 1.0f);
    x[17] = std::numeric_limits<float>::max();
    QCOMPARE(kernels::find_non_finite(x.data(), 5000), std::int64_t{-1});
    QCOMPARE(kernels::find_non_finite(x.data(), 0), std::int64_t{-1});
    for (float bad : {kNan, kInf, -kInf, -kNan}) {
      for (std::size_t at : {4999u, 4096u, 1024u, 1023u, 0u}) {
        auto y = x;
        y[at] = bad;
        y[4999] = bad;
        QCOMPARE(kernels::find_non_finite(y.data(), 5000), static_cast<std::int64_t>(at));
        QCOMPARE(kernels::find_non_finite(y.data(), static_cast<std::int64_t>(at)),
                 std::int64_t{-1});
      }
    }
  }
};

QTEST_APPLESS_MAIN(TestQuantize)
#include "tst_quantize.moc"
