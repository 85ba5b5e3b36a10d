// SPDX-License-Identifier: Apache-2.0
// Bytes against figures worked out by hand from the definition, and against the reference's units.
#include "engine/table/bytes.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <set>

#include "engine/base/integer.h"
#include "tests/engine/support/samples.h"

using namespace lamina;

namespace {

std::int64_t bytes_of(const LayerGeometry& layer, const LayerConfig& config, std::int64_t tokens,
                      const StorageOptions& options = {}) {
  auto bytes = actual_layer_bytes(layer, config, tokens, options);
  return bytes ? *bytes : -1;
}

StorageOptions with(const char* k, const char* v, SurvivorMode mode, const char* scorer) {
  return {{k, v}, mode, scorer};
}

}  // namespace

class TestBytes : public QObject {
  Q_OBJECT

 private slots:
  void keeps_at_least_one_token() {
    QCOMPARE(n_keep(0.1, 27), std::int64_t{3});
    QCOMPARE(n_keep(0.25, 27), std::int64_t{7});
    QCOMPARE(n_keep(0.9, 27), std::int64_t{25});
    QCOMPARE(n_keep(1.0, 27), std::int64_t{27});
    QCOMPARE(n_keep(0.1, 1), std::int64_t{1});
    QCOMPARE(n_keep(0.1, 16000), std::int64_t{1600});
    QCOMPARE(n_keep(0.1, 30), std::int64_t{3});  // 0.1 * 30 is a little above 3 in doubles
    QCOMPARE(n_keep(0.7, 10), std::int64_t{7});
  }

  void nominal_matches_the_reference_units() {
    const Json cases = samples::oracle("solver_cases.json");
    auto costs = make_cost_table(samples::geometry(1, 40, 1, 1), ConfigGrid::default_grid(),
                                 BytesKind::kNominal, {});
    QVERIFY2(costs, costs.status().message().c_str());
    QCOMPARE(costs->denominator, std::int64_t{1});
    for (int c = 0; c < 54; ++c) {
      QCOMPARE(costs->at(0, c), cases["UNITS"][static_cast<std::size_t>(c)].get<std::int64_t>());
    }
    QCOMPARE(costs->full(), std::int64_t{160});
  }

  void nominal_of_the_seed_table() {
    auto costs = make_cost_table(samples::geometry(28, 16000, 8, 128), ConfigGrid::default_grid(),
                                 BytesKind::kNominal, {});
    QVERIFY(costs);
    QCOMPARE(costs->to_bytes(costs->full()), 1835008000.0);
    QCOMPARE(costs->budget_units(131072000), 131072000 * costs->denominator);
    QCOMPARE(costs->to_bytes(28 * costs->at(0, 4)), 91750400.0);
  }

  // With T = 7 and d = 3 no keep of the grid gives whole bytes: 0.1 * 21 * 8 / 8 = 2.1.
  void nominal_is_an_exact_fraction() {
    auto costs = make_cost_table(samples::geometry(3, 7, 1, 3), ConfigGrid::default_grid(),
                                 BytesKind::kNominal, {});
    QVERIFY(costs);
    QCOMPARE(costs->denominator, std::int64_t{40});
    QCOMPARE(costs->at(1, 0), std::int64_t{84});    // 21 / 10
    QCOMPARE(costs->at(1, 10), std::int64_t{315});  // 0.25 * 21 * 12 / 8 = 63 / 8
    QCOMPARE(costs->full_units[1], std::int64_t{84 * 40});
    QCOMPARE(costs->budget_units(3), std::int64_t{120});
  }

  void nominal_takes_keep_as_written() {
    ConfigGrid grid{{0.05, 1.0 / 3.0, 0.7}, {2, 16}, {4}};
    auto costs = make_cost_table(samples::geometry(1, 1000, 2, 64), grid, BytesKind::kNominal, {});
    QVERIFY(costs);
    // 0.3333333333333333 * 1000 * 128 * 6 / 8 = 31999.9999999999968
    const Int128 numerator = Int128{costs->at(0, 2)} * 10'000'000'000'000;
    QVERIFY(numerator == Int128{319999999999999968} * costs->denominator);
    QVERIFY(Int128{costs->at(0, 4)} == Int128{67200} * costs->denominator);
    // More digits than 64-bit integers can hold are refused, never rounded.
    grid.keep = {1e-19, 0.1234567890123457, 0.3333333333333333};
    auto refused =
        make_cost_table(samples::geometry(1, 1000, 2, 64), grid, BytesKind::kNominal, {});
    QVERIFY(!refused);
    QCOMPARE(refused.status().kind(), ErrorKind::kBadInput);
    QVERIFY(refused.status().message().find("1e-19") != std::string::npos);
  }

  void actual_planes_by_hand() {
    // 100 tokens, 3 KV heads, d = 80: 24000 values; groups of 32: 3 a head, the last one of 16.
    const LayerGeometry layer{3, 80, 0};
    const std::int64_t codes4 = 12032;   // 12000 -> 188 * 64
    const std::int64_t codes8 = 24000;   // 375 * 64
    const std::int64_t scales = 3648;    // 100 * 3 * 3 * 4 = 3600 -> 57 * 64
    const std::int64_t positions = 448;  // 400 -> 7 * 64
    QCOMPARE(bytes_of(layer, {1.0, 16, 16}, 100), std::int64_t{96000});
    QCOMPARE(bytes_of(layer, {1.0, 4, 8}, 100), codes4 + scales + codes8 + scales);
    QCOMPARE(bytes_of(layer, {0.5, 4, 8}, 100), codes4 + scales + codes8 + scales + positions);
    QCOMPARE(bytes_of(layer, {0.5, 16, 4}, 100), 48000 + codes4 + scales + positions);
    // Groups of 64: two a head. 100 * 3 * 2 * 4 = 2400 -> 2432.
    QCOMPARE(
        bytes_of(layer, {1.0, 4, 4}, 100,
                 with("asym-g64+hadamard", "asym-g32+hadamard", SurvivorMode::kShared, "keydiff")),
        codes4 + 2432 + codes4 + scales);
    // Positions of every KV head: 1200 -> 1216.
    QCOMPARE(bytes_of(layer, {0.5, 16, 16}, 100,
                      with("asym-g32", "asym-g64", SurvivorMode::kPerHead, "triattention")),
             96000 + std::int64_t{1216});
    // h2o: 100 * 3 * 8 = 2400 -> 2432, only where tokens are evicted.
    const StorageOptions h2o = with("asym-g32", "asym-g32", SurvivorMode::kShared, "h2o");
    QCOMPARE(bytes_of(layer, {0.5, 16, 16}, 100, h2o), 96000 + positions + 2432);
    QCOMPARE(bytes_of(layer, {1.0, 16, 16}, 100, h2o), std::int64_t{96000});
    QCOMPARE(bytes_of(layer, {0.5, 4, 8}, 0), std::int64_t{0});
    // Odd sizes: 3 values at 3 bits are 2 B, a plane of 64; one group each.
    QCOMPARE(bytes_of({1, 3, 0}, {0.1, 3, 1}, 1), std::int64_t{64 * 5});
  }

  void actual_table_follows_n_keep_and_windows() {
    Geometry geometry = samples::geometry(2, 1000, 2, 64);
    geometry.layers[1].window = 128;
    auto costs = make_cost_table(geometry, ConfigGrid::default_grid(), BytesKind::kActual, {});
    QVERIFY(costs);
    QCOMPARE(costs->denominator, std::int64_t{1});
    const ConfigGrid grid = ConfigGrid::default_grid();
    for (int c = 0; c < grid.size(); ++c) {
      const LayerConfig config = grid.at(c);
      QCOMPARE(costs->at(0, c), bytes_of(geometry.layers[0], config, n_keep(config.keep, 1000)));
      QCOMPARE(costs->at(1, c), bytes_of(geometry.layers[1], config, n_keep(config.keep, 128)));
    }
    QCOMPARE(costs->full_units[0], std::int64_t{1000 * 2 * 64 * 4});
    QCOMPARE(costs->full_units[1], std::int64_t{128 * 2 * 64 * 4});
    QCOMPARE(costs->full_units[1], costs->at(1, 53));
    // A window longer than the cache changes nothing.
    geometry.layers[1].window = 5000;
    auto wide = make_cost_table(geometry, grid, BytesKind::kNominal, {});
    QVERIFY(wide);
    QCOMPARE(wide->at(1, 7), wide->at(0, 7));
  }

  void refuses_by_name() {
    const Geometry geometry = samples::geometry(1, 100, 1, 64);
    const ConfigGrid grid = ConfigGrid::default_grid();
    auto error = [&](const StorageOptions& options) {
      return make_cost_table(geometry, grid, BytesKind::kActual, options).status();
    };
    const SurvivorMode shared = SurvivorMode::kShared;
    Status status = error(with("kivi", "asym-g32", shared, "streaming"));
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("'kivi'") != std::string::npos);
    status = error(with("asym-g32", "asym-g16", shared, "streaming"));
    QVERIFY(status.message().find("'asym-g16'") != std::string::npos);
    status = error(with("asym-g32", "asym-g32", shared, "tova"));
    QVERIFY(status.message().find("'tova'") != std::string::npos);
    for (const char* scorer : {"snapkv", "expected"}) {
      status = error(with("asym-g32", "asym-g32", shared, scorer));
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY(status.message().find(scorer) != std::string::npos);
      QVERIFY(status.message().find("not available yet") != std::string::npos);
      QVERIFY(make_cost_table(geometry, grid, BytesKind::kNominal,
                              with("asym-g32", "asym-g32", shared, scorer)));
    }
    QVERIFY(!actual_layer_bytes({1, 64, 0}, {0.5, 0, 4}, 10, {}));
    QVERIFY(!actual_layer_bytes({1, 64, 0}, {0.5, 4, 17}, 10, {}));
    QVERIFY(!actual_layer_bytes({1, 64, 0}, {1.5, 4, 4}, 10, {}));
    QVERIFY(!actual_layer_bytes({1, 64, 0}, {0.5, 4, 4}, -1, {}));
    QVERIFY(!actual_layer_bytes({0, 64, 0}, {0.5, 4, 4}, 1, {}));
  }

  void refuses_overflow() {
    const std::int64_t longest = std::int64_t{1} << 40;
    const ConfigGrid grid = ConfigGrid::default_grid();
    for (BytesKind kind : {BytesKind::kNominal, BytesKind::kActual}) {
      // 2^40 * 2^11 * 2^11 * 4 = 2^64.
      auto layer = make_cost_table(samples::geometry(1, longest, 2048, 2048), grid, kind, {});
      QVERIFY(!layer);
      QCOMPARE(layer.status().kind(), ErrorKind::kBadInput);
      QVERIFY(!make_cost_table(samples::geometry(1, longest, 65536, 65536), grid, kind, {}));
      // A layer of 2^60 fits, even in fifths of a byte; sixteen of them do not.
      QVERIFY(make_cost_table(samples::geometry(1, longest, 512, 512), grid, kind, {}));
      QVERIFY(!make_cost_table(samples::geometry(16, longest, 512, 512), grid, kind, {}));
    }
    QVERIFY(!actual_layer_bytes({65536, 65536, 0}, {1.0, 16, 16}, longest, {}));
    auto costs = make_cost_table(samples::geometry(1, 7, 1, 3), grid, BytesKind::kNominal, {});
    QCOMPARE(costs->budget_units(std::numeric_limits<std::int64_t>::max()),
             std::numeric_limits<std::int64_t>::max());
  }

  void geometry_is_checked() {
    auto error = [](Geometry geometry) { return geometry.validate("f").message(); };
    auto has = [](const std::string& text, const char* part) {
      return text.find(part) != std::string::npos;
    };
    Geometry geometry = samples::geometry(3, 100, 2, 64);
    QVERIFY(geometry.validate("f").is_ok());
    geometry.layers[2].kv_heads = 0;
    QVERIFY(has(error(geometry), "kv_heads of layer 2 is 0"));
    geometry.layers[2] = {1, 65537, 0};
    QVERIFY(has(error(geometry), "head_dim of layer 2 is 65537"));
    geometry.layers[2] = {1, 64, -1};
    QVERIFY(has(error(geometry), "window of layer 2 is -1"));
    QVERIFY(has(error(samples::geometry(3, 0, 2, 64)), "t_cache is 0"));
    QVERIFY(has(error(samples::geometry(3, (std::int64_t{1} << 40) + 1, 2, 64)), "t_cache"));
    QVERIFY(has(error(samples::geometry(0, 1, 2, 64)), "0 layers"));
    QVERIFY(has(error(samples::geometry(4097, 1, 2, 64)), "4097 layers"));
  }

  void slack_between_evictions() {
    // Capacity 100 of 1000 tokens, at most 128 more: 228 tokens are held at the peak.
    Geometry geometry = samples::geometry(1, 1000, 2, 64);
    const LayerConfig config{0.1, 4, 8};
    auto slack = peak_slack_bytes(geometry, {config}, 128, {});
    QVERIFY(slack);
    QCOMPARE(*slack, bytes_of({2, 64, 0}, config, 228) - bytes_of({2, 64, 0}, config, 100));
    // Never more than the cache is made for: 900 + 128 stops at 1000, a full layer has no slack.
    const LayerConfig most{0.9, 16, 16};
    QCOMPARE(*peak_slack_bytes(geometry, {most}, 128, {}),
             bytes_of({2, 64, 0}, most, 1000) - bytes_of({2, 64, 0}, most, 900));
    QCOMPARE(*peak_slack_bytes(geometry, {{1.0, 16, 16}}, 128, {}), std::int64_t{0});
    // A windowed layer holds tokens that left its window until the next eviction.
    geometry.layers[0].window = 256;
    QCOMPARE(*peak_slack_bytes(geometry, {{1.0, 16, 16}}, 128, {}), std::int64_t{128 * 2 * 64 * 4});
    QCOMPARE(*peak_slack_bytes(geometry, {{1.0, 16, 16}}, 0, {}), std::int64_t{0});
    // Layers add up.
    Geometry two = samples::geometry(2, 1000, 2, 64);
    QCOMPARE(*peak_slack_bytes(two, {config, config}, 128, {}), 2 * *slack);
    QVERIFY(!peak_slack_bytes(two, {config}, 128, {}));
    QVERIFY(!peak_slack_bytes(two, {config, config}, -1, {}));
  }

  void names_round_trip() {
    QVERIFY(*parse_bytes_kind("nominal") == BytesKind::kNominal);
    QVERIFY(*parse_bytes_kind(to_string(BytesKind::kActual)) == BytesKind::kActual);
    QCOMPARE(parse_bytes_kind("Nominal").status().kind(), ErrorKind::kUsage);
    QVERIFY(*parse_survivor_mode("per_head") == SurvivorMode::kPerHead);
    QVERIFY(*parse_survivor_mode(to_string(SurvivorMode::kShared)) == SurvivorMode::kShared);
    QCOMPARE(parse_survivor_mode("").status().kind(), ErrorKind::kUsage);
  }
};

QTEST_GUILESS_MAIN(TestBytes)
#include "tst_bytes.moc"
