// SPDX-License-Identifier: Apache-2.0
// The demo model against the reference's logits and greedy continuations
// (tests/data/smol_forward.json), and how generation accounts, samples and stops.
#include <QtTest>
#include <atomic>
#include <cmath>
#include <thread>

#include "engine/run/generate.h"

using lamina::ErrorKind;
using lamina::GenerateOptions;
using lamina::JobContext;
using lamina::Model;

namespace {

// One thread decodes a small model about as fast as several, which wait for each other at every
// layer and, on a busy machine, wait long.
JobContext one_thread() {
  JobContext context;
  context.threads = 1;
  return context;
}

}  // namespace

class TestForward : public QObject {
  Q_OBJECT

 private:
  std::shared_ptr<const Model> model_;
  QJsonArray prompts_;

  static std::vector<std::int32_t> ids_of(const QJsonValue& value) {
    std::vector<std::int32_t> ids;
    for (const QJsonValue id : value.toArray()) ids.push_back(id.toInt());
    return ids;
  }

  QJsonObject prompt(int index) const { return prompts_[index].toObject(); }

  void add_prompts() {
    QTest::addColumn<int>("index");
    for (int i = 0; i < prompts_.size(); ++i) {
      QTest::addRow("%s", qPrintable(prompt(i)["text"].toString().left(40))) << i;
    }
  }

 private slots:
  void initTestCase() {
    QFile file(QStringLiteral(LAMINA_TEST_DATA "/smol_forward.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    prompts_ = QJsonDocument::fromJson(file.readAll()).object()["prompts"].toArray();
    QCOMPARE(prompts_.size(), 5);
    std::int64_t reports = 0;
    JobContext context;
    context.on_progress = [&](const lamina::Progress& progress) {
      QCOMPARE(progress.stage, std::string("loading tensors"));
      ++reports;
    };
    auto model = Model::load(std::filesystem::path(LAMINA_DEMO_MODEL), context);
    QVERIFY2(model, model.status().message().c_str());
    model_ = std::move(model).value();
    QVERIFY(reports > 0);
  }

  void top_logits_equal_the_reference_data() { add_prompts(); }
  void top_logits_equal_the_reference() {
    QFETCH(int, index);
    const QJsonObject expected = prompt(index)["float32"].toObject();
    const std::vector<std::int32_t> ids = ids_of(prompt(index)["ids"]);
    const auto result = lamina::forward(*model_, ids, 10, JobContext{});
    QVERIFY2(result, result.status().message().c_str());
    QCOMPARE(result->tokens, static_cast<std::int64_t>(ids.size()));
    QCOMPARE(result->top.size(), std::size_t(10));
    for (int i = 0; i < 10; ++i) {
      QCOMPARE(result->top[i].id, expected["top10_ids"].toArray()[i].toInt());
      QVERIFY(std::abs(result->top[i].logit - expected["top10_logits"].toArray()[i].toDouble()) <
              1e-3);
    }
    QVERIFY(std::abs(result->logit_mean - expected["logit_mean"].toDouble()) < 1e-3);
    QVERIFY(std::abs(result->logit_std - expected["logit_std"].toDouble()) < 1e-3);
  }

  void greedy_continuations_equal_the_reference_data() { add_prompts(); }
  void greedy_continuations_equal_the_reference() {
    QFETCH(int, index);
    const QJsonObject expected = prompt(index)["float32"].toObject();
    const std::vector<std::int32_t> ids = ids_of(prompt(index)["ids"]);
    std::vector<std::int32_t> streamed;
    std::string streamed_text;
    GenerateOptions options;
    options.max_new = 40;
    options.ignore_eos = true;
    options.on_token = [&](std::int32_t id, const std::string& text) {
      streamed.push_back(id);
      streamed_text += text;
    };
    const auto result = lamina::generate(*model_, ids, options, one_thread());
    QVERIFY2(result, result.status().message().c_str());
    QCOMPARE(result->ids, ids_of(expected["greedy40"]));
    QCOMPARE(streamed, result->ids);
    QVERIFY(result->text.starts_with(streamed_text));

    const std::int64_t tokens = static_cast<std::int64_t>(ids.size()) + 39;
    const std::int64_t plane = (tokens * 3 * 64 * 2 + 63) / 64 * 64;
    QCOMPARE(result->cache_full_bytes, 30 * 2 * plane);
    QCOMPARE(result->layers.size(), std::size_t(30));
    std::int64_t bytes = 0;
    for (const lamina::LayerCacheInfo& layer : result->layers) {
      QCOMPARE(layer.tokens, tokens);
      QCOMPARE(layer.k_bits, 32);
      QCOMPARE(layer.v_bits, 32);
      QVERIFY(layer.bytes >= tokens * 2 * 3 * 64 * 4);
      bytes += layer.bytes;
    }
    QCOMPARE(result->cache_bytes, bytes);
    QVERIFY(result->cache_peak >= bytes);
    QCOMPARE(result->decode_ms.size(), std::size_t(39));
    QVERIFY(result->prefill_tokens_per_s > 0);
  }

  void stops_at_an_end_token() {
    // The first prompt's continuation holds the end token <|im_end|> (2) within 40 tokens.
    const std::vector<std::int32_t> expected = ids_of(prompt(0)["float32"].toObject()["greedy40"]);
    const auto end = std::find(expected.begin(), expected.end(), 2);
    QVERIFY(end != expected.end());
    GenerateOptions options;
    options.max_new = 40;
    const auto result = lamina::generate(*model_, ids_of(prompt(0)["ids"]), options, one_thread());
    QVERIFY2(result, result.status().message().c_str());
    QCOMPARE(result->ids, std::vector<std::int32_t>(expected.begin(), end + 1));
  }

  void text_is_decoded_from_the_tokens() {
    GenerateOptions options;
    options.max_new = 8;
    options.ignore_eos = true;
    const auto result = lamina::generate(*model_, ids_of(prompt(0)["ids"]), options, one_thread());
    QVERIFY2(result, result.status().message().c_str());
    QVERIFY2(model_->tokenizer(), model_->tokenizer_status().message().c_str());
    QCOMPARE(result->text, model_->tokenizer()->decode(result->ids));
    QVERIFY(QString::fromStdString(result->text).startsWith(" Paris."));
  }

  void sampling_is_reproducible() {
    const std::vector<std::int32_t> ids = ids_of(prompt(0)["ids"]);
    const auto run = [&](lamina::Sampling sampling) {
      GenerateOptions options;
      options.max_new = 12;
      options.ignore_eos = true;
      options.sampling = sampling;
      const auto result = lamina::generate(*model_, ids, options, one_thread());
      return result ? result->ids : std::vector<std::int32_t>{};
    };
    const std::vector<std::int32_t> greedy = run({});
    QCOMPARE(greedy.size(), std::size_t(12));
    QCOMPARE(run({1.0, 1, 1.0, 5}), greedy);   // one candidate
    QCOMPARE(run({1.0, 0, 1e-9, 5}), greedy);  // the likeliest alone
    const std::vector<std::int32_t> drawn = run({1.5, 0, 1.0, 7});
    QCOMPARE(run({1.5, 0, 1.0, 7}), drawn);
    QVERIFY(run({1.5, 0, 1.0, 8}) != drawn);
    QVERIFY(drawn != greedy);
  }

  void refuses_bad_options() {
    const std::vector<std::int32_t> ids = ids_of(prompt(0)["ids"]);
    GenerateOptions options;
    for (const lamina::Sampling bad :
         {lamina::Sampling{-1, 0, 1, 0}, lamina::Sampling{std::nan(""), 0, 1, 0},
          lamina::Sampling{1, -1, 1, 0}, lamina::Sampling{1, 0, 0, 0},
          lamina::Sampling{1, 0, 1.5, 0}}) {
      options.sampling = bad;
      QCOMPARE(lamina::generate(*model_, ids, options, one_thread()).status().kind(),
               ErrorKind::kUsage);
    }
    options.sampling = {};
    options.max_new = 0;
    QCOMPARE(lamina::generate(*model_, ids, options, one_thread()).status().kind(),
             ErrorKind::kUsage);
    options.max_new = std::int64_t{1} << 62;
    QCOMPARE(lamina::generate(*model_, ids, options, one_thread()).status().kind(),
             ErrorKind::kBadInput);
    options.max_new = 4;
    options.on_token = [](std::int32_t, const std::string&) { throw std::runtime_error("no"); };
    QCOMPARE(lamina::generate(*model_, ids, options, one_thread()).status().kind(),
             ErrorKind::kRuntime);
  }

  // How soon is counted in work, not in time: no layer of the prompt and no token follows the stop.
  void a_stop_ends_the_prompt_at_the_layer() {
    std::stop_source stop;
    JobContext context = one_thread();
    context.stop = stop.get_token();
    std::vector<std::int64_t> layers;
    context.on_progress = [&](const lamina::Progress& progress) {
      layers.push_back(progress.done);
      if (progress.done == 3) stop.request_stop();
    };
    GenerateOptions options;
    options.max_new = 4;
    int tokens = 0;
    options.on_token = [&](std::int32_t, const std::string&) { ++tokens; };
    const auto result =
        lamina::generate(*model_, std::vector<std::int32_t>(64, 504), options, context);
    QCOMPARE(result.status().kind(), ErrorKind::kCancelled);
    QCOMPARE(layers, (std::vector<std::int64_t>{0, 1, 2, 3}));
    QCOMPARE(tokens, 0);
  }

  void a_stop_ends_decoding_at_the_token() {
    std::stop_source stop;
    JobContext context = one_thread();
    context.stop = stop.get_token();
    GenerateOptions options;
    options.max_new = 4000;
    options.ignore_eos = true;
    int tokens = 0;
    options.on_token = [&](std::int32_t, const std::string&) {
      if (++tokens == 5) stop.request_stop();
    };
    const auto result =
        lamina::generate(*model_, std::vector<std::int32_t>(4, 504), options, context);
    QCOMPARE(result.status().kind(), ErrorKind::kCancelled);
    QCOMPARE(tokens, 5);
  }

  // From another thread, in the middle of a token: it is not finished.
  void a_stop_from_elsewhere_ends_decoding() {
    std::stop_source stop;
    JobContext context = one_thread();
    context.stop = stop.get_token();
    GenerateOptions options;
    options.max_new = 4000;
    options.ignore_eos = true;
    std::atomic<bool> begun = false, stopped = false;
    int late = 0;
    options.on_token = [&](std::int32_t, const std::string&) {
      if (stopped) ++late;
      begun = true;
      begun.notify_one();
    };
    std::jthread asker([&] {
      begun.wait(false);
      stop.request_stop();
      stopped = true;
    });
    const auto result =
        lamina::generate(*model_, std::vector<std::int32_t>(4, 504), options, context);
    QCOMPARE(result.status().kind(), ErrorKind::kCancelled);
    QVERIFY2(late <= 1, qPrintable(QString::number(late)));
  }

  void loading_is_cancelled() {
    std::stop_source stop;
    JobContext context = one_thread();
    context.stop = stop.get_token();
    context.on_progress = [&](const lamina::Progress& progress) {
      if (progress.done == 5) stop.request_stop();
    };
    const auto result = Model::load(std::filesystem::path(LAMINA_DEMO_MODEL), context);
    QCOMPARE(result.status().kind(), ErrorKind::kCancelled);
  }
};

QTEST_GUILESS_MAIN(TestForward)
#include "tst_forward.moc"
