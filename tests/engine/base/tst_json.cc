// SPDX-License-Identifier: Apache-2.0
#include "engine/base/json.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

using namespace lamina;

namespace {

std::string nested(int depth, const std::string& inside) {
  return std::string(static_cast<std::size_t>(depth), '[') + inside +
         std::string(static_cast<std::size_t>(depth), ']');
}

std::string error_of(const std::string& text) {
  return parse_json(text, "f.json").status().message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

class TestJson : public QObject {
  Q_OBJECT

 private slots:
  void parses() {
    auto json = parse_json(R"( {"a": [1, 2.5, "x", null, true], "b": {"a": 1}} )", "f.json");
    QVERIFY2(json, json.status().message().c_str());
    QCOMPARE((*json)["a"][1].get<double>(), 2.5);
  }

  void refuses_duplicate_keys() {
    QVERIFY(has(error_of(R"({"a": 1, "b": 2, "a": 3})"), "duplicate key 'a' (f.json)"));
    QVERIFY(has(error_of(R"({"x": [{"k": 1, "k": 1}]})"), "duplicate key 'k'"));
    QVERIFY(has(error_of(R"({"a": 1, "\u0061": 2})"), "duplicate key 'a'"));
    QVERIFY(parse_json(R"({"a": {"a": {"a": 1}}, "b": {"a": 1}})", "f"));
    QVERIFY(parse_json(R"([{"a": 1}, {"a": 1}])", "f"));
  }

  void bounds_depth() {
    QVERIFY(parse_json(nested(64, "1"), "f"));
    QVERIFY(has(error_of(nested(65, "")), "nested deeper than 64 levels"));
    QVERIFY(has(error_of(std::string(5'000'000, '[')), "nested deeper than 64 levels"));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    QVERIFY(has(error_of(objects), "nested deeper than 64 levels"));
  }

  void names_byte_and_place_of_a_syntax_error() {
    QVERIFY(has(error_of("{\"values\": [[1, 2], [3, NaN]]}"), "at byte 25, in values[1][1]"));
    QVERIFY(has(error_of("{\"values\": [[1, 2], [3, NaN]]}"), "JSON has no NaN"));
    QVERIFY(has(error_of("{\"values\": [[1, 1e999]]}"), "in values[0][1]"));
    QVERIFY(has(error_of("{\"a\": {\"b\": [{\"c\": -Infinity}]}}"), "in a.b[0].c"));
    for (const char* text : {"", " ", "{", "[1, 2", "{\"a\" 1}", "[1 2]", "tru", "\"abc", "{} {}",
                             "[1],", "\xff", "{\"a\": 1,}", "// no comments\n{}", "'a'", "01"}) {
      auto json = parse_json(text, "f.json");
      QVERIFY2(!json, text);
      QCOMPARE(json.status().kind(), ErrorKind::kBadInput);
      QVERIFY2(has(json.status().message(), "not valid JSON at byte"), text);
      QVERIFY2(has(json.status().message(), "(f.json)"), text);
    }
  }

  // The advice fits the fault, and every fault has one.
  void advises() {
    struct Case {
      std::string text;
      const char* advice;
    };
    const std::string nul(1, '\0');
    const Case cases[] = {
        {"[NaN]", "a finite number may be expected there; JSON has no NaN"},
        {"[nan]", "a finite number may be expected there; JSON has no NaN"},
        {"[-Infinity]", "a finite number may be expected there; JSON has no NaN"},
        {"[-inf]", "a finite number may be expected there; JSON has no NaN"},
        {"[1e999]", "a finite number may be expected there; JSON has no NaN"},
        {"[" + nul + "]", "control characters cannot stand there"},
        {"[\"a" + nul + "1\"]", "control characters cannot stand there"},
        {"{}" + nul, "control characters cannot stand there"},
        {"{} " + nul + "{}", "control characters cannot stand there"},
        {nul + nul + "123", "control characters cannot stand there"},
        {"[\"\n\"]", "control characters cannot stand there"},
        {R"(["\ud800"])", "\\ud800 to \\udfff stand for a character in pairs only"},
        {R"(["\udc00 1"])", "\\ud800 to \\udfff stand for a character in pairs only"},
        {R"(["\ud800\u0041"])", "\\ud800 to \\udfff stand for a character in pairs only"},
        {"[\"\xff\"]", "the file must be UTF-8"},
        {"[01]", "the file is damaged or of another kind"},
        {"{\"a\": 12", "the file is damaged or of another kind"},
        {"[1, 2}", "the file is damaged or of another kind"},
        {"[tru]", "the file is damaged or of another kind"},
        {R"({"a": 1, "a": 1})", "correct the file, or make it again"},
        {nested(65, ""), "correct the file, or make it again"},
    };
    for (const Case& c : cases) {
      QVERIFY2(has(error_of(c.text), std::string("(f.json): ") + c.advice),
               error_of(c.text).c_str());
    }
    const Json json = Json::parse(R"({"s": "text", "n": 1.5})");
    for (const Status& status :
         {json_member(json, "none", "f").status(), json_member(Json(3), "s", "f").status(),
          json_string(json, "n", "f").status(), json_int(json, "n", "f", 0, 9).status(),
          json_number(json, "s", "f").status()}) {
      QCOMPARE(status.advice(), std::string("correct the file, or make it again"));
    }
  }

  void beginnings_of_json() {
    const std::string whole = R"( {"a": [1, -2.5e3, "\u00e9x\ud83d\ude42", true], "b": null} )";
    for (std::size_t size = 0; size <= whole.size(); ++size)
      QVERIFY2(is_json_beginning(whole.substr(0, size)), std::to_string(size).c_str());
    for (const char* text : {"{a", "[1,]", "{\"a\" 1", "tr1", "{}}", "\"\x01", "[\"\\q"})
      QVERIFY2(!is_json_beginning(text), text);
  }

  void integers() {
    const Json json = Json::parse(R"({"i": 3, "f": 3.0, "half": 2.5, "big": 9223372036854775807,
        "bigger": 9223372036854775808, "neg": -4, "s": "3", "n": null, "huge": 1e30, "b": true})");
    const std::int64_t max = std::numeric_limits<std::int64_t>::max();
    const std::int64_t min = std::numeric_limits<std::int64_t>::min();
    QCOMPARE(*json_int(json, "i", "f", 0, 10), std::int64_t{3});
    QCOMPARE(*json_int(json, "f", "f", 0, 10), std::int64_t{3});
    QCOMPARE(*json_int(json, "neg", "f", -4, 10), std::int64_t{-4});
    QCOMPARE(*json_int(json, "big", "f", 0, max), max);
    for (const char* key : {"half", "bigger", "s", "n", "huge", "b", "missing"}) {
      auto value = json_int(json, key, "f.json", min, max);
      QVERIFY2(!value, key);
      QCOMPARE(value.status().kind(), ErrorKind::kBadInput);
      QVERIFY2(has(value.status().message(), key), key);
      QVERIFY2(has(value.status().message(), "f.json"), key);
    }
    QVERIFY(!json_int(json, "i", "f", 4, 10));
    QVERIFY(!json_int(json, "i", "f", 0, 2));
    QVERIFY(!json_int(json, "neg", "f", 0, max));
    QVERIFY(!json_int(Json::parse("[1]"), "i", "f", 0, max));
  }

  void numbers_and_strings() {
    const Json json = Json::parse(R"({"x": 0.1, "i": 7, "s": "text"})");
    QCOMPARE(*json_number(json, "x", "f"), 0.1);
    QCOMPARE(*json_number(json, "i", "f"), 7.0);
    QVERIFY(!json_number(json, "s", "f"));
    QVERIFY(!json_to_number(Json(std::nan("")), "f"));
    QVERIFY(!json_to_number(Json(INFINITY), "f"));
    QCOMPARE(*json_string(json, "s", "f"), std::string("text"));
    QVERIFY(!json_string(json, "x", "f"));
    QVERIFY(!json_string(json, "none", "f"));
    QVERIFY(!json_string(Json(3), "none", "f"));
  }

  void files() {
    QTemporaryDir folder;
    const std::string path = folder.path().toStdString() + "/a.json";
    std::ofstream(path) << "[1, 2, 3]";
    QCOMPARE(read_json_file(path)->size(), std::size_t{3});
    QVERIFY(has(read_json_file(path, 8).status().message(), "too large"));
    QVERIFY(has(read_json_file(path + "x").status().message(), "a.jsonx"));
  }
};

QTEST_GUILESS_MAIN(TestJson)
#include "tst_json.moc"
