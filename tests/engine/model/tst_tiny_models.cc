// SPDX-License-Identifier: Apache-2.0
// Every supported architecture on small random checkpoints: logits against Hugging Face
// transformers (tests/oracles/make_tiny_models.py, make_tiny_gguf.py), pieces against the whole,
// and refusals.
#include <QtEndian>
#include <QtTest>
#include <algorithm>
#include <cmath>

#include "tests/engine/model/torch_probe.h"

using lamina::ErrorKind;
using lamina::JobContext;
using lamina::Model;

namespace {

constexpr double kTolerance = 1e-3;     // against another implementation
constexpr double kOwnTolerance = 1e-4;  // against ourselves in another order
const QString kData = LAMINA_TEST_DATA;

JobContext one_thread() {  // the models are far too small to share work
  JobContext context;
  context.threads = 1;
  return context;
}

struct Golden {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> positions;
  std::vector<std::vector<double>> logits;
};

Golden read_golden(const QString& folder) {
  QFile file(folder + "/golden.json");
  if (!file.open(QIODevice::ReadOnly)) qFatal("no golden.json in %s", qPrintable(folder));
  const QJsonObject root = QJsonDocument::fromJson(file.readAll()).object();
  Golden golden;
  for (const QJsonValue id : root["ids"].toArray()) golden.ids.push_back(id.toInt());
  for (const QJsonValue p : root["positions"].toArray()) golden.positions.push_back(p.toInt());
  for (const QJsonValue row : root["logits"].toArray()) {
    golden.logits.emplace_back();
    for (const QJsonValue logit : row.toArray()) golden.logits.back().push_back(logit.toDouble());
  }
  return golden;
}

std::shared_ptr<const Model> load(const QString& path) {
  auto model = Model::load(std::filesystem::path(path.toStdString()), one_thread());
  if (!model) qFatal("%s", model.status().message().c_str());
  return std::move(model).value();
}

// The last logits of a prompt in id order.
std::vector<float> whole_logits(const Model& model, const std::vector<std::int32_t>& ids) {
  const auto result =
      lamina::forward(model, ids, static_cast<int>(model.config().vocab), one_thread());
  if (!result) qFatal("%s", result.status().message().c_str());
  std::vector<float> logits(result->top.size());
  for (const lamina::TokenLogit& entry : result->top) logits[entry.id] = entry.logit;
  return logits;
}

template <class T>
double largest_difference(const std::vector<float>& actual, const std::vector<T>& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (!(difference <= worst)) worst = difference;  // NaN counts
  }
  return worst;
}

// A copy of the tiny llama whose files a test may damage.
class DamagedCopy {
 public:
  DamagedCopy() {
    for (const QString name : {"config.json", "model.safetensors"}) {
      QFile::copy(kData + "/tiny/llama/" + name, path(name));
      QFile::setPermissions(path(name), QFile::ReadOwner | QFile::WriteOwner);
    }
  }
  QString path(const QString& name) const { return folder_.filePath(name); }
  // Replaces the one occurrence of `from` by `to`.
  void replace(const QString& name, const QByteArray& from, const QByteArray& to) const {
    QFile file(path(name));
    if (!file.open(QIODevice::ReadOnly)) qFatal("cannot read %s", qPrintable(name));
    QByteArray bytes = file.readAll();
    file.close();
    if (bytes.count(from) != 1) qFatal("%s is not there once", from.constData());
    write(name, bytes.replace(from, to));
  }
  void write(const QString& name, const QByteArray& bytes) const {
    QFile file(path(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
      qFatal("cannot write");
  }
  // Takes the tensor whose bytes come last out of the safetensors file; returns its name.
  QString remove_last_tensor() const {
    QFile file(path("model.safetensors"));
    if (!file.open(QIODevice::ReadOnly)) qFatal("cannot read the weights");
    const QByteArray bytes = file.readAll();
    file.close();
    const auto header_size = qFromLittleEndian<quint64>(bytes.constData());
    QJsonObject header = QJsonDocument::fromJson(bytes.mid(8, header_size)).object();
    QString last;
    qint64 begin = -1;
    for (const QString& name : header.keys()) {
      const QJsonArray offsets = header[name].toObject()["data_offsets"].toArray();
      if (offsets.size() != 2 || offsets[0].toInteger() <= begin) continue;
      last = name;
      begin = offsets[0].toInteger();
    }
    header.remove(last);
    const QByteArray text = QJsonDocument(header).toJson(QJsonDocument::Compact);
    QByteArray size(8, '\0');
    qToLittleEndian<quint64>(text.size(), size.data());
    write("model.safetensors", size + text + bytes.mid(8 + header_size, begin));
    return last;
  }
  lamina::Status load_status() const {
    return Model::load(std::filesystem::path(folder_.path().toStdString()), one_thread()).status();
  }

 private:
  QTemporaryDir folder_;
};

void add_models() {
  QTest::addColumn<QString>("folder");
  QTest::addColumn<QString>("file");
  for (const char* name :
       {"llama", "llama_mha_tied", "llama3_rope", "linear_rope", "yarn_rope", "partial_rope",
        "mistral_window", "qwen2", "qwen2_window", "qwen3", "gemma3"}) {
    QTest::addRow("hf %s", name) << kData + "/tiny/" + name << QString();
  }
  for (const char* name : {"llama", "llama3_rope", "yarn_rope", "qwen2", "qwen3", "gemma3"}) {
    QTest::addRow("gguf %s", name) << kData + "/tiny_gguf/" + name << QString("/model.gguf");
  }
}

}  // namespace

class TestTinyModels : public QObject {
  Q_OBJECT

 private slots:
  void logits_equal_transformers_data() { add_models(); }
  void logits_equal_transformers() {
    QFETCH(QString, folder);
    QFETCH(QString, file);
    const auto model = load(folder + file);
    const Golden golden = read_golden(folder);
    QVERIFY(golden.positions.size() >= 5);
    for (std::size_t i = 0; i < golden.positions.size(); ++i) {
      const std::vector<std::int32_t> prefix(golden.ids.begin(),
                                             golden.ids.begin() + golden.positions[i] + 1);
      const double worst = largest_difference(whole_logits(*model, prefix), golden.logits[i]);
      QVERIFY2(
          worst < kTolerance,
          qPrintable(
              QString("position %1: logits differ by %2").arg(golden.positions[i]).arg(worst)));
    }
  }

  // The prompt in pieces through the cache: prefix reuse, decoding one by one, windows that pieces
  // cross.
  void pieces_equal_the_whole_data() { add_models(); }
  void pieces_equal_the_whole() {
    QFETCH(QString, folder);
    QFETCH(QString, file);
    const auto model = load(folder + file);
    const Golden golden = read_golden(folder);
    const auto tokens = static_cast<std::int64_t>(golden.ids.size());
    const std::vector<std::vector<std::int64_t>> cuts{std::vector<std::int64_t>(tokens, 1),
                                                      {1, 7, 1, 9, 8, 14},
                                                      {8, 8, 8, 8, 8},
                                                      {39, 1},
                                                      {2, 38}};
    for (const std::vector<std::int64_t>& pieces : cuts) {
      const auto result = lamina::test::logits_in_pieces(*model, golden.ids, pieces);
      QVERIFY2(result, result.status().message().c_str());
      std::int64_t end = 0;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        end += pieces[i];
        const std::vector<std::int32_t> prefix(golden.ids.begin(), golden.ids.begin() + end);
        const double worst = largest_difference(result->logits[i], whole_logits(*model, prefix));
        QVERIFY2(worst < kOwnTolerance,
                 qPrintable(QString("%1 tokens: logits differ by %2").arg(end).arg(worst)));
      }
      for (int l = 0; l < model->config().layers; ++l) {
        const std::int64_t window = model->config().kv[l].window;
        QCOMPARE(result->layer_tokens[l], window > 0 ? std::min(tokens, window) : tokens);
      }
    }
  }

  void windows_are_where_the_checkpoint_says() {
    const auto gemma = load(kData + "/tiny/gemma3");
    for (int l = 0; l < 7; ++l) QCOMPARE(gemma->config().kv[l].window, l == 5 ? 0 : 8);
    const auto qwen = load(kData + "/tiny/qwen2_window");
    for (int l = 0; l < 3; ++l) QCOMPARE(qwen->config().kv[l].window, l == 0 ? 0 : 8);
  }

  void refuses_an_unsupported_architecture() {
    const DamagedCopy copy;
    copy.replace("config.json", "\"model_type\": \"llama\"", "\"model_type\": \"mamba\"");
    copy.replace("config.json", "LlamaForCausalLM", "MambaForCausalLM");
    const lamina::Status status = copy.load_status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY2(status.message().find("mamba") != std::string::npos, status.message().c_str());
  }

  void refuses_a_missing_tensor() {
    const DamagedCopy copy;
    QCOMPARE(copy.remove_last_tensor(), QString("model.norm.weight"));
    const lamina::Status status = copy.load_status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY2(status.message().find("output norm is missing, tensor 'model.norm.weight'") !=
                 std::string::npos,
             status.message().c_str());
  }

  void refuses_a_wrong_shape() {
    const DamagedCopy copy;
    copy.replace("config.json", "\"intermediate_size\": 48", "\"intermediate_size\": 40");
    const lamina::Status status = copy.load_status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    for (const char* part : {"gate_proj", "48", "40"}) {
      QVERIFY2(status.message().find(part) != std::string::npos, status.message().c_str());
    }
  }

  void refuses_weights_that_do_not_fit_memory() {
    const DamagedCopy copy;
    copy.replace("config.json", "\"vocab_size\": 96", "\"vocab_size\": 268435456");
    copy.replace("config.json", "\"hidden_size\": 32", "\"hidden_size\": 65536");
    const lamina::Status status = copy.load_status();
    QCOMPARE(status.kind(), ErrorKind::kRuntime);
    QVERIFY2(status.message().find("the weights in float32 need 1407") != std::string::npos,
             status.message().c_str());
  }

  void refuses_a_nan_weight() {
    const DamagedCopy copy;
    QFile file(copy.path("model.safetensors"));
    QVERIFY(file.open(QIODevice::ReadWrite));
    QVERIFY(file.seek(file.size() - 2));  // the last half-precision value of the last tensor
    QCOMPARE(file.write(QByteArray::fromHex("007e")), 2);
    file.close();
    const lamina::Status status = copy.load_status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY2(status.message().find("NaN") != std::string::npos, status.message().c_str());
    QVERIFY2(status.message().find("weight") != std::string::npos, status.message().c_str());
  }

  void refuses_prompts_that_do_not_fit() {
    const auto model = load(kData + "/tiny/llama");  // a context of 64 and 96 ids
    const auto message = [&](const std::vector<std::int32_t>& ids) {
      const auto result = lamina::forward(*model, ids, 1, one_thread());
      return result ? std::string() : result.status().message();
    };
    QVERIFY(message({}).find("empty") != std::string::npos);
    QVERIFY(message({1, 96}).find("96") != std::string::npos);
    QVERIFY(message({1, -1}).find("-1") != std::string::npos);
    QVERIFY(message(std::vector<std::int32_t>(65, 5)).find("65") != std::string::npos);
    QCOMPARE(message(std::vector<std::int32_t>(64, 5)), std::string());
    QCOMPARE(message({95}), std::string());
    lamina::GenerateOptions options;
    options.max_new = 5;
    const auto result =
        lamina::generate(*model, std::vector<std::int32_t>(60, 5), options, one_thread());
    QCOMPARE(result.status().kind(), ErrorKind::kBadInput);
  }
};

QTEST_GUILESS_MAIN(TestTinyModels)
#include "tst_tiny_models.moc"
