// SPDX-License-Identifier: Apache-2.0
// Pins, forbidden recipes and targets: the grammar, what they leave a layer, and what is refused.
#include <QFile>
#include <QTest>
#include <string>

#include "engine/solve/limits.h"

using namespace lamina;

namespace {

const ConfigGrid kGrid = ConfigGrid::default_grid();

// The configurations that `allowed` leaves a layer.
std::vector<int> choices(const std::vector<std::uint8_t>& allowed, int layer,
                         const ConfigGrid& grid) {
  std::vector<int> out;
  for (int c = 0; c < grid.size(); ++c) {
    if (allowed[static_cast<std::size_t>(layer) * grid.size() + c]) out.push_back(c);
  }
  return out;
}

// The default grid's index written out, so that no code of the library is trusted here.
int index(int keep_i, int k_i, int v_i) { return keep_i * 9 + k_i * 3 + v_i; }

ForbidRule rule(const char* text) { return parse_forbid(text).value(); }

QString message(const Status& status) { return QString::fromStdString(status.message()); }

}  // namespace

class TestLimits : public QObject {
  Q_OBJECT

 private slots:
  void pins_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("written");
    QTest::newRow("index") << "3=53"
                           << "3=1/16/16";
    QTest::newRow("first index") << "0=0"
                                 << "0=0.1/4/4";
    QTest::newRow("recipe") << "0-3=0.5/8/4"
                            << "0-3=0.5/8/4";
    QTest::newRow("full") << "0,29=full"
                          << "0=1/16/16 29=1/16/16";
    QTest::newRow("spaces") << " 1 - 2 , 5 = 0.25 / 4 / 16 "
                            << "1-2=0.25/4/16 5=0.25/4/16";
  }
  void pins() {
    QFETCH(QString, text);
    QFETCH(QString, written);
    Result<std::vector<Pin>> pins = parse_pin(text.toStdString(), kGrid);
    QVERIFY2(pins.has_value(), qPrintable(message(pins.status())));
    QStringList out;
    for (const Pin& pin : *pins) {
      out << QString::fromStdString(to_string(pin));
      QCOMPARE(parse_pin(to_string(pin), kGrid)->front(), pin);
    }
    QCOMPARE(out.join(' '), written);
  }

  void bad_pins_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("says");
    const int usage = static_cast<int>(ErrorKind::kUsage);
    const int bad = static_cast<int>(ErrorKind::kBadInput);
    QTest::newRow("empty") << "" << usage << "0-3=0.5/8/4";
    QTest::newRow("no sign") << "3" << usage << "'3'";
    QTest::newRow("no layer") << "=53" << usage << "names no layers";
    QTest::newRow("no recipe") << "3=" << usage << "not a recipe";
    QTest::newRow("two numbers") << "3=0.5/8" << usage << "not a recipe";
    QTest::newRow("four numbers") << "3=0.5/8/4/2" << usage << "not a recipe";
    QTest::newRow("words") << "3=most" << usage << "'most'";
    QTest::newRow("layer in words") << "all=53" << usage << "'all'";
    QTest::newRow("negative layer") << "-1=53" << usage << "'-1'";
    QTest::newRow("layer beyond int") << "99999999999=53" << usage << "99999999999";
    QTest::newRow("empty item") << "3,,4=53" << usage << "names no layers";
    QTest::newRow("three ends") << "1-2-3=53" << usage << "1-2-3";
    QTest::newRow("fraction") << "1.5=53" << usage << "1.5";
    QTest::newRow("beyond the grid") << "3=54" << bad << "0 to 53";
    QTest::newRow("negative index") << "3=-1" << bad << "-1";
    QTest::newRow("keep off the grid") << "3=0.3/8/4" << bad << "keep 0.3, K8 V4";
    QTest::newRow("bits off the grid") << "3=0.5/6/4" << bad << "K6";
    QTest::newRow("keep no number") << "3=nan/8/4" << bad << "keep nan";
    QTest::newRow("reversed") << "3-0=53" << bad << "reversed";
    QTest::newRow("overlapping") << "0-3,3=53" << bad << "0-3 and 3 overlap";
  }
  void bad_pins() {
    QFETCH(QString, text);
    QFETCH(int, kind);
    QFETCH(QString, says);
    Result<std::vector<Pin>> pins = parse_pin(text.toStdString(), kGrid);
    QVERIFY(!pins.has_value());
    QCOMPARE(pins.status().exit_code(), kind);
    QVERIFY2(message(pins.status()).contains(says), qPrintable(message(pins.status())));
  }

  void full_needs_a_grid_that_has_it() {
    const ConfigGrid small{{0.5, 0.9}, {4, 8}, {4, 8}};
    Result<std::vector<Pin>> pins = parse_pin("0=full", small);
    QVERIFY(!pins.has_value());
    QCOMPARE(pins.status().kind(), ErrorKind::kBadInput);
  }

  void rules_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("written");
    for (const char* text : {"k=4", "v<8", "keep<0.5", "keep<=0.25", "k!=16", "v>=8", "keep>0.9",
                             "0:keep<0.5", "0-3,27:k=4"}) {
      QTest::newRow(text) << text << text;
    }
    QTest::newRow("spaces") << " 0 - 3 , 27 : keep <= 0.5 "
                            << "0-3,27:keep<=0.5";
    QTest::newRow("fraction of a bit") << "k<4.5"
                                       << "k<4.5";
  }
  void rules() {
    QFETCH(QString, text);
    QFETCH(QString, written);
    Result<ForbidRule> parsed = parse_forbid(text.toStdString());
    QVERIFY2(parsed.has_value(), qPrintable(message(parsed.status())));
    QCOMPARE(QString::fromStdString(to_string(*parsed)), written);
    QCOMPARE(rule(to_string(*parsed).c_str()), *parsed);
  }

  void bad_rules_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("kind");
    const int usage = static_cast<int>(ErrorKind::kUsage);
    const int bad = static_cast<int>(ErrorKind::kBadInput);
    for (const char* text :
         {"", "k", "k=", "=4", "k4", "bits=4", "k==4", "k=<4", "k!4", "k=four", "keep<nan",
          "keep<inf", "keep<0.5x", ":k=4", "x:k=4", "0-:k=4", "0:1:k=4", "K=4"}) {
      QTest::newRow(*text ? text : "empty") << text << usage;
    }
    QTest::newRow("reversed") << "3-0:k=4" << bad;
    QTest::newRow("overlapping") << "0-3,2-5:k=4" << bad;
  }
  void bad_rules() {
    QFETCH(QString, text);
    QFETCH(int, kind);
    Result<ForbidRule> parsed = parse_forbid(text.toStdString());
    QVERIFY(!parsed.has_value());
    QCOMPARE(parsed.status().exit_code(), kind);
  }

  void nothing_is_forbidden_without_limits() {
    QCOMPARE(*allowed_configs({}, 2, kGrid), std::vector<std::uint8_t>(108, 1));
  }

  void every_comparison() {
    // Of the bits 4, 8, 16, those that a rule with the value 8 leaves.
    const std::pair<const char*, std::vector<int>> cases[] = {{"k<8", {8, 16}}, {"k<=8", {16}},
                                                              {"k=8", {4, 16}}, {"k!=8", {8}},
                                                              {"k>=8", {4}},    {"k>8", {4, 8}}};
    for (const auto& [text, left] : cases) {
      const auto allowed = *allowed_configs({{}, {rule(text)}, {}}, 1, kGrid);
      std::vector<int> expected;
      for (int e = 0; e < 6; ++e) {
        for (int k = 0; k < 3; ++k) {
          for (int v = 0; v < 3; ++v) {
            if (std::count(left.begin(), left.end(), k == 0 ? 4 : k == 1 ? 8 : 16)) {
              expected.push_back(index(e, k, v));
            }
          }
        }
      }
      QCOMPARE(choices(allowed, 0, kGrid), expected);
    }
  }

  void rules_reach_their_layers_and_axes() {
    Limits limits;
    limits.forbid = {rule("0:keep<0.5"), rule("1-2:v<=8"), rule("k=4")};
    const auto allowed = *allowed_configs(limits, 4, kGrid);
    for (int l = 0; l < 4; ++l) {
      std::vector<int> expected;
      for (int e = 0; e < 6; ++e) {
        for (int k = 1; k < 3; ++k) {
          for (int v = 0; v < 3; ++v) {
            const bool kept = l != 0 || e >= 2;
            const bool stored = (l != 1 && l != 2) || v == 2;
            if (kept && stored) expected.push_back(index(e, k, v));
          }
        }
      }
      QCOMPARE(choices(allowed, l, kGrid), expected);
    }
  }

  void a_pin_outranks_the_rules_but_not_the_target() {
    Limits limits;
    limits.pins = *parse_pin("1=0.1/4/4", kGrid);
    limits.target = *find_target("vllm-fp8");
    const Status status = allowed_configs(limits, 3, kGrid).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("layer 1 is pinned to keep 0.1, K4 V4") != std::string::npos);
    limits.pins = *parse_pin("1=1/8/8", kGrid);
    limits.forbid = {rule("k=8")};
    const auto allowed = *allowed_configs(limits, 3, kGrid);
    QCOMPARE(choices(allowed, 1, kGrid), std::vector<int>{index(5, 1, 1)});
    // Of what the target leaves, 16-bit at keep 1.0 alone is within the rules.
    for (int l : {0, 2}) {
      QCOMPARE(choices(allowed, l, kGrid), std::vector<int>{index(5, 2, 2)});
    }
  }

  void refusals_name_layer_and_limits() {
    auto refused = [](const Limits& limits, int layers, const QStringList& says) {
      const Status status = allowed_configs(limits, layers, kGrid).status();
      if (status.kind() != ErrorKind::kBadInput) return false;
      for (const QString& part : says) {
        if (!message(status).contains(part)) {
          qWarning("'%s' lacks '%s'", qPrintable(message(status)), qPrintable(part));
          return false;
        }
      }
      return true;
    };
    Limits limits;
    limits.pins = {{{2, 30}, {1.0, 16, 16}}};
    QVERIFY(refused(limits, 30, {"no layer 30", "0 to 29"}));
    limits.pins = {{{-1, 2}, {1.0, 16, 16}}};
    QVERIFY(refused(limits, 30, {"no layer -1"}));
    limits.pins = {{{5, 2}, {1.0, 16, 16}}};
    QVERIFY(refused(limits, 30, {"reversed"}));
    limits.pins = {{{2, 4}, {0.3, 16, 16}}};
    QVERIFY(refused(limits, 30, {"keep 0.3, K16 V16", "pin 2-4"}));
    limits.pins = {{{2, 4}, {1.0, 16, 16}}, {{4, 4}, {0.5, 8, 8}}};
    QVERIFY(refused(limits, 30, {"layer 4 is pinned twice", "keep 1, K16 V16", "keep 0.5, K8 V8"}));

    limits = {};
    limits.forbid = {rule("30:k=4")};
    QVERIFY(refused(limits, 30, {"no layer 30", "forbid 30:k=4"}));
    limits.forbid = {rule("0:keep<1"), rule("7:v<16"), rule("7:v>=16"), rule("k=4")};
    QVERIFY(refused(limits, 30, {"layer 7", "forbid 7:v<16 and forbid 7:v>=16 and forbid k=4"}));
    limits.forbid = {rule("keep>=1"), rule("keep<0.1")};
    limits.target = *find_target("llama.cpp");
    QVERIFY(refused(limits, 30, {"layer 0", "forbid keep>=1 and target llama.cpp"}));
  }

  void builtin_targets_are_what_the_file_says() {
    QFile file(LAMINA_SOURCE_DIR "/resources/targets.json");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto read = targets_from_json(file.readAll().toStdString(), "targets.json");
    QVERIFY2(read.has_value(), qPrintable(message(read.status())));
    QCOMPARE(builtin_targets(), *read);
    QVERIFY(!builtin_targets().empty());
    QCOMPARE(*read_targets(LAMINA_SOURCE_DIR "/resources/targets.json"), *read);
    for (const Target& target : builtin_targets()) {
      QVERIFY(!target.note.empty());
      QCOMPARE(*find_target(target.name), target);
    }
    const Target llama = *find_target("llama.cpp");
    QCOMPARE(llama.shape, PlanShape::kUniform);
    QCOMPARE(llama.keep, std::vector<double>{1.0});
    QCOMPARE(find_target("ik_llama.cpp")->shape, PlanShape::kEdges);
    QVERIFY(find_target("lamina")->keep.empty() && find_target("lamina")->k_v_bits.empty());
  }

  // What a target leaves of the default grid, from the stacks' own options.
  void targets_leave_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QStringList>("recipes");
    QTest::newRow("k8v4") << "vllm-turboquant-k8v4" << QStringList{"1/8/4", "1/16/16"};
    QTest::newRow("int4") << "vllm-int4" << QStringList{"1/4/4", "1/16/16"};
    QTest::newRow("kvpress") << "kvpress" << QStringList{"0.1/16/16",  "0.25/16/16", "0.5/16/16",
                                                         "0.75/16/16", "0.9/16/16",  "1/16/16"};
    QTest::newRow("transformers") << "transformers" << QStringList{"1/4/4", "1/8/8", "1/16/16"};
    QTest::newRow("modelopt") << "modelopt" << QStringList{"1/4/4", "1/8/4", "1/8/8"};
    QTest::newRow("kvtuner") << "kvtuner" << QStringList{"1/4/4", "1/4/8", "1/8/4", "1/8/8"};
  }
  void targets_leave() {
    QFETCH(QString, name);
    QFETCH(QStringList, recipes);
    Limits limits;
    limits.target = *find_target(name.toStdString());
    QStringList left;
    for (int c : choices(*allowed_configs(limits, 1, kGrid), 0, kGrid)) {
      const LayerConfig config = kGrid.at(c);
      left << QString("%1/%2/%3").arg(config.keep).arg(config.k_bits).arg(config.v_bits);
    }
    QCOMPARE(left, recipes);
  }

  void unknown_target_lists_the_names() {
    const Status status = find_target("abacus").status();
    QCOMPARE(status.kind(), ErrorKind::kUsage);
    for (const char* name : {"abacus", "llama.cpp", "vllm-fp8", "sglang", "lmdeploy", "mlx-lm"}) {
      QVERIFY2(message(status).contains(name), qPrintable(message(status)));
    }
    QCOMPARE(find_target("mine", {{"mine", "Mine", "", PlanShape::kUniform, {}, {}}})->title,
             std::string("Mine"));
  }

  void bad_targets_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("says");
    auto one = [](const char* fields) { return QString(R"({"targets": [{%1}]})").arg(fields); };
    QTest::newRow("no json") << "targets"
                             << "f.json";
    QTest::newRow("no list") << R"({"target": []})"
                             << "targets";
    QTest::newRow("empty list") << R"({"targets": []})"
                                << "targets";
    QTest::newRow("no object") << R"({"targets": [3]})"
                               << "targets[0]";
    QTest::newRow("no name") << one(R"("title": "A", "shape": "uniform")") << "name";
    QTest::newRow("empty name") << one(R"("name": "", "title": "A", "shape": "uniform")") << "name";
    QTest::newRow("shape") << one(R"("name": "a", "title": "A", "shape": "star")") << "star";
    QTest::newRow("keep 0") << one(R"("name": "a", "title": "A", "shape": "uniform", "keep": [0])")
                            << "target a: keep";
    QTest::newRow("keep above 1")
        << one(R"("name": "a", "title": "A", "shape": "uniform", "keep": [1.5])") << "1.5";
    QTest::newRow("keep nothing")
        << one(R"("name": "a", "title": "A", "shape": "uniform", "keep": [])") << "keep";
    QTest::newRow("bits 0")
        << one(R"("name": "a", "title": "A", "shape": "uniform", "bits": [[0, 4]])")
        << "target a: bits";
    QTest::newRow("bits 17")
        << one(R"("name": "a", "title": "A", "shape": "uniform", "bits": [[4, 17]])") << "17";
    QTest::newRow("bits alone")
        << one(R"("name": "a", "title": "A", "shape": "uniform", "bits": [[4]])") << "pair";
    QTest::newRow("twice") << R"({"targets": [{"name": "a", "title": "A", "shape": "uniform"},
                                             {"name": "a", "title": "B", "shape": "edges"}]})"
                           << "named 'a'";
  }
  void bad_targets() {
    QFETCH(QString, text);
    QFETCH(QString, says);
    const auto read = targets_from_json(text.toStdString(), "f.json");
    QVERIFY(!read.has_value());
    QCOMPARE(read.status().kind(), ErrorKind::kBadInput);
    QVERIFY2(message(read.status()).contains(says), qPrintable(message(read.status())));
    QVERIFY2(message(read.status()).contains("f.json"), qPrintable(message(read.status())));
  }
};

QTEST_APPLESS_MAIN(TestLimits)
#include "tst_limits.moc"
