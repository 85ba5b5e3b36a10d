// SPDX-License-Identifier: Apache-2.0
// The table's JSON: bit-identical round trips, and every fault refused with its place.
#include "engine/table/table.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>

#include "engine/base/sha256.h"
#include "tests/engine/support/samples.h"

using namespace lamina;
namespace fs = std::filesystem;

namespace {

Json sample_json() {
  SensitivityTable table = samples::table(3, 5);
  table.model = samples::model();
  table.provenance = samples::provenance();
  return Json::parse(table_to_json(table));
}

std::string error_of(const Json& json) {
  auto table = table_from_json(json.dump(), "t.json");
  return table ? std::string("accepted") : table.status().message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

class TestTable : public QObject {
  Q_OBJECT

 private slots:
  void round_trip_is_bit_identical() {
    SensitivityTable table = samples::table(4, 1);
    table.model = samples::model();
    table.provenance = samples::provenance();
    table.geometry.layers[2] = {1, 80, 512};
    std::mt19937_64 random(7);
    for (std::vector<double>& row : table.values) {
      for (double& value : row) {  // any finite non-negative double, subnormals included
        do {
          const std::uint64_t bits = random() >> 1;
          std::memcpy(&value, &bits, sizeof value);
        } while (!std::isfinite(value));
      }
    }
    table.values[0][0] = 0.1;
    table.values[0][1] = std::numeric_limits<double>::denorm_min();
    table.values[0][2] = std::numeric_limits<double>::max();
    table.values[0][3] = 0;
    const std::string text = table_to_json(table);
    auto back = table_from_json(text, "t");
    QVERIFY2(back, back.status().message().c_str());
    QVERIFY(*back == table);
    QCOMPARE(table_to_json(*back), text);
    QCOMPARE(table_sha256(table), sha256_hex(text));
  }

  void bare_table_round_trips() {
    const SensitivityTable table = samples::table(2, 2);
    auto back = table_from_json(table_to_json(table), "t");
    QVERIFY(back);
    QVERIFY(*back == table);
    QVERIFY(!back->model && !back->provenance);
  }

  void files() {
    QTemporaryDir folder;
    const fs::path path = fs::path(folder.path().toStdString()) / "t.json";
    const SensitivityTable table = samples::table(2, 3);
    QVERIFY(write_table(table, path).is_ok());
    QVERIFY(*read_table(path) == table);
    SensitivityTable bad = table;
    bad.values[1][2] = std::nan("");
    QCOMPARE(write_table(bad, path).kind(), ErrorKind::kBadInput);
    QVERIFY(*read_table(path) == table);
    QVERIFY(has(read_table(path.string() + "x").status().message(), "t.jsonx"));
    QCOMPARE(write_table(table, path / "x").kind(), ErrorKind::kRuntime);
  }

  void written_as_the_format_says() {
    SensitivityTable table = samples::table(3, 4);
    Json json = Json::parse(table_to_json(table));
    QVERIFY(json["format"] == Json("lamina-table"));
    QVERIFY(json["version"] == Json(1));
    QVERIFY(json["layers"] == Json(3));
    QVERIFY(json["geometry"] ==
            Json::parse(R"({"t_cache": 2048, "kv_heads": 3, "head_dim": 64, "window": 0})"));
    QVERIFY(json["grid"] == Json::parse(R"({"keep": [0.1, 0.25, 0.5, 0.75, 0.9, 1.0],
                                            "k_bits": [4, 8, 16], "v_bits": [4, 8, 16]})"));
    QCOMPARE(json["values"].size(), std::size_t{3});
    QCOMPARE(json["values"][2][53].get<double>(), 0.0);
    QVERIFY(!json.contains("model") && !json.contains("provenance"));
    table.geometry.layers[1] = {1, 64, 128};
    json = Json::parse(table_to_json(table));
    QVERIFY(json["geometry"]["kv_heads"] == Json::parse("[3, 1, 3]"));
    QVERIFY(json["geometry"]["head_dim"] == Json(64));
    QVERIFY(json["geometry"]["window"] == Json::parse("[0, 128, 0]"));
  }

  // Only the required fields, written by hand; unknown ones are ignored.
  void minimal_table() {
    auto table = table_from_json(
        R"({"format": "lamina-table", "version": 1.0, "layers": 2, "comment": {"x": [1]},
            "geometry": {"t_cache": 16000, "kv_heads": [8, 4], "head_dim": 128,
                         "window": [null, 4096]},
            "grid": {"keep": [0.5, 1.0], "k_bits": [4], "v_bits": [4, 16]},
            "model": {"name": "n"}, "provenance": {"scorer": "h2o", "quantizer": "asym-g64"},
            "values": [[1, 0.5, 0.25, 0], [2, 1e-3, 0.0, 0]]})",
        "t");
    QVERIFY2(table, table.status().message().c_str());
    QVERIFY((table->geometry.layers[0] == LayerGeometry{8, 128, 0}));
    QVERIFY((table->geometry.layers[1] == LayerGeometry{4, 128, 4096}));
    QCOMPARE(table->values[1][1], 1e-3);
    QCOMPARE(table->model->name, std::string("n"));
    QCOMPARE(table->storage().scorer, std::string("h2o"));
    QCOMPARE(table->storage().quantizer.v, std::string("asym-g64"));
    QCOMPARE(samples::table(1, 1).storage().scorer, std::string("streaming"));
  }

  void refuses_values_with_their_place() {
    Json json = sample_json();
    json["values"][2][17] = -0.25;
    QVERIFY2(
        has(error_of(json), "layer 2, configuration 17 (keep 0.25, K16 V16) is -0.25 (t.json)"),
        error_of(json).c_str());
    json["values"][2][17] = nullptr;
    QVERIFY(has(error_of(json), "layer 2, configuration 17 (keep 0.25, K16 V16) is null"));
    json["values"][2][17] = "0.5";
    QVERIFY(has(error_of(json), "layer 2, configuration 17"));
    // NaN and Infinity as other programs write them are not even JSON; the place is named all the
    // same.
    for (const char* text : {"NaN", "Infinity", "-Infinity", "1e999", "nan"}) {
      json["values"][2][17] = 123456.5;
      std::string raw = json.dump();
      raw.replace(raw.find("123456.5"), 8, text);
      auto table = table_from_json(raw, "t.json");
      QVERIFY2(!table, text);
      QVERIFY2(has(table.status().message(), "values[2][17]"), table.status().message().c_str());
    }
    SensitivityTable table = samples::table(2, 1);
    table.values[1][9] = std::nan("");
    QVERIFY(
        has(table.validate("x").message(), "layer 1, configuration 9 (keep 0.25, K4 V4) is nan"));
    table.values[1][9] = INFINITY;
    QVERIFY(has(table.validate("x").message(), "is inf"));
  }

  void refuses_shapes() {
    Json json = sample_json();
    json["values"][1].push_back(0.5);
    QVERIFY(has(error_of(json), "row 1 of 'values' has 55 values for 54 configurations"));
    json = sample_json();
    json["values"].push_back(json["values"][0]);
    QVERIFY(has(error_of(json), "'values' has 4 rows for 3 layers"));
    json["values"] = Json::array();
    QVERIFY(has(error_of(json), "'values' has 0 rows"));
    json["values"] = 3;
    QVERIFY(error_of(json) != "accepted");
    json = sample_json();
    json["values"][0] = Json::object();
    QVERIFY(has(error_of(json), "row 0"));
    json = sample_json();
    json["layers"] = 4;
    QVERIFY(error_of(json) != "accepted");
    json = sample_json();
    json["geometry"]["kv_heads"] = {3, 3};
    QVERIFY(has(error_of(json), "a list of 2 numbers for 3 layers (t.json: geometry: kv_heads)"));
    json["geometry"]["kv_heads"] = {3, 3, 0};
    QVERIFY(has(error_of(json), "kv_heads of layer 2"));
    json["geometry"]["kv_heads"] = {3, 3, nullptr};
    QVERIFY(has(error_of(json), "kv_heads of layer 2"));
  }

  void refuses_formats_and_versions() {
    Json json = sample_json();
    json["version"] = 2;
    QVERIFY(has(error_of(json), "lamina-table version 2 is unknown (t.json)"));
    json["version"] = 0;
    QVERIFY(has(error_of(json), "version 0 is unknown"));
    json["version"] = "1";
    QVERIFY(error_of(json) != "accepted");
    json = sample_json();
    json["format"] = "lamina-plan";
    QVERIFY(has(error_of(json), "the file is a 'lamina-plan', not a 'lamina-table'"));
    QVERIFY(has(error_of(Json::array()), "a JSON object was expected (t.json)"));
    std::string twice = sample_json().dump();
    twice.insert(1, "\"layers\": 3, ");
    QVERIFY(has(table_from_json(twice, "t").status().message(), "duplicate key 'layers'"));
  }

  // Every member, at any depth, is removed and replaced by every other type: an error or a table,
  // and never a crash; required ones are missed by name.
  void survives_any_replaced_member() {
    const Json json = sample_json();
    std::vector<Json::json_pointer> places;
    const std::function<void(const Json&, const Json::json_pointer&)> walk =
        [&](const Json& value, const Json::json_pointer& at) {
          places.push_back(at);
          if (value.is_object()) {
            for (const auto& [key, inner] : value.items()) walk(inner, at / key);
          } else if (value.is_array() && !value.empty()) {
            walk(value[0], at / 0);
          }
        };
    walk(json, Json::json_pointer());
    QVERIFY(places.size() > 25);
    const Json others[] = {Json(),
                           Json(true),
                           Json(-1),
                           Json(0),
                           Json(1e300),
                           Json(18446744073709551615ULL),
                           Json(0.5),
                           Json(""),
                           Json("x"),
                           Json::array(),
                           Json::object(),
                           Json::array({1, "x", nullptr}),
                           Json::array({{}}),
                           Json{{"k", 1}}};
    for (const auto& place : places) {
      for (const Json& other : others) {
        Json changed = json;
        changed[place] = other;
        auto table = table_from_json(changed.dump(), "t");
        if (table) QVERIFY(table->validate("again").is_ok());
      }
    }
    for (const char* key : {"format", "version", "layers", "geometry", "grid", "values"}) {
      Json changed = json;
      changed.erase(key);
      QVERIFY2(has(error_of(changed), "'" + std::string(key) + "' is missing"), key);
    }
  }

  void other_checkpoints_are_refused_with_both_names() {
    SensitivityTable table = samples::table(1, 1);
    QVERIFY(check_same_model(table, samples::model()).is_ok());
    table.model = samples::model();
    QVERIFY(check_same_model(table, samples::model()).is_ok());
    const ModelId other{"Other 7B", "llama", std::string(64, 'e')};
    Status status = check_same_model(table, other);
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(has(status.message(), "Sample 135M") && has(status.message(), "Other 7B"));
  }

  void fingerprints_are_checked() {
    Json json = sample_json();
    for (const std::string& bad :
         {std::string(63, 'a'), std::string(64, 'A'), std::string(65, 'a')}) {
      json["model"]["fingerprint"] = bad;
      QVERIFY(has(error_of(json), "'fingerprint' is not a SHA-256"));
    }
  }

  void unmeasured_tables() {
    SensitivityTable table = samples::table(3, 1);
    table.provenance = samples::provenance();
    SensitivityTable head = table;
    head.values.clear();
    QVERIFY(!table_from_json(table_to_json(head), "t"));
    QVERIFY(*unmeasured_table_from_json(table_to_json(head), "t") == head);
    QVERIFY(*unmeasured_table_from_json(table_to_json(table), "t") == head);
  }
};

QTEST_GUILESS_MAIN(TestTable)
#include "tst_table.moc"
