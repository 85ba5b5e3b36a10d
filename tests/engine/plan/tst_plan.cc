// SPDX-License-Identifier: Apache-2.0
// The plan's JSON: round trips, and every fault refused naming the layer or field.
#include "engine/plan/plan.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <filesystem>
#include <functional>

#include "tests/engine/support/samples.h"

using namespace lamina;
namespace fs = std::filesystem;

namespace {

Plan sample_plan() {
  Plan plan;
  plan.model = samples::model();
  plan.geometry = samples::geometry(4, 8192, 3, 64);
  plan.geometry.layers[1] = {1, 64, 512};
  plan.sinks = 2;
  plan.recent = 64;
  plan.evict_every = 32;
  plan.scorer = "triattention";
  plan.survivors = SurvivorMode::kPerHead;
  plan.quantizer = {"asym-g32", "asym-g64+hadamard"};
  plan.layers = {{0.1, 4, 4}, {0.1, 8, 4}, {1.0, 16, 16}, {0.1, 4, 4}};
  plan.grid = ConfigGrid::default_grid();
  plan.budget = PlanBudget{131072000, BytesKind::kNominal, 130662400.25, 1835008000, 140000001};
  plan.solver = PlanSolver{"greedy", "S", 22.170453212937915, 22.1};
  plan.calibration = PlanCalibration{"prompt", 27, std::string(64, 'f')};
  plan.validation = PlanValidation{0.0955, 0.08, 0.11, 8};
  return plan;
}

Json sample_json() { return Json::parse(plan_to_json(sample_plan())); }

std::string error_of(const Json& json) {
  auto plan = plan_from_json(json.dump(), "p.json");
  return plan ? std::string("accepted") : plan.status().message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

class TestPlan : public QObject {
  Q_OBJECT

 private slots:
  void round_trips() {
    const Plan plan = sample_plan();
    const std::string text = plan_to_json(plan);
    auto back = plan_from_json(text, "p");
    QVERIFY2(back, back.status().message().c_str());
    QVERIFY(*back == plan);
    QCOMPARE(plan_to_json(*back), text);
    Plan bare = plan;
    bare.grid.reset();
    bare.budget.reset();
    bare.solver.reset();
    bare.calibration.reset();
    bare.validation.reset();
    bare.survivors = SurvivorMode::kShared;
    bare.layers[1].keep = 0.333;  // without a grid any share is possible
    QVERIFY(*plan_from_json(plan_to_json(bare), "p") == bare);
    QCOMPARE(plan.distinct_configs(), 3);
  }

  void files() {
    QTemporaryDir folder;
    const fs::path path = fs::path(folder.path().toStdString()) / "p.json";
    QVERIFY(write_plan(sample_plan(), path).is_ok());
    QVERIFY(*read_plan(path) == sample_plan());
    Plan bad = sample_plan();
    bad.layers.pop_back();
    QCOMPARE(write_plan(bad, path).kind(), ErrorKind::kBadInput);
    QVERIFY(*read_plan(path) == sample_plan());
    QCOMPARE(write_plan(sample_plan(), path / "x").kind(), ErrorKind::kRuntime);
    QVERIFY(has(read_plan(path.string() + "x").status().message(), "p.jsonx"));
  }

  void written_as_the_format_says() {
    const Json json = sample_json();
    QVERIFY(json["format"] == Json("lamina-plan"));
    QVERIFY(json["version"] == Json(1));
    Json model = Json::parse(R"({"name": "Sample 135M", "architecture": "llama", "layers": 4,
        "kv_heads": [3, 1, 3, 3], "head_dim": 64, "window": [0, 512, 0, 0]})");
    model["fingerprint"] = std::string(64, 'a');
    QVERIFY(json["model"] == model);
    QVERIFY(json["cache"] == Json::parse(R"({"t_cache": 8192, "sinks": 2, "recent": 64,
        "evict_every": 32, "scorer": "triattention", "survivors": "per_head",
        "quantizer": {"k": "asym-g32", "v": "asym-g64+hadamard"}})"));
    QVERIFY(json["layers"][1] == Json::parse(R"({"keep": 0.1, "k_bits": 8, "v_bits": 4})"));
    QVERIFY(json["budget"] == Json::parse(R"({"bytes": 131072000, "kind": "nominal",
        "used": 130662400.25, "full": 1835008000.0, "peak": 140000001})"));
    QVERIFY(json["solver"] == Json::parse(R"({"method": "greedy", "objective": "S",
        "predicted": 22.170453212937915, "lower_bound": 22.1})"));
    QVERIFY(json["calibration"]["T"] == Json(27));
    QVERIFY(json["validation"]["interval"] == Json::parse("[0.08, 0.11]"));
  }

  // What another program would write by hand.
  void minimal_plan() {
    auto plan = plan_from_json(
        R"({"format": "lamina-plan", "version": 1, "note": "by hand",
            "model": {"name": "m", "architecture": "llama", "layers": 2, "kv_heads": 3,
                      "head_dim": 64, "fingerprint": ""},
            "cache": {"t_cache": 100, "sinks": 4, "recent": 128, "evict_every": 128,
                      "scorer": "streaming", "quantizer": "asym-g32"},
            "layers": [{"keep": 1, "k_bits": 16, "v_bits": 16},
                       {"keep": 0.4, "k_bits": 2, "v_bits": 3}]})",
        "p");
    QVERIFY2(plan, plan.status().message().c_str());
    QVERIFY(plan->survivors == SurvivorMode::kShared);
    QVERIFY((plan->layers[1] == LayerConfig{0.4, 2, 3}));
    QCOMPARE(plan->geometry.layers[1].window, std::int64_t{0});
    QVERIFY(!plan->grid && !plan->budget && !plan->solver);
  }

  void refuses_layers_by_number() {
    Json json = sample_json();
    json["layers"][3]["keep"] = 0.3;
    QVERIFY(has(error_of(json), "keep 0.3, K4 V4 is not on the plan's grid (p.json: layer 3)"));
    json.erase("grid");
    QCOMPARE(error_of(json), std::string("accepted"));
    for (const Json& keep : {Json(0), Json(-0.1), Json(1.01), Json("0.5"), Json()}) {
      json["layers"][3]["keep"] = keep;
      QVERIFY2(has(error_of(json), "layer 3"), keep.dump().c_str());
    }
    for (const char* key : {"k_bits", "v_bits"}) {
      for (const Json& bits : {Json(0), Json(17), Json(-4), Json(4.5), Json("4"), Json(1e30)}) {
        json = sample_json();
        json["layers"][2][key] = bits;
        QVERIFY2(has(error_of(json), "layer 2"), bits.dump().c_str());
      }
    }
    json = sample_json();
    json["layers"][2].erase("k_bits");
    QVERIFY(has(error_of(json), "'k_bits' is missing (p.json: layer 2)"));
    json["layers"][2] = 5;
    QVERIFY(has(error_of(json), "layer 2"));
    json = sample_json();
    json["layers"].erase(3);
    QVERIFY(has(error_of(json), "the plan lists 3 layers, its model has 4 (p.json)"));
  }

  void refuses_formats_and_versions() {
    Json json = sample_json();
    json["version"] = 2;
    QVERIFY(has(error_of(json), "lamina-plan version 2 is unknown (p.json)"));
    json = sample_json();
    json["format"] = "lamina-table";
    QVERIFY(has(error_of(json), "not a 'lamina-plan'"));
    json = sample_json();
    json["budget"]["kind"] = "imagined";
    QVERIFY(has(error_of(json), "imagined"));
    json = sample_json();
    json["cache"]["survivors"] = "some";
    QVERIFY(has(error_of(json), "'some' is not a survivor mode"));
    json = sample_json();
    json["cache"]["evict_every"] = 0;
    QVERIFY(has(error_of(json), "evict_every"));
    json = sample_json();
    json["model"]["fingerprint"] = "abc";
    QVERIFY(has(error_of(json), "not a SHA-256"));
    std::string twice = sample_json().dump();
    twice.insert(1, "\"layers\": [], ");
    QVERIFY(has(plan_from_json(twice, "p").status().message(), "duplicate key 'layers'"));
  }

  void required_members_are_missed_by_name() {
    for (const char* key : {"format", "version", "model", "cache", "layers"}) {
      Json json = sample_json();
      json.erase(key);
      QVERIFY2(has(error_of(json), "'" + std::string(key) + "' is missing"), key);
    }
    for (const char* group : {"model", "cache"}) {
      const Json members = sample_json()[group];
      for (const auto& [key, value] : members.items()) {
        if (key == "window" || key == "survivors") continue;  // these have defaults
        Json json = sample_json();
        json[group].erase(key);
        QVERIFY2(has(error_of(json), "'" + key + "' is missing"), key.c_str());
      }
    }
  }

  // Every member at any depth replaced by every other type: an error or a valid plan, never a
  // crash.
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
    QVERIFY(places.size() > 35);
    const Json others[] = {Json(),
                           Json(true),
                           Json(-1),
                           Json(0),
                           Json(1e300),
                           Json(0.5),
                           Json(""),
                           Json("x"),
                           Json::array(),
                           Json::object(),
                           Json(18446744073709551615ULL),
                           Json::array({1, "x", nullptr})};
    for (const auto& place : places) {
      for (const Json& other : others) {
        Json changed = json;
        changed[place] = other;
        auto plan = plan_from_json(changed.dump(), "p");
        if (plan) QVERIFY(plan->validate("again").is_ok());
      }
    }
  }

  void other_models_are_refused_with_both_names() {
    const Plan plan = sample_plan();
    QVERIFY(check_plan_for_model(plan, samples::model(), 4).is_ok());
    const ModelId other{"Other 7B", "llama", std::string(64, 'e')};
    Status status = check_plan_for_model(plan, other, 4);
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(has(status.message(), "Sample 135M") && has(status.message(), "Other 7B"));
    status = check_plan_for_model(plan, samples::model(), 5);
    QVERIFY(has(status.message(), "has 4 layers") && has(status.message(), "has 5"));
    Plan anonymous = plan;
    anonymous.model = {};
    QVERIFY(check_plan_for_model(anonymous, other, 4).is_ok());
    QVERIFY(!check_plan_for_model(anonymous, other, 5).is_ok());
  }

  void plans_in_memory_are_checked_too() {
    Plan plan = sample_plan();
    plan.layers[2].keep = std::nan("");
    QVERIFY(has(plan.validate("x").message(), "layer 2"));
    plan = sample_plan();
    plan.layers[2].v_bits = 0;
    QVERIFY(has(plan.validate("x").message(), "layer 2"));
    plan = sample_plan();
    plan.evict_every = 0;
    QVERIFY(!plan.validate("x").is_ok());
    plan = sample_plan();
    plan.scorer.clear();
    QVERIFY(!plan.validate("x").is_ok());
    plan = sample_plan();
    plan.geometry.layers.pop_back();
    QVERIFY(!plan.validate("x").is_ok());
  }
};

QTEST_GUILESS_MAIN(TestPlan)
#include "tst_plan.moc"
