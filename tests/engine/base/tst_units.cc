// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <QTest>
#include <limits>
#include <string>

using namespace lamina;

class TestUnits : public QObject {
  Q_OBJECT

 private slots:
  void parses_budgets_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<qint64>("full");
    QTest::addColumn<qint64>("bytes");
    const qint64 full = 1835008000;
    QTest::newRow("14x") << "14x" << full << qint64{131072000};
    QTest::newRow("14 x") << " 14 x " << full << qint64{131072000};
    QTest::newRow("1x") << "1x" << full << full;
    QTest::newRow("3x rounds down") << "3x" << qint64{100} << qint64{33};
    QTest::newRow("6.6x") << "6.6x" << full << qint64{278031515};
    QTest::newRow("0.5x") << "0.5x" << qint64{100} << qint64{200};
    QTest::newRow("25%") << "25%" << full << qint64{458752000};
    QTest::newRow("12.5 %") << "12.5 %" << qint64{1001} << qint64{125};
    QTest::newRow("MB") << "136MB" << full << qint64{136000000};
    QTest::newRow("MiB") << "130MiB" << full << qint64{136314880};
    QTest::newRow("plain") << "142606336" << full << qint64{142606336};
    QTest::newRow("B") << "142606336 B" << full << qint64{142606336};
    QTest::newRow("kB") << "1.5kB" << full << qint64{1500};
    QTest::newRow("KiB") << "1.5KiB" << full << qint64{1536};
    QTest::newRow("GB") << "2GB" << full << qint64{2000000000};
    QTest::newRow("TiB") << "1TiB" << full << qint64{1099511627776};
    QTest::newRow("exponent") << "1e9" << full << qint64{1000000000};
    QTest::newRow("small exponent") << "25e-1kB" << full << qint64{2500};
    QTest::newRow("beyond 2^53") << "9007199254740993" << full << qint64{9007199254740993};
    QTest::newRow("1x beyond 2^53") << "1x" << qint64{9007199254740993} << qint64{9007199254740993};
    QTest::newRow("1x of the largest")
        << "1x" << std::numeric_limits<qint64>::max() << std::numeric_limits<qint64>::max();
    QTest::newRow("100% of the largest")
        << "100%" << std::numeric_limits<qint64>::max() << std::numeric_limits<qint64>::max();
    // 0.1 has no exact double; 0.1 MB has an exact number of bytes all the same.
    QTest::newRow("0.1MB") << "0.1MB" << full << qint64{100000};
    QTest::newRow(".5MB") << ".5MB" << full << qint64{500000};
    // Less than a byte is a budget that nothing meets, not a text that says nothing.
    QTest::newRow("0.5") << "0.5" << full << qint64{0};
    QTest::newRow("0.001B") << "0.001B" << full << qint64{0};
    QTest::newRow("1e-9kB") << "1e-9kB" << full << qint64{0};
    QTest::newRow("1e-30MB") << "1e-30MB" << full << qint64{0};
    QTest::newRow("1e19x") << "1e19x" << full << qint64{0};
    QTest::newRow("14x of 13") << "14x" << qint64{13} << qint64{0};
    QTest::newRow("1e-3MB") << "1e-3MB" << full << qint64{1000};
    QTest::newRow("largest") << "9223372036854775807" << full << std::numeric_limits<qint64>::max();
    QTest::newRow("largest and a half")
        << "9223372036854775807.5" << full << std::numeric_limits<qint64>::max();
    QTest::newRow("4.35kB") << "4.35kB" << full << qint64{4350};
  }

  void parses_budgets() {
    QFETCH(QString, text);
    QFETCH(qint64, full);
    QFETCH(qint64, bytes);
    auto result = parse_budget(text.toStdString(), full);
    QVERIFY2(result, result.status().message().c_str());
    QCOMPARE(qint64{*result}, bytes);
  }

  void refuses_nonsense() {
    const char* const nonsense[] = {"",
                                    " ",
                                    "x",
                                    "%",
                                    "MB",
                                    "-5MB",
                                    "+5MB",
                                    "0",
                                    "0x",
                                    "0%",
                                    "0MB",
                                    "0x10",
                                    "abc",
                                    "12 34",
                                    "12MBx",
                                    "12mb",
                                    "1..5MB",
                                    "5.",
                                    "5.MB",
                                    "1e",
                                    "1eMB",
                                    "1e+MB",
                                    "1e99",
                                    "1e39x",
                                    "nan",
                                    "inf",
                                    "nanx",
                                    "infMB",
                                    "1,5MB",
                                    "99999999999999999999",
                                    "9223372036854775808",
                                    "9300000TB",
                                    "14x14",
                                    "14xx",
                                    "14X",
                                    "\xff",
                                    "14x\n",
                                    "1e18TiB",
                                    "0.0000000000000000001x",
                                    ".MB"};
    for (const char* text : nonsense) {
      auto result = parse_budget(text, 1835008000);
      QVERIFY2(!result, text);
      QCOMPARE(result.status().kind(), ErrorKind::kUsage);
      QVERIFY(result.status().message().find("is not a budget") != std::string::npos);
      QVERIFY(result.status().message().find("14x or 25%") != std::string::npos);
    }
    QVERIFY(!parse_budget("1e-18x", std::numeric_limits<std::int64_t>::max()));
    QVERIFY(!parse_budget("14x", 0));
    QVERIFY(!parse_budget("14x", -5));
    QVERIFY(!parse_budget(std::string("14x\0", 4), 1835008000));
  }

  void formats() {
    QCOMPARE(format_mb(812), std::string("812 B"));
    QCOMPARE(format_mb(0), std::string("0 B"));
    QCOMPARE(format_mb(4096), std::string("0.004 MB"));
    QCOMPARE(format_mb(130662400), std::string("130.7 MB"));
    QCOMPARE(format_mb(1835008000), std::string("1835.0 MB"));
    QCOMPARE(format_mb(250000000000), std::string("250.0 GB"));
    QCOMPARE(format_mb(-2000000), std::string("-2.0 MB"));
  }
};

QTEST_GUILESS_MAIN(TestUnits)
#include "tst_units.moc"
