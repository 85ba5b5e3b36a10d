// SPDX-License-Identifier: Apache-2.0
// The SentencePiece-style tokenizer of GGUF files against sentencepiece itself, and what it
// refuses.
#include <QTest>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/model/tokenizer.h"
#include "tests/support/cpu_timer.h"

using namespace lamina;

namespace {

using Ids = std::vector<std::int32_t>;
const std::string kUnknownText =
    " \xE2\x81\x87 ";  // what sentencepiece writes for an unknown token

TokenizerData data_of(const Json& model) {
  TokenizerData data;
  data.kind = TokenizerData::Kind::kGgufSpm;
  data.tokens = model.at("tokens").get<std::vector<std::string>>();
  data.scores = model.at("scores").get<std::vector<float>>();
  data.types = model.at("types").get<std::vector<std::int32_t>>();
  data.unknown_id = model.at("unknown_id").get<std::int32_t>();
  data.add_space_prefix = model.at("add_space_prefix").get<bool>();
  data.where = "test.gguf";
  return data;
}

// <unk> <s> a b ab and the two bytes of U+00E9.
TokenizerData tiny() {
  TokenizerData data;
  data.kind = TokenizerData::Kind::kGgufSpm;
  data.tokens = {"<unk>", "<s>", "a", "b", "ab", "<0xC3>", "<0xA9>", "\xE2\x96\x81"};
  data.scores = {0, 0, -3, -4, -1, 0, 0, -5};
  data.types = {2, 3, 1, 1, 1, 6, 6, 1};
  data.unknown_id = 0;
  data.add_space_prefix = false;
  data.where = "test.gguf";
  return data;
}

Status fault_of(const TokenizerData& data) { return Tokenizer::make(data).status(); }

}  // namespace

class TestTokenizerSpm : public QObject {
  Q_OBJECT

 private slots:
  void oracle_data();
  void oracle();
  void control_tokens();
  void unknown_characters();
  void malformed_byte_tokens_are_refused_data();
  void malformed_byte_tokens_are_refused();
  void inconsistent_lists_are_refused();
  void a_leading_space_is_taken_off_once();
  void long_texts_take_no_quadratic_time();

 private:
  Json load();
};

Json TestTokenizerSpm::load() {
  auto file = read_json_file(LAMINA_TEST_DATA "/spm_tokenizer.json");
  if (!file.has_value()) qFatal("%s", file.status().message().c_str());
  return *file;
}

void TestTokenizerSpm::oracle_data() {
  QTest::addColumn<int>("model");
  const Json file = load();
  QVERIFY(file.at("models").size() >= 4);
  for (std::size_t i = 0; i < file.at("models").size(); ++i) {
    QTest::newRow(file.at("models")[i].at("name").get<std::string>().c_str())
        << static_cast<int>(i);
  }
}

void TestTokenizerSpm::oracle() {
  QFETCH(int, model);
  const Json file = load();
  const Json& one = file.at("models")[static_cast<std::size_t>(model)];
  auto made = Tokenizer::make(data_of(one));
  QVERIFY2(made.has_value(), made.status().message().c_str());
  const Tokenizer& tokenizer = **made;
  QCOMPARE(tokenizer.kind(), std::string("spm"));
  const Json& texts = file.at("texts");
  QVERIFY(texts.size() >= 60);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i].get<std::string>();
    auto ids = tokenizer.encode(text, false);
    QVERIFY2(ids.has_value(), text.c_str());
    QVERIFY2(*ids == one.at("ids")[i].get<Ids>(), text.c_str());
    const std::string decoded = one.at("decoded")[i].get<std::string>();
    // An unknown token has no text here.
    if (decoded.find(kUnknownText) == std::string::npos) QCOMPARE(tokenizer.decode(*ids), decoded);
  }
}

void TestTokenizerSpm::control_tokens() {
  const Json file = load();
  const Json& with_prefix = file.at("models")[0];
  auto made = Tokenizer::make(data_of(with_prefix));
  QVERIFY(made.has_value());
  const Tokenizer& tokenizer = **made;
  QCOMPARE(tokenizer.find("<s>"), 1);
  QVERIFY(tokenizer.is_control(1));
  QVERIFY(!tokenizer.is_control(tokenizer.find("<tool>")));
  QCOMPARE(tokenizer.token_bytes(1), std::string());
  QCOMPARE(tokenizer.token_bytes(tokenizer.find("<tool>")), std::string("<tool>"));
  // Each text between control tokens is one of its own, with its own leading space.
  Ids expected = {1};
  const Ids words = *tokenizer.encode("the river", false);
  expected.insert(expected.end(), words.begin(), words.end());
  expected.push_back(2);
  expected.insert(expected.end(), words.begin(), words.end());
  QCOMPARE(*tokenizer.encode("<s>the river</s>the river", true), expected);
  auto plain = tokenizer.encode("<s>the river</s>", false);
  QVERIFY(std::find(plain->begin(), plain->end(), 1) == plain->end());
  QCOMPARE(tokenizer.decode(*plain), std::string("<s>the river</s>"));
}

void TestTokenizerSpm::unknown_characters() {
  auto made = Tokenizer::make(tiny());
  QVERIFY2(made.has_value(), made.status().message().c_str());
  QCOMPARE(*(*made)->encode("ab\xC3\xA9"
                            "ba",
                            false),
           (Ids{4, 5, 6, 3, 2}));
  // U+00E8 has no second byte token: one unknown token for each run of such characters.
  QCOMPARE(*(*made)->encode("a\xC3\xA8\xC3\xA8"
                            "b\xC3\xA8",
                            false),
           (Ids{2, 0, 3, 0}));
  // Without an unknown token the text is refused.
  TokenizerData data = tiny();
  data.types[0] = 1;
  data.unknown_id = -1;
  made = Tokenizer::make(data);
  QVERIFY(made.has_value());
  auto ids = (*made)->encode("a\xC3\xA8", false);
  QVERIFY(!ids.has_value());
  QVERIFY(QString::fromStdString(ids.status().message()).contains("U+00E8"));
}

void TestTokenizerSpm::malformed_byte_tokens_are_refused_data() {
  QTest::addColumn<QByteArray>("token");
  for (const char* token : {"<0x-1>", "<0xZZ>", "<0x>", "<0x123>", "<0xA>", "0xA9", "<0x+1>",
                            "<0x 1>", "<0X41>", "", "<0xA9"}) {
    QTest::newRow(token) << QByteArray(token);
  }
}

void TestTokenizerSpm::malformed_byte_tokens_are_refused() {
  QFETCH(QByteArray, token);
  TokenizerData data = tiny();
  data.tokens[6] = token.toStdString();
  const Status fault = fault_of(data);
  QCOMPARE(fault.kind(), ErrorKind::kBadInput);
  QVERIFY(QString::fromStdString(fault.message()).contains("byte token"));
  // The same token as text is harmless.
  data.types[6] = 1;
  QVERIFY(fault_of(data).is_ok());
}

void TestTokenizerSpm::inconsistent_lists_are_refused() {
  QVERIFY(fault_of(tiny()).is_ok());
  const auto refused = [](auto change) {
    TokenizerData data = tiny();
    change(data);
    return fault_of(data).kind() == ErrorKind::kBadInput;
  };
  QVERIFY(refused([](TokenizerData& d) { d.scores.pop_back(); }));
  QVERIFY(refused([](TokenizerData& d) { d.scores.clear(); }));
  QVERIFY(refused([](TokenizerData& d) { d.scores[2] = std::nanf(""); }));
  QVERIFY(refused([](TokenizerData& d) { d.types.push_back(1); }));
  QVERIFY(refused([](TokenizerData& d) { d.types[2] = 7; }));
  QVERIFY(refused([](TokenizerData& d) { d.tokens[3] = "a"; }));
  QVERIFY(refused([](TokenizerData& d) { d.tokens[6] = "<0xc3>"; }));
  QVERIFY(refused([](TokenizerData& d) { d.unknown_id = 8; }));
  QVERIFY(refused([](TokenizerData& d) { d.unknown_id = -2; }));
  QVERIFY(refused([](TokenizerData& d) { d.tokens.clear(); }));
  QVERIFY(refused([](TokenizerData& d) { d.kind = TokenizerData::Kind::kNone; }));
}

void TestTokenizerSpm::a_leading_space_is_taken_off_once() {
  const Json file = load();
  auto made = Tokenizer::make(data_of(file.at("models")[0]));
  QVERIFY(made.has_value());
  const Ids ids = *(*made)->encode("the river", false);
  QCOMPARE((*made)->decode(ids), std::string("the river"));
  Ids behind_control = {1};
  behind_control.insert(behind_control.end(), ids.begin(), ids.end());
  QCOMPARE((*made)->decode(behind_control), std::string("the river"));
  // In the middle of a text the space stays.
  TokenDecoder decoder(*made, true);
  std::string text;
  for (std::int32_t id : ids) text += decoder.push(id);
  QCOMPARE(text + decoder.finish(), std::string(" the river"));
}

void TestTokenizerSpm::long_texts_take_no_quadratic_time() {
  const Json file = load();
  auto made = Tokenizer::make(data_of(file.at("models")[0]));
  QVERIFY(made.has_value());
  for (const std::string& unit : {std::string("a"), std::string(" "), std::string("the"),
                                  std::string("<tool>"), std::string("\xEC\x97\x86")}) {
    std::string text;
    while (text.size() < (std::size_t{1} << 20)) text += unit;
    const test::CpuTimer timer;
    auto ids = (*made)->encode(text, true);
    // About a second of processor time; quadratic time would be hours.
    QVERIFY2(timer.seconds() < 30, qPrintable(QString::number(timer.seconds())));
    QVERIFY(ids.has_value());
    QCOMPARE((*made)->decode(*ids), text);
  }
}

QTEST_APPLESS_MAIN(TestTokenizerSpm)
#include "tst_tokenizer_spm.moc"
