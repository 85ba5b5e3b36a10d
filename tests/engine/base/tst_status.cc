// SPDX-License-Identifier: Apache-2.0
#include "engine/base/status.h"

#include <QTest>
#include <memory>
#include <string>

using namespace lamina;

namespace {

Status fails() { return Status::runtime("the disk is full", "/a/b", "free some space"); }

Status passes_on(bool& reached) {
  LAMINA_RETURN_IF_ERROR(Status::ok());
  LAMINA_RETURN_IF_ERROR(fails());
  reached = true;
  return Status::ok();
}

Result<int> half(int x) {
  if (x % 2 != 0) return Status::usage("odd");
  return x / 2;
}

Result<int> quarter(int x) {
  LAMINA_ASSIGN_OR_RETURN(int h, half(x));
  LAMINA_ASSIGN_OR_RETURN(h, half(h));
  return h;
}

}  // namespace

class TestStatus : public QObject {
  Q_OBJECT

 private slots:
  void message_has_the_three_parts() {
    QCOMPARE(Status::usage("WHAT", "WHERE", "DO").message(), std::string("WHAT (WHERE): DO"));
    QCOMPARE(Status::usage("WHAT", "WHERE").message(), std::string("WHAT (WHERE)"));
    QCOMPARE(Status::usage("WHAT", "", "DO").message(), std::string("WHAT: DO"));
    QCOMPARE(Status::usage("WHAT").message(), std::string("WHAT"));
    QCOMPARE(Status::ok().message(), std::string());
    QCOMPARE(Status::cancelled().message(), std::string("cancelled"));
  }

  void kinds_are_exit_codes() {
    QCOMPARE(Status::ok().exit_code(), 0);
    QCOMPARE(Status::refused("x").exit_code(), 1);
    QCOMPARE(Status::usage("x").exit_code(), 2);
    QCOMPARE(Status::bad_input("x").exit_code(), 3);
    QCOMPARE(Status::runtime("x").exit_code(), 4);
    QCOMPARE(Status::cancelled().exit_code(), 130);
    QVERIFY(Status::ok().is_ok());
    QVERIFY(!Status::refused("x").is_ok());
  }

  // A message is one line of valid UTF-8 whatever a file's name or content was.
  void hostile_text_is_escaped_data() {
    QTest::addColumn<QByteArray>("in");
    QTest::addColumn<QByteArray>("out");
    QTest::newRow("newline") << QByteArray("a\nb\r\tc") << QByteArray("a\\x0ab\\x0d\\x09c");
    QTest::newRow("escape") << QByteArray("\x1b[31m\x7f") << QByteArray("\\x1b[31m\\x7f");
    QTest::newRow("nul") << QByteArray("a\0b", 3) << QByteArray("a\\x00b");
    QTest::newRow("C1") << QByteArray("\xc2\x9b") << QByteArray("\\xc2\\x9b");
    QTest::newRow("right to left") << QByteArray("\xe2\x80\xae") << QByteArray("\\xe2\\x80\\xae");
    QTest::newRow("line separator") << QByteArray("\xe2\x80\xa8") << QByteArray("\\xe2\\x80\\xa8");
    QTest::newRow("letters") << QByteArray("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80")
                             << QByteArray("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
    QTest::newRow("stray") << QByteArray("\xff\x80z") << QByteArray("\\xff\\x80z");
    QTest::newRow("cut short") << QByteArray("\xe4\xb8") << QByteArray("\\xe4\\xb8");
    QTest::newRow("broken by a letter") << QByteArray("\xe4z\xad") << QByteArray("\\xe4z\\xad");
    QTest::newRow("overlong") << QByteArray("\xc0\xaf\xe0\x80\xaf")
                              << QByteArray("\\xc0\\xaf\\xe0\\x80\\xaf");
    QTest::newRow("surrogate") << QByteArray("\xed\xa0\x80") << QByteArray("\\xed\\xa0\\x80");
    QTest::newRow("too high") << QByteArray("\xf4\x90\x80\x80")
                              << QByteArray("\\xf4\\x90\\x80\\x80");
  }

  void hostile_text_is_escaped() {
    QFETCH(QByteArray, in);
    QFETCH(QByteArray, out);
    Status status = Status::bad_input("bad", in.toStdString());
    QCOMPARE(QByteArray::fromStdString(status.message()), "bad (" + out + ")");
    QCOMPARE(QByteArray::fromStdString(status.where()), in);  // the value itself stays as it is
  }

  void errors_pass_through() {
    bool reached = false;
    Status status = passes_on(reached);
    QCOMPARE(status.kind(), ErrorKind::kRuntime);
    QCOMPARE(status.message(), std::string("the disk is full (/a/b): free some space"));
    QVERIFY(!reached);
    QCOMPARE(*quarter(12), 3);
    QCOMPARE(quarter(6).status().message(), std::string("odd"));
    QCOMPARE(quarter(5).status().kind(), ErrorKind::kUsage);
  }

  void results_move() {
    Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
    QVERIFY(result.has_value());
    QVERIFY(result.status().is_ok());
    std::unique_ptr<int> value = std::move(result).value();
    QCOMPARE(*value, 7);
    Result<std::string> same(std::string("x"));
    QCOMPARE(same->size(), std::size_t{1});
  }
};

QTEST_GUILESS_MAIN(TestStatus)
#include "tst_status.moc"
