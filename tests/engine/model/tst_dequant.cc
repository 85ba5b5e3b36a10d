// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/base/json.h"
#include "engine/model/dequant.h"
#include "kernels/quantize.h"

using namespace lamina;

namespace {

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

const Json& vectors() {
  static const Json document = read_json_file(LAMINA_TEST_DATA "/dequant_vectors.json").value();
  return document;
}

}  // namespace

class TestDequant : public QObject {
  Q_OBJECT
 private slots:
  void every_type_is_listed() {
    QStringList names;
    for (const Json& item : vectors()["cases"])
      names << QString::fromStdString(item["type"].get<std::string>());
    QCOMPARE(names.join(' '),
             QString("F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K"));
  }

  void bits_equal_the_oracle_data() {
    QTest::addColumn<QString>("type");
    for (const Json& item : vectors()["cases"]) {
      auto name = item["type"].get<std::string>();
      QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
  }
  void bits_equal_the_oracle() {
    QFETCH(QString, type);
    for (const Json& item : vectors()["cases"]) {
      if (item["type"].get<std::string>() != type.toStdString()) continue;
      std::vector<std::byte> data = from_hex(item["data"]), bits = from_hex(item["values"]);
      std::vector<float> expected(bits.size() / 4);
      std::memcpy(expected.data(), bits.data(), bits.size());
      const TensorType* info = find_tensor_type(type.toStdString());
      QVERIFY(info != nullptr);
      std::vector<float> actual(expected.size(), -77);
      QVERIFY(dequantize(*info, data, actual));
      for (std::size_t i = 0; i < actual.size(); ++i) {
        QVERIFY2(
            std::bit_cast<std::uint32_t>(actual[i]) == std::bit_cast<std::uint32_t>(expected[i]),
            qPrintable(
                QString("value %1: %2, expected %3").arg(i).arg(actual[i]).arg(expected[i])));
      }
      return;
    }
    QFAIL("no such case");
  }

  // Large enough to be split over threads, with a count that no thread number divides.
  void threads_give_the_same() {
    const TensorType& type = *find_tensor_type("Q5_0");
    const std::size_t blocks = (std::size_t{3} << 18) / 32 + 13;
    std::vector<std::byte> data(blocks * type.block_bytes);
    std::uint32_t state = 1;
    for (std::byte& b : data)
      b = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
    for (std::size_t i = 0; i < blocks; ++i)
      data[i * type.block_bytes + 1] &= std::byte{0x3f};  // finite scales
    std::vector<float> one(blocks * 32), five(blocks * 32);
    QVERIFY(dequantize(type, data, one, 1));
    QVERIFY(dequantize(type, data, five, 5));
    QVERIFY(one == five);
    QVERIFY(one.back() != 0 || one[one.size() - 2] != 0);
  }

  void wrong_sizes_are_refused() {
    std::vector<std::byte> data(18);
    std::vector<float> out(32, 5), shorter(31, 5);
    QVERIFY(!dequantize(*find_tensor_type("Q4_0"), std::span(data).first(17), out));
    QVERIFY(!dequantize(*find_tensor_type("Q4_0"), data, shorter));
    QVERIFY(!dequantize(*find_tensor_type("IQ4_NL"), data, out));
    QCOMPARE(out[0], 5.0f);
  }

  void half_precision_covers_all_bits() {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      float value = lamina::kernels::float_from_half(static_cast<std::uint16_t>(bits));
      int exponent = static_cast<int>(bits >> 10 & 31);
      double mantissa = (bits & 1023) / 1024.0;
      double expected =
          exponent == 0 ? std::ldexp(mantissa, -14) : std::ldexp(1 + mantissa, exponent - 15);
      if (exponent == 31) {
        QVERIFY((bits & 1023) != 0 ? std::isnan(value) : std::isinf(value));
      } else {
        QCOMPARE(static_cast<double>(std::abs(value)), expected);
      }
      QCOMPARE(std::signbit(value), (bits & 0x8000) != 0);
    }
  }
};

QTEST_APPLESS_MAIN(TestDequant)
#include "tst_dequant.moc"
