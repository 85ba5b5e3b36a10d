// SPDX-License-Identifier: Apache-2.0
// safetensors files and Hugging Face folders, whole and damaged.
#include <QTest>
#include <array>
#include <functional>
#include <set>

#include "engine/model/checkpoint.h"
#include "engine/model/safetensors.h"
#include "engine/model/tokenizer.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/scratch.h"

using namespace lamina;
using namespace lamina::test;

namespace {

struct Fault {
  const char* name;
  std::function<std::string()> bytes;
  const char* message;
};

// The tiny file with one member of one tensor's entry replaced.
std::string with(const char* key, const OrderedJson& value,
                 const char* tensor = "model.norm.weight") {
  SafetensorsWriter w = tiny_safetensors();
  w.header[tensor][key] = value;
  return w.build();
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> list = {
      {"shorter than a length", [] { return std::string("abc"); }, "not a safetensors file"},
      {"header length", [] { return u64(~std::uint64_t{0}) + "{}"; },
       "its header claims 18446744073709551615 bytes"},
      {"header above the limit", [] { return u64(100'000'001) + "{}"; }, "the limit is 100000000"},
      {"header past the end, damaged before", [] { return u64(1000) + "{\"a\": }"; },
       "not valid JSON at byte 7"},
      {"empty header", [] { return u64(0) + "x"; }, "its header is no JSON object"},
      {"header is a list", [] { return u64(2) + "[]"; }, "its header is no JSON object"},
      {"header is no JSON", [] { return u64(5) + "{bad}"; }, "not valid JSON"},
      {"header goes on", [] { return u64(4) + "{}{}"; }, "not valid JSON"},
      {"deep nesting",
       [] {
         std::string text = "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
         return u64(text.size()) + text;
       },
       "nested deeper"},
      {"duplicate tensor",
       [] {
         SafetensorsWriter w = tiny_safetensors();
         std::string text = w.header.dump();
         text.insert(1, "\"model.norm.weight\":" + w.header["model.norm.weight"].dump() + ",");
         return w.with_header(text);
       },
       "duplicate key 'model.norm.weight'"},
      {"metadata of numbers",
       [] {
         SafetensorsWriter w = tiny_safetensors();
         w.header["__metadata__"] = {{"format", 1}};
         return w.build();
       },
       "__metadata__ must be"},
      {"entry is a number",
       [] {
         SafetensorsWriter w = tiny_safetensors();
         w.header["model.norm.weight"] = 1;
         return w.build();
       },
       "a JSON object was expected"},
      {"unknown type", [] { return with("dtype", "F31"); }, "unknown type 'F31'"},
      {"type is a number", [] { return with("dtype", 1); }, "'dtype' must be a string"},
      {"negative dimension", [] { return with("shape", {-8}); }, "a whole number from 0"},
      {"fractional dimension", [] { return with("shape", {7.5}); }, "a whole number from 0"},
      {"dimensions overflow",
       [] {
         return with("shape", {1LL << 32, 1LL << 32});
       },
       "its dimensions overflow"},
      {"bytes overflow", [] { return with("shape", {1LL << 62}); }, "its size overflows"},
      {"nine dimensions",
       [] {
         return with("shape", {8, 1, 1, 1, 1, 1, 1, 1, 1});
       },
       "at most 8 sizes"},
      {"shape is a number", [] { return with("shape", 8); }, "at most 8 sizes"},
      {"another size than the shape's", [] { return with("shape", {9}); },
       "its data takes 32 bytes, its shape and type 36"},
      {"one offset", [] { return with("data_offsets", {160}); },
       "data_offsets must be two numbers"},
      {"offsets backwards",
       [] {
         return with("data_offsets", {192, 160});
       },
       "a whole number from 192"},
      {"negative offset",
       [] {
         return with("data_offsets", {-32, 0});
       },
       "a whole number from 0"},
      {"huge offset",
       [] {
         return with("data_offsets", {9.0e18, 9.0e18});
       },
       "a whole number from 0"},
      {"hole",
       [] {
         return with("data_offsets", {164, 196});
       },
       "its data begins at 164, expected 160"},
      {"overlap",
       [] {
         return with("data_offsets", {128, 160});
       },
       "its data begins at 128, expected 160"},
      {"bytes behind the last tensor", [] { return tiny_safetensors().build() + "PK"; },
       "2 bytes follow the last tensor"},
  };
  return list;
}

}  // namespace

class TestSafetensors : public QObject {
  Q_OBJECT
 private slots:
  void init() { folder_ = "f" + std::to_string(count_++) + "/"; }

  void whole_folder() {
    SafetensorsWriter w = tiny_safetensors(1, false);
    w.header["__metadata__"] = {{"format", "pt"}};
    write(w.build(), tiny_config().patch(Json::parse(
                         R"([{"op":"replace","path":"/tie_word_embeddings","value":false}])")));
    for (const char* name : {"", "config.json", "model.safetensors"}) {
      auto opened = Checkpoint::open(scratch_.path(folder_ + name));
      QVERIFY2(opened, opened.status().message().c_str());
      const Checkpoint& c = **opened;
      QVERIFY2(c.config().supported, c.config().unsupported_reason.c_str());
      QVERIFY(c.complete());
      QCOMPARE(c.config().name, folder_.substr(0, folder_.size() - 1));
      QCOMPARE(c.tensors().size(), std::size_t{12});
      const std::array<std::int64_t, 2> head{5, 8}, q{8, 8};
      QCOMPARE(c.read(TensorRole::kOutput, 0, head).value(), ramp(40, 20));
      QCOMPARE(c.read(TensorRole::kQ, 0, q).value(), ramp(64, 3));  // not permuted
      QCOMPARE(c.read_named("model.norm.weight").value(), ramp(8, 1));
      QCOMPARE(c.config().tokenizer, std::string("none"));
      QVERIFY(c.tokenizer_data()->reason.find("no tokenizer.json") != std::string::npos);
    }
  }

  void half_types_are_read() {
    SafetensorsWriter w = tiny_safetensors();
    SafetensorsWriter half;
    half.add("model.embed_tokens.weight", "BF16", {5, 8},
             std::string("\x80\x3f", 2) + std::string("\x20\xc0", 2) + std::string(76, '\0'));
    half.add("model.norm.weight", "F16", {8},
             std::string("\x00\x3c", 2) + std::string("\x00\xc0", 2) + std::string(12, '\0'));
    write(half.build(), tiny_config());
    auto opened = Checkpoint::open(scratch_.path(folder_));
    QVERIFY2(opened, opened.status().message().c_str());
    std::vector<float> embedding = (*opened)->read_named("model.embed_tokens.weight").value();
    QCOMPARE(embedding[0], 1.0f);
    QCOMPARE(embedding[1], -2.5f);
    std::vector<float> norm = (*opened)->read_named("model.norm.weight").value();
    QCOMPARE(norm[0], 1.0f);
    QCOMPARE(norm[1], -2.0f);
  }

  void faults_are_named_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < faults().size(); ++i)
      QTest::newRow(faults()[i].name) << static_cast<int>(i);
  }
  void faults_are_named() {
    QFETCH(int, index);
    const Fault& fault = faults()[static_cast<std::size_t>(index)];
    write(fault.bytes(), tiny_config());
    expect_error(folder_, fault.message);
  }

  void truncation_at_every_byte() {
    std::string bytes = tiny_safetensors().build();
    std::uint64_t header = 8 + static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[0])) +
                           256 * static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[1]));
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      auto parsed = SafetensorsFile::parse(std::as_bytes(std::span(bytes).first(size)), "x");
      QCOMPARE(parsed.has_value(), size >= 8);
      if (!parsed) continue;
      const Cut cut = size < header         ? Cut::kDirectory
                      : size < bytes.size() ? Cut::kData
                                            : Cut::kNone;
      QCOMPARE(parsed->cut, cut);
      QCOMPARE(parsed->tensors.empty(), cut == Cut::kDirectory);
    }
    for (std::size_t size : {std::size_t{8}, std::size_t{9}, header - 1}) {
      write(bytes.substr(0, size), tiny_config());
      auto cut = Checkpoint::open(scratch_.path(folder_));
      QVERIFY2(cut, cut.status().message().c_str());
      QCOMPARE((*cut)->cut(), Cut::kDirectory);
      const Json info = Json::parse(info_json(**cut, ""));
      QVERIFY(info["complete"] == Json(false));
      QVERIFY(info["layers"] == Json(1));
      QVERIFY(info["kv_bytes_per_token"] == Json(16));
      QVERIFY(info["parameters"] == Json(nullptr));
      QVERIFY(info["supported"] == Json(nullptr));
      const std::string refusal = (*cut)->require_complete().message();
      QVERIFY2(refusal.find("the file is truncated") == 0, refusal.c_str());
    }
    write(bytes.substr(0, bytes.size() - 3), tiny_config());
    auto opened = Checkpoint::open(scratch_.path(folder_));
    QVERIFY2(opened, opened.status().message().c_str());
    QVERIFY(!(*opened)->complete());
    std::string message = (*opened)->read_named("model.norm.weight").status().message();
    QVERIFY2(message.find("the file is truncated") != std::string::npos, message.c_str());
  }

  void a_flip_at_every_byte_is_survived() {
    const std::string bytes = tiny_safetensors().build();
    int opened = 0;
    for (unsigned flip : {0xffu, 0x80u, 0x20u, 0x01u}) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
        auto parsed = SafetensorsFile::parse(std::as_bytes(std::span(changed)), "x");
        if (parsed) {
          ++opened;
        } else {
          QCOMPARE(parsed.status().kind(), ErrorKind::kBadInput);
        }
      }
    }
    QVERIFY(opened > 1000);  // a flip in the data is no fault of the container
  }

  void shards() {
    write_shards();
    auto opened = Checkpoint::open(scratch_.path(folder_ + "a-00002.safetensors"));
    QVERIFY2(opened, opened.status().message().c_str());
    QVERIFY((*opened)->complete());
    std::string sharded = (*opened)->fingerprint({}).value();
    init();
    write(tiny_safetensors().build(), tiny_config());
    QCOMPARE(Checkpoint::open(scratch_.path(folder_)).value()->fingerprint({}).value(), sharded);
  }

  void shard_faults() {
    write_shards();
    std::filesystem::remove(scratch_.path(folder_ + "a-00002.safetensors"));
    expect_error(folder_, "a shard is missing");
    init();
    write_shards([](OrderedJson& map) { map["model.norm.weight"] = "../x.safetensors"; });
    expect_error(folder_, "is not in a .safetensors file of the folder");
    init();
    write_shards([](OrderedJson& map) { map["model.norm.weight"] = "a-00002.safetensors"; });
    expect_error(
        folder_,
        "tensor 'model.norm.weight' is not in a-00002.safetensors, where the index puts it");
    init();
    write_shards([](OrderedJson& map) { map["other.weight"] = "a-00002.safetensors"; });
    expect_error(folder_, "tensor 'other.weight' is not in a-00002.safetensors");
    init();
    write_shards([](OrderedJson& map) { map.erase("model.norm.weight"); });
    expect_error(folder_, "the index does not name tensor 'model.norm.weight' of a-0000");
    init();
    write_shards();
    std::filesystem::remove(scratch_.path(folder_ + "model.safetensors.index.json"));
    expect_error(folder_, "several .safetensors files without");
    init();
    write_shards({}, true);
    expect_error(folder_, "duplicate tensor 'model.norm.weight'");
  }

  void folders_without_what_is_needed() {
    scratch_.write(folder_ + "config.json", tiny_config().dump());
    expect_error(folder_, "the folder holds no .safetensors file");
    scratch_.write(folder_ + "pytorch_model.bin", "\x80\x02");
    expect_error(folder_, "pickle");
    expect_error(folder_, "convert the model to safetensors");
    scratch_.write(folder_ + "model.safetensors", tiny_safetensors().build());
    QVERIFY(
        Checkpoint::open(scratch_.path(folder_)));  // pickles beside safetensors are not looked at
    std::filesystem::remove(scratch_.path(folder_ + "config.json"));
    expect_error(folder_, "config.json is missing");
    scratch_.write(folder_ + "config.json", "{\"model_type\": \"llama\",");
    expect_error(folder_, "not valid JSON");
    expect_error("nowhere/config.json", "it is not there");
  }

  void tokenizer_files() {
    write(tiny_safetensors().build(),
          tiny_config().patch(Json::parse(R"([{"op":"add","path":"/eos_token_id","value":2},
        {"op":"add","path":"/bos_token_id","value":1}])")));
    const std::string tokenizer =
        R"({"added_tokens": [{"id": 1}], "model": {"type": "BPE", "vocab": {"a": 0}},
        "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"},
        {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}]}})";
    scratch_.write(folder_ + "tokenizer.json", tokenizer);
    ModelConfig config = Checkpoint::open(scratch_.path(folder_)).value()->config();
    QCOMPARE(config.tokenizer, std::string("tokenizer.json"));
    QCOMPARE(config.eos_ids, std::vector<std::int32_t>{2});
    QCOMPARE(config.bos_id, 1);
    QVERIFY(config.add_bos);
    QCOMPARE(Checkpoint::open(scratch_.path(folder_)).value()->tokenizer_data()->json, tokenizer);
    scratch_.write(folder_ + "generation_config.json", R"({"eos_token_id": [4, 3, 4]})");
    scratch_.write(folder_ + "tokenizer_config.json", R"({"add_bos_token": false})");
    config = Checkpoint::open(scratch_.path(folder_)).value()->config();
    QCOMPARE(config.eos_ids, (std::vector<std::int32_t>{3, 4}));
    QVERIFY(!config.add_bos);
    scratch_.write(folder_ + "generation_config.json", R"({"eos_token_id": "x"})");
    expect_error(folder_, "eos_token_id");
    scratch_.write(folder_ + "generation_config.json", "{}");
    scratch_.write(folder_ + "tokenizer.json", "{");
    expect_error(folder_, "not valid JSON");
  }

 private:
  void write(const std::string& tensors, const Json& config) {
    scratch_.write(folder_ + "model.safetensors", tensors);
    scratch_.write(folder_ + "config.json", config.dump());
  }
  // The tiny model in two shards with an index.
  void write_shards(const std::function<void(OrderedJson&)>& change = {}, bool twice = false) {
    SafetensorsWriter whole = tiny_safetensors(), first, second;
    OrderedJson map = OrderedJson::object();
    int i = 0;
    for (const auto& [name, entry] : whole.header.items()) {
      std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
      bool in_first = i++ < 5;
      (in_first ? first : second)
          .add(name, entry["dtype"], entry["shape"], whole.data.substr(begin, end - begin));
      map[name] = in_first ? "a-00001.safetensors" : "a-00002.safetensors";
    }
    if (twice) second.add("model.norm.weight", "F32", {8}, floats(ramp(8, 1)));
    if (change) change(map);
    scratch_.write(folder_ + "config.json", tiny_config().dump());
    scratch_.write(folder_ + "a-00001.safetensors", first.build());
    scratch_.write(folder_ + "a-00002.safetensors", second.build());
    scratch_.write(folder_ + "model.safetensors.index.json",
                   OrderedJson{{"weight_map", map}}.dump());
  }
  void expect_error(const std::string& name, const char* part) {
    auto opened = Checkpoint::open(scratch_.path(name));
    QVERIFY(!opened);
    std::string message = opened.status().message();
    QVERIFY2(message.find(part) != std::string::npos, message.c_str());
    QVERIFY2(message.find(scratch_.root().string()) != std::string::npos, message.c_str());
    QVERIFY2(message.find('\n') == std::string::npos, message.c_str());
    QCOMPARE(opened.status().exit_code(), 3);
  }

  Scratch scratch_;
  std::string folder_;
  int count_ = 0;
};

QTEST_APPLESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
