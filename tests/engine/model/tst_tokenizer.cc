// SPDX-License-Identifier: Apache-2.0
// The tokenizer of the demo model against its oracle, and what holds for every tokenizer.
#include <QTest>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/model/checkpoint.h"
#include "engine/model/tokenizer.h"
#include "tests/support/cpu_timer.h"

using namespace lamina;

namespace {

using Ids = std::vector<std::int32_t>;

std::string repeated(const std::string& unit, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += unit;
  return out;
}

// A small generator of its own, so that the texts are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>((state_ >> 33) % bound);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

class TestTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void oracle_data();
  void oracle();
  void special_tokens();
  void a_text_that_is_not_utf8_is_refused_data();
  void a_text_that_is_not_utf8_is_refused();
  void a_byte_without_a_token_is_refused();
  void characters_are_held_back_until_whole();
  void invalid_bytes_become_replacement_characters();
  void random_texts_come_back();
  void random_ids_decode_the_same_in_pieces();
  void a_megabyte_takes_no_quadratic_time_data();
  void a_megabyte_takes_no_quadratic_time();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
};

void TestTokenizer::initTestCase() {
  auto checkpoint = Checkpoint::open(LAMINA_DEMO_MODEL);
  QVERIFY2(checkpoint.has_value(), checkpoint.status().message().c_str());
  auto made = Tokenizer::make(*(*checkpoint)->tokenizer_data());
  QVERIFY2(made.has_value(), made.status().message().c_str());
  tokenizer_ = *made;
  QCOMPARE(tokenizer_->vocab_size(), 49152);
  QCOMPARE(tokenizer_->kind(), std::string("bpe:smollm"));
}

void TestTokenizer::oracle_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QList<int>>("plain");
  QTest::addColumn<QList<int>>("special");
  auto cases = read_json_file(LAMINA_TEST_DATA "/smol_tokenizer.json");
  QVERIFY2(cases.has_value(), cases.status().message().c_str());
  QVERIFY(cases->size() >= 25);
  const auto list = [](const Json& ids) {
    QList<int> out;
    for (const Json& id : ids) out.append(id.get<int>());
    return out;
  };
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const Json& one = (*cases)[i];
    QTest::addRow("%zu", i) << QString::fromStdString(one.at("text").get<std::string>())
                            << list(one.at("ids_plain")) << list(one.at("ids_special"));
  }
}

void TestTokenizer::oracle() {
  QFETCH(QString, text);
  QFETCH(QList<int>, plain);
  QFETCH(QList<int>, special);
  const std::string bytes = text.toStdString();
  auto ids_plain = tokenizer_->encode(bytes, false);
  auto ids_special = tokenizer_->encode(bytes, true);
  QVERIFY(ids_plain.has_value() && ids_special.has_value());
  QCOMPARE(QList<int>(ids_plain->begin(), ids_plain->end()), plain);
  QCOMPARE(QList<int>(ids_special->begin(), ids_special->end()), special);
  QCOMPARE(tokenizer_->decode(*ids_plain), bytes);
}

void TestTokenizer::special_tokens() {
  const std::int32_t end = tokenizer_->find("<|im_end|>");
  QCOMPARE(end, 2);
  QVERIFY(tokenizer_->is_control(end));
  QCOMPARE(tokenizer_->token_bytes(end), std::string());
  QCOMPARE(*tokenizer_->encode("a<|im_end|>b", true),
           (Ids{tokenizer_->find("a"), end, tokenizer_->find("b")}));
  // Written out in plain text it is text, and never the control token.
  auto plain = tokenizer_->encode("a<|im_end|>b", false);
  QVERIFY(std::find(plain->begin(), plain->end(), end) == plain->end());
  QCOMPARE(tokenizer_->decode(*plain), std::string("a<|im_end|>b"));
  // A part of one is text in both.
  QCOMPARE(*tokenizer_->encode("<|im_end|", true), *tokenizer_->encode("<|im_end|", false));
  QCOMPARE(tokenizer_->find("no such token"), -1);
  QVERIFY(!tokenizer_->is_control(-1));
  QVERIFY(!tokenizer_->is_control(49152));
  QCOMPARE(tokenizer_->token_bytes(-1), std::string());
  QCOMPARE(tokenizer_->token_bytes(49152), std::string());
  QCOMPARE(*tokenizer_->encode("", true), Ids{});
}

void TestTokenizer::a_text_that_is_not_utf8_is_refused_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<int>("offset");
  QTest::newRow("lone continuation") << QByteArray("ab\x80", 3) << 2;
  QTest::newRow("cut off") << QByteArray("abc\xE4\xB8") << 3;
  QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << 0;
  QTest::newRow("overlong of three bytes") << QByteArray("x\xE0\x80\xAF") << 1;
  QTest::newRow("surrogate") << QByteArray("x\xED\xA0\x80") << 1;
  QTest::newRow("beyond U+10FFFF") << QByteArray("x\xF4\x90\x80\x80") << 1;
  QTest::newRow("0xFF") << QByteArray("\xFF") << 0;
}

void TestTokenizer::a_text_that_is_not_utf8_is_refused() {
  QFETCH(QByteArray, text);
  QFETCH(int, offset);
  auto ids = tokenizer_->encode(text.toStdString(), true);
  QVERIFY(!ids.has_value());
  QCOMPARE(ids.status().kind(), ErrorKind::kBadInput);
  QCOMPARE(ids.status().where(), "byte offset " + std::to_string(offset));
}

// This vocabulary has no token for the byte 0x04, so the text cannot be given to the model.
void TestTokenizer::a_byte_without_a_token_is_refused() {
  auto ids = tokenizer_->encode(std::string("a\x04z"), false);
  QVERIFY(!ids.has_value());
  QCOMPARE(ids.status().kind(), ErrorKind::kBadInput);
  QVERIFY(QString::fromStdString(ids.status().message()).contains("0x04"));
}

void TestTokenizer::characters_are_held_back_until_whole() {
  // U+1F469 is three tokens here: 10813 235 119 (see the oracle).
  TokenDecoder decoder(tokenizer_);
  QCOMPARE(decoder.push(10813), std::string());
  QCOMPARE(decoder.push(235), std::string());
  QCOMPARE(decoder.push(119), std::string("\xF0\x9F\x91\xA9"));
  QCOMPARE(decoder.finish(), std::string());
}

void TestTokenizer::invalid_bytes_become_replacement_characters() {
  const std::string replacement = "\xEF\xBF\xBD";
  const std::int32_t letter = tokenizer_->find("x");
  // Cut off by another character: the held-back bytes are one replacement character.
  QCOMPARE(tokenizer_->decode(Ids{10813, 235, letter}), replacement + "x");
  // Cut off by the end.
  TokenDecoder decoder(tokenizer_);
  QCOMPARE(decoder.push(10813), std::string());
  QCOMPARE(decoder.finish(), replacement);
  // Continuation bytes that follow nothing: one each.
  QCOMPARE(tokenizer_->decode(Ids{235, 119}), replacement + replacement);
  // Control tokens and ids out of range have no text.
  QCOMPARE(tokenizer_->decode(Ids{1, letter, 2, -5, 1 << 30}), std::string("x"));
}

void TestTokenizer::random_texts_come_back() {
  const std::vector<std::string> parts = {"a",
                                          "the",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\r\n",
                                          "\t",
                                          "7",
                                          "42",
                                          "'s",
                                          "'LL",
                                          "\xC3\xA9",
                                          "e\xCC\x81",
                                          "\xE4\xB8\xAD",
                                          "\xF0\x9F\x99\x82",
                                          "\xE2\x80\x8D",
                                          "\xC2\xA0",
                                          "\xE3\x80\x80",
                                          ".",
                                          "<|im_end|>",
                                          "<|",
                                          "_",
                                          "\xE0\xA4\xB9",
                                          "-"};
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint32_t n = random.below(40); n > 0; --n)
      text += parts[random.below(static_cast<std::uint32_t>(parts.size()))];
    auto ids = tokenizer_->encode(text, false);
    QVERIFY2(ids.has_value(), ids.status().message().c_str());
    QCOMPARE(tokenizer_->decode(*ids), text);
  }
  // Random bytes: refused or encoded, and then they come back.
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::uint32_t n = random.below(12); n > 0; --n)
      text.push_back(static_cast<char>(random.below(256)));
    auto ids = tokenizer_->encode(text, false);
    if (ids.has_value()) QCOMPARE(tokenizer_->decode(*ids), text);
  }
}

void TestTokenizer::random_ids_decode_the_same_in_pieces() {
  Random random(12);
  for (int round = 0; round < 300; ++round) {
    Ids ids;
    for (std::uint32_t n = random.below(30); n > 0; --n) {
      ids.push_back(
          static_cast<std::int32_t>(random.below(2) ? random.below(400) : random.below(49152)));
    }
    std::string streamed;
    TokenDecoder decoder(tokenizer_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      streamed += decoder.push(ids[i]);
      TokenDecoder copy = decoder;
      QCOMPARE(streamed + copy.finish(), tokenizer_->decode(std::span(ids).first(i + 1)));
    }
  }
}

void TestTokenizer::a_megabyte_takes_no_quadratic_time_data() {
  QTest::addColumn<QByteArray>("unit");
  for (const char* unit :
       {"a", " ", "7", "\n", "<", "<|im_end|", "\xE4\xB8\xAD", " \xC2\xA0", "e\xCC\x81", "ab1 "}) {
    QTest::newRow(unit) << QByteArray(unit);
  }
}

void TestTokenizer::a_megabyte_takes_no_quadratic_time() {
  QFETCH(QByteArray, unit);
  const std::string text = repeated(unit.toStdString(), std::size_t{1} << 20) + "x";
  const test::CpuTimer timer;
  auto ids = tokenizer_->encode(text, true);
  // About a second of processor time; quadratic time would be hours.
  QVERIFY2(timer.seconds() < 30, qPrintable(QString::number(timer.seconds())));
  QVERIFY2(ids.has_value(), ids.status().message().c_str());
  QCOMPARE(tokenizer_->decode(*ids), text);
}

QTEST_APPLESS_MAIN(TestTokenizer)
#include "tst_tokenizer.moc"
