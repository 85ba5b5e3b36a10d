// SPDX-License-Identifier: Apache-2.0
// Budgets from GPU memory and back, against figures worked out by hand and a count of bytes that is
// the test's own.
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/solve/memory.h"

using namespace lamina;

namespace {

// SmolLM2-135M.
const ModelSizes kModel{100'000'000, 576, 49152, 9, 64, 1536, 8192};

Geometry geometry(int layers, LayerGeometry layer = {3, 64, 0}, std::int64_t t_cache = 8192) {
  return {t_cache, std::vector<LayerGeometry>(static_cast<std::size_t>(layers), layer)};
}

QString message(const Status& status) { return QString::fromStdString(status.message()); }

std::int64_t up64(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Peak bytes of a layer evicted every 128 tokens, asym-g32, shared survivors, no scorer state.
std::int64_t layer_peak(const LayerGeometry& layer, const LayerConfig& config, std::int64_t t) {
  const std::int64_t tokens = layer.window > 0 ? std::min(t, layer.window) : t;
  const auto kept = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(config.keep * static_cast<double>(tokens) - 1e-9)));
  const std::int64_t held = std::min(kept + 128, t);
  auto tensor = [&](int bits) {
    const std::int64_t codes = up64((held * layer.kv_heads * layer.head_dim * bits + 7) / 8);
    const std::int64_t groups = (layer.head_dim + 31) / 32;
    return codes + (bits < 16 ? up64(held * layer.kv_heads * groups * 4) : 0);
  };
  return tensor(config.k_bits) + tensor(config.v_bits) + (config.keep < 1 ? up64(4 * held) : 0);
}

std::int64_t activations(const ModelSizes& m, std::int64_t kv_width, std::int64_t t,
                         std::int64_t requests) {
  return 2 * t * (2 * m.hidden + 2 * m.heads * m.head_dim + 2 * kv_width) +
         2 * 2 * m.intermediate * std::min<std::int64_t>(t, 2048) + 4 * m.vocabulary * requests;
}

// Falls with every axis; layer 0 hurts most.
SensitivityTable falling_table(int layers) {
  SensitivityTable table;
  table.geometry = geometry(layers, {2, 64, 0}, 1024);
  table.grid = {{0.25, 0.5, 1.0}, {4, 8}, {4, 8}};
  for (int l = 0; l < layers; ++l) {
    std::vector<double> row;
    for (int c = 0; c < table.grid.size(); ++c) row.push_back((11 - c) * (layers - l) / 8.0);
    table.values.push_back(row);
  }
  return table;
}

std::int64_t peak_of(const SensitivityTable& table, const Solution& solution) {
  std::int64_t sum = 0;
  for (std::size_t l = 0; l < solution.layers.size(); ++l) {
    sum += layer_peak(table.geometry.layers[l], solution.layers[l], table.geometry.t_cache);
  }
  return sum;
}

}  // namespace

class TestMemory : public QObject {
  Q_OBJECT

 private slots:
  void activations_by_hand() {
    // 2688 values a token: 1152 hidden, 1152 queries and output, 384 K and V.
    QCOMPARE(*estimate_activations(kModel, geometry(30), {1, 100, 3}),
             std::int64_t{100 * 2688 * 2 + 100 * 3072 * 2 + 3 * 196608});
    QCOMPARE(*estimate_activations(kModel, geometry(30), {1, 100, 3}), std::int64_t{1741824});
    // The MLP sees chunks of 2048 tokens.
    QCOMPARE(*estimate_activations(kModel, geometry(30), {1, 5000, 1}),
             std::int64_t{26880000 + 12582912 + 196608});
    // The widest layer counts.
    Geometry mixed = geometry(3);
    mixed.layers[1] = {8, 80, 512};
    QCOMPARE(*estimate_activations(kModel, mixed, {1, 100, 3}),
             std::int64_t{1741824 + 100 * 2 * 2 * (640 - 192)});
    // Only the weights are known.
    QCOMPARE(*estimate_activations({5'000, 0, 0, 0, 0, 0, 0}, geometry(30), {1, 100, 3}),
             std::int64_t{0});
  }

  void activations_refuse() {
    const Geometry g = geometry(30);
    QCOMPARE(estimate_activations(kModel, g, {1, 0, 1}).status().kind(), ErrorKind::kUsage);
    QCOMPARE(estimate_activations(kModel, g, {1, -5, 1}).status().kind(), ErrorKind::kUsage);
    QCOMPARE(estimate_activations(kModel, g, {1, 100, 0}).status().kind(), ErrorKind::kUsage);
    QCOMPARE(estimate_activations(kModel, g, {1, INT64_MAX, 1}).status().kind(), ErrorKind::kUsage);
    for (std::int64_t ModelSizes::*field :
         {&ModelSizes::hidden, &ModelSizes::vocabulary, &ModelSizes::heads, &ModelSizes::head_dim,
          &ModelSizes::intermediate}) {
      for (std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX}) {
        ModelSizes model = kModel;
        model.*field = bad;
        QCOMPARE(estimate_activations(model, g, {1, 100, 1}).status().kind(), ErrorKind::kBadInput);
      }
    }
    ModelSizes wide = kModel;
    wide.hidden = std::int64_t{1} << 40;
    QCOMPARE(estimate_activations(wide, g, {1, std::int64_t{1} << 40, 1}).status().kind(),
             ErrorKind::kBadInput);
    QCOMPARE(estimate_activations(kModel, g, {1, 100, INT64_MAX}).status().kind(),
             ErrorKind::kBadInput);
    QCOMPARE(estimate_activations(kModel, {8192, {}}, {1, 100, 1}).status().kind(),
             ErrorKind::kBadInput);
  }

  void budget_is_what_is_left() {
    const MemoryBudget budget = *memory_budget(kModel, geometry(30), {200'000'000, 100, 3});
    QCOMPARE(budget.gpu_bytes, std::int64_t{200'000'000});
    QCOMPARE(budget.weights, std::int64_t{100'000'000});
    QCOMPARE(budget.activations, std::int64_t{1741824});
    QCOMPARE(budget.cache, std::int64_t{98'258'176});
    QCOMPARE(budget.per_request, std::int64_t{32'752'725});  // 98258176 / 3, rounded down
    // One byte each is the least.
    QVERIFY(memory_budget(kModel, geometry(30), {101'741'824 + 3, 100, 3}).has_value());
    const Status none = memory_budget(kModel, geometry(30), {101'741'824 + 2, 100, 3}).status();
    QCOMPARE(none.kind(), ErrorKind::kRefused);
    for (const char* figure : {"101741826", "100000000", "1741824", "estimate"}) {
      QVERIFY2(message(none).contains(figure), qPrintable(message(none)));
    }
    QCOMPARE(memory_budget(kModel, geometry(30), {0, 100, 1}).status().kind(), ErrorKind::kUsage);
    QCOMPARE(memory_budget(kModel, geometry(30), {-1, 100, 1}).status().kind(), ErrorKind::kUsage);
  }

  void peak_by_hand() {
    // 500 of 1000 tokens and 128 of slack: K codes 628 x 128, V codes half of it, scales 628 x 16
    // each, positions 628 x 4 padded. The full layer has no slack.
    const Geometry g = geometry(2, {2, 64, 0}, 77);
    const std::vector<LayerConfig> layers = {{0.5, 8, 4}, {1.0, 16, 16}};
    QCOMPARE(*plan_peak_bytes(g, 1000, layers, 128, {}),
             std::int64_t{80384 + 40192 + 2 * 10048 + 2560 + 512000});
    QCOMPARE(*plan_peak_bytes(g, 1000, layers, 128, {}),
             layer_peak(g.layers[0], layers[0], 1000) + layer_peak(g.layers[1], layers[1], 1000));
    QCOMPARE(plan_peak_bytes(g, 1000, {{0.5, 8, 4}}, 128, {}).status().kind(),
             ErrorKind::kBadInput);
    QCOMPARE(plan_peak_bytes(g, 0, layers, 128, {}).status().kind(), ErrorKind::kBadInput);
    QCOMPARE(plan_peak_bytes(g, 1000, layers, 128, {{}, {}, "luck"}).status().kind(),
             ErrorKind::kBadInput);
  }

  void most_requests_fill_the_gpu() {
    const Geometry g = geometry(2);
    const std::vector<LayerConfig> layers = {{0.5, 8, 4}, {0.1, 4, 4}};
    const std::int64_t t = 3000;
    const std::int64_t each =
        layer_peak(g.layers[0], layers[0], t) + layer_peak(g.layers[1], layers[1], t) + 4 * 49152;
    const std::int64_t base = kModel.weight_bytes + activations(kModel, 192, t, 0);
    auto most = [&](std::int64_t gpu) {
      return *most_requests(kModel, g, layers, 128, {}, gpu, t);
    };
    QCOMPARE(most(base + 5 * each), std::int64_t{5});
    QCOMPARE(most(base + 5 * each - 1), std::int64_t{4});
    QCOMPARE(most(base + each - 1), std::int64_t{0});
    QCOMPARE(most(base), std::int64_t{0});
    QCOMPARE(most(1), std::int64_t{0});
    QCOMPARE(most_requests(kModel, g, layers, 128, {}, 0, t).status().kind(), ErrorKind::kUsage);
    QCOMPARE(most_requests(kModel, g, layers, 128, {}, 1, 0).status().kind(), ErrorKind::kUsage);
    QCOMPARE(most_requests(kModel, g, {}, 128, {}, 1, t).status().kind(), ErrorKind::kBadInput);
  }

  void longest_context_against_counting() {
    Geometry g = geometry(3);
    g.layers[1].window = 200;
    g.layers[2] = {1, 80, 0};
    const std::vector<LayerConfig> layers = {{0.5, 8, 4}, {0.9, 4, 16}, {1.0, 8, 8}};
    const ModelSizes model{1000, 8, 16, 2, 4, 8, 0};
    const std::int64_t requests = 3, longest = 700;
    auto need = [&](std::int64_t t) {
      std::int64_t sum = model.weight_bytes + activations(model, 192, t, requests);
      for (int l = 0; l < 3; ++l) sum += requests * layer_peak(g.layers[l], layers[l], t);
      return sum;
    };
    for (std::int64_t gpu : {need(1) - 1, need(1), need(57), need(57) + 1, need(128), need(399) - 1,
                             need(699), need(700), need(700) + 1'000'000}) {
      std::int64_t expected = 0;
      while (expected < longest && need(expected + 1) <= gpu) ++expected;
      QCOMPARE(*longest_context(model, g, layers, 128, {}, gpu, requests, longest), expected);
    }
    QCOMPARE(longest_context(model, g, layers, 128, {}, 1000, 0, longest).status().kind(),
             ErrorKind::kUsage);
    QCOMPARE(longest_context(model, g, layers, 128, {}, 1000, 1, 0).status().kind(),
             ErrorKind::kUsage);
  }

  void sizes_from_info() {
    const char* info = R"({"hidden": 576, "intermediate": 1536, "heads": 9, "vocab": 49152,
                           "head_dim": [64, 256, 64], "tensor_bytes": 98000000, "context_length": 8192, "name": "x"})";
    const ModelSizes sizes = *model_sizes_from_info(info, "project");
    QCOMPARE(sizes.weight_bytes, std::int64_t{98000000});
    QCOMPARE(sizes.hidden, std::int64_t{576});
    QCOMPARE(sizes.vocabulary, std::int64_t{49152});
    QCOMPARE(sizes.heads, std::int64_t{9});
    QCOMPARE(sizes.head_dim, std::int64_t{256});
    QCOMPARE(sizes.intermediate, std::int64_t{1536});
    QCOMPARE(sizes.context_length, std::int64_t{8192});
    for (const char* field : {"hidden", "intermediate", "heads", "vocab", "head_dim",
                              "tensor_bytes", "context_length"}) {
      const QString renamed = QString(info).replace(QString("\"%1\"").arg(field), "\"other\"");
      const Status status = model_sizes_from_info(renamed.toStdString(), "project").status();
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY2(message(status).contains(field), qPrintable(message(status)));
    }
    QCOMPARE(model_sizes_from_info("", "project").status().kind(), ErrorKind::kBadInput);
    QCOMPARE(model_sizes_from_info(R"({"hidden": 0})", "p").status().kind(), ErrorKind::kBadInput);
  }

  void budget_for_peak_against_every_budget_data() {
    QTest::addColumn<QString>("method");
    QTest::addColumn<bool>("nominal");
    for (const char* method : {"exact", "greedy", "2d_uniform", "evict_hetero:exact"}) {
      for (bool nominal : {false, true}) {
        QTest::addRow("%s %s", method, nominal ? "nominal" : "actual") << method << nominal;
      }
    }
  }
  void budget_for_peak_against_every_budget() {
    QFETCH(QString, method);
    QFETCH(bool, nominal);
    const SensitivityTable table = falling_table(3);
    SolveOptions options;
    options.bytes = nominal ? BytesKind::kNominal : BytesKind::kActual;
    const Problem problem = *Problem::make(table, options);
    const Method way = *parse_method(method.toStdString());
    std::int64_t dearest = 0, cheapest = 0;
    for (int l = 0; l < 3; ++l) {
      dearest += layer_peak(table.geometry.layers[l], {1.0, 8, 8}, 1024);
      cheapest += layer_peak(table.geometry.layers[l], {0.25, 4, 4}, 1024);
    }
    for (std::int64_t wanted :
         {cheapest, cheapest + 64, cheapest + 30'000, (cheapest + dearest) / 2, dearest - 64,
          dearest, dearest + 1'000'000}) {
      const std::int64_t found = *budget_for_peak(problem, way, wanted);
      const Solution plan = *problem.solve(way, found);
      QVERIFY(peak_of(table, plan) <= wanted);
      // No budget up to the peak itself has a better plan that fits.
      double best = plan.predicted;
      for (std::int64_t budget = problem.smallest_bytes(); budget <= wanted; budget += 64) {
        Result<Solution> other = problem.solve(way, budget);
        if (other && peak_of(table, *other) <= wanted) best = std::min(best, other->predicted);
        if (budget > problem.full_bytes()) break;
      }
      QCOMPARE(plan.predicted, best);
    }
    const Status none = budget_for_peak(problem, way, cheapest - 1).status();
    QCOMPARE(none.kind(), ErrorKind::kRefused);
    QVERIFY2(message(none).contains(QString::number(cheapest)), qPrintable(message(none)));
    QCOMPARE(budget_for_peak(problem, way, 1).status().kind(), ErrorKind::kRefused);
    QCOMPARE(budget_for_peak(problem, way, -1).status().kind(), ErrorKind::kRefused);
  }

  void budget_for_peak_passes_on_other_refusals() {
    SolveOptions options;
    options.limits.target = find_target("llama.cpp").value();
    options.limits.target->k_v_bits = {{4, 4}, {8, 8}};
    const Problem problem = *Problem::make(falling_table(3), options);
    const Status ruled_out = budget_for_peak(problem, methods::kExact, 1 << 20).status();
    QCOMPARE(ruled_out.kind(), ErrorKind::kRefused);
    QVERIFY2(!message(ruled_out).contains("peak"), qPrintable(message(ruled_out)));
    QVERIFY(budget_for_peak(problem, methods::kUniform2d, 1 << 20).has_value());
    std::stop_source stop;
    stop.request_stop();
    const Problem free = *Problem::make(falling_table(3));
    QCOMPARE(budget_for_peak(free, methods::kExact, 1 << 20, stop.get_token()).status().kind(),
             ErrorKind::kCancelled);
  }
};

QTEST_APPLESS_MAIN(TestMemory)
#include "tst_memory.moc"
