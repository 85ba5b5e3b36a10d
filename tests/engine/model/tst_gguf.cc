// SPDX-License-Identifier: Apache-2.0
// GGUF files, whole and damaged in every way that the reader must survive.
#include <QTest>
#include <array>
#include <functional>
#include <limits>
#include <set>

#include "engine/base/json.h"
#include "engine/model/checkpoint.h"
#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch.h"

using namespace lamina;
using namespace lamina::test;

namespace {

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

using Change = std::function<void(GgufWriter&)>;

struct Fault {
  const char* name;
  Change change;
  const char* message;  // a part of the error
};

GgufWriter::Tensor& named(GgufWriter& w, const std::string& name) {
  for (auto& tensor : w.tensors) {
    if (tensor.name == name) return tensor;
  }
  return w.tensors.front();
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> list = {
      {"magic", [](GgufWriter& w) { w.magic = "GGUX"; }, "the magic is wrong"},
      {"version 0", [](GgufWriter& w) { w.version = 0; }, "GGUF version 0 is too old"},
      {"version 1", [](GgufWriter& w) { w.version = 1; }, "GGUF version 1 is too old"},
      {"version 4", [](GgufWriter& w) { w.version = 4; }, "GGUF version 4 is newer"},
      {"big-endian", [](GgufWriter& w) { w.version = 0x03000000; }, "big-endian"},
      {"tensor count", [](GgufWriter& w) { w.claimed_tensors = kHuge; },
       "tensors are claimed, more than"},
      {"tensor count times its size wraps",
       [](GgufWriter& w) { w.claimed_tensors = (std::uint64_t{1} << 59) + 1; },
       "tensors are claimed, more than"},
      {"one tensor too many", [](GgufWriter& w) { w.claimed_tensors = w.tensors.size() + 1; },
       "a tensor without a name"},
      {"metadata count", [](GgufWriter& w) { w.claimed_metadata = kHuge; },
       "metadata entries are claimed, more than"},
      {"key length", [](GgufWriter& w) { w.metadata = u64(kHuge) + w.metadata.substr(8); },
       "a metadata key claims"},
      {"empty key", [](GgufWriter& w) { w.add("", 1u); }, "an empty metadata key"},
      {"duplicate key", [](GgufWriter& w) { w.add("general.name", "again"); },
       "duplicate key 'general.name'"},
      {"text length", [](GgufWriter& w) { w.add("x", kString, u64(kHuge)); },
       "x claims 18446744073709551615 bytes"},
      {"value type", [](GgufWriter& w) { w.add("x", 13, u32(0)); },
       "'x' has the unknown value type 13"},
      {"truth value", [](GgufWriter& w) { w.add("x", kBool, "\x02"); },
       "the truth value of 'x' is 2"},
      {"list length", [](GgufWriter& w) { w.add("x", kArray, u32(kU8) + u64(kHuge)); },
       "the list 'x' claims"},
      {"list length times 8 wraps",
       [](GgufWriter& w) { w.add("x", kArray, u32(kU64) + u64((std::uint64_t{1} << 61) + 1)); },
       "the list 'x' claims"},
      {"list of texts",
       [](GgufWriter& w) { w.add("x", kArray, u32(kString) + u64(std::uint64_t{1} << 32)); },
       "the list 'x' claims"},
      {"list that no header holds",
       [](GgufWriter& w) { w.add("x", kArray, u32(kU8) + u64(std::uint64_t{64} << 20)); },
       "the list 'x' claims 67108864 values: the header would be longer than"},
      {"metadata count that no header holds",
       [](GgufWriter& w) { w.claimed_metadata = (std::uint64_t{64} << 20) / 14; },
       "4793490 metadata entries are claimed, more than"},
      {"tensor count that no header holds", [](GgufWriter& w) { w.claimed_tensors = 1'000'001; },
       "1000001 tensors are claimed, more than"},
      {"list element type", [](GgufWriter& w) { w.add("x", kArray, u32(99) + u64(1)); },
       "the list 'x' has the unknown value type 99"},
      {"list of lists",
       [](GgufWriter& w) { w.add("x", kArray, u32(kArray) + u64(1) + u32(kU8) + u64(0)); },
       "list of lists"},
      {"64 bits", [](GgufWriter& w) { w.add("x", kU64, u64(kHuge)); },
       "the value of 'x' is beyond 63 bits"},
      {"alignment 0", [](GgufWriter& w) { w.add("general.alignment", 0u); },
       "the alignment 0 is not a power of two"},
      {"alignment 4", [](GgufWriter& w) { w.add("general.alignment", 4u); },
       "the alignment 4 is not"},
      {"alignment 48", [](GgufWriter& w) { w.add("general.alignment", 48u); },
       "the alignment 48 is not"},
      {"alignment 131072", [](GgufWriter& w) { w.add("general.alignment", 131072u); },
       "the alignment 131072 is not"},
      {"alignment of another type", [](GgufWriter& w) { w.add("general.alignment", 32.0f); },
       "'general.alignment' must be a whole number"},
      {"tensor name length", [](GgufWriter& w) { w.tensors[0].name = std::string(2000, 'x'); },
       "a tensor name claims 2000 bytes"},
      {"tensor without a name", [](GgufWriter& w) { w.tensors[0].name = ""; },
       "a tensor without a name"},
      {"duplicate tensor",
       [](GgufWriter& w) { named(w, "blk.0.attn_v.weight").name = "blk.0.attn_k.weight"; },
       "duplicate tensor 'blk.0.attn_k.weight'"},
      {"no dimension", [](GgufWriter& w) { w.tensors[0].dims_count = 0; }, "0 dimensions"},
      {"five dimensions",
       [](GgufWriter& w) {
         w.tensors[0].dims = {8, 5, 1, 1, 1};
       },
       "5 dimensions"},
      {"dimension count", [](GgufWriter& w) { w.tensors[0].dims_count = 0xffffffff; },
       "4294967295 dimensions"},
      {"dimension 0",
       [](GgufWriter& w) {
         w.tensors[0].dims = {8, 0};
       },
       "a dimension is 0"},
      {"dimensions overflow",
       [](GgufWriter& w) {
         w.tensors[0].dims = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};
       },
       "its dimensions overflow"},
      {"dimension above int64", [](GgufWriter& w) { w.tensors[0].dims = {kHuge}; },
       "its dimensions overflow"},
      {"bytes overflow", [](GgufWriter& w) { w.tensors[0].dims = {std::uint64_t{1} << 62}; },
       "overflows"},
      {"tensor type", [](GgufWriter& w) { w.tensors[0].type = 4; }, "unknown type 4"},
      {"tensor type out of range", [](GgufWriter& w) { w.tensors[0].type = 0xffffffff; },
       "unknown type 4294967295"},
      {"rows are no blocks", [](GgufWriter& w) { w.tensors[0].type = 8; }, "no whole Q8_0 blocks"},
      {"offset", [](GgufWriter& w) { w.tensors[1].offset = 32; },
       "its data offset is 32, expected 160"},
      {"offset past the end", [](GgufWriter& w) { w.tensors[1].offset = std::uint64_t{1} << 40; },
       "its data offset is 1099511627776"},
      {"sum of sizes wraps",
       [](GgufWriter& w) {
         w.tensors[0].dims = {(std::uint64_t{1} << 62) - 16};
         w.tensors[1].dims = {(std::uint64_t{1} << 62) - 16};
         w.tensors[1].offset = ((std::uint64_t{1} << 62) - 16) * 4;
       },
       "overflows"},
      {"no architecture", [](GgufWriter& w) { w.metadata.replace(8, 7, "GENERAL"); },
       "'general.architecture' is missing"},
      {"text for a number", [](GgufWriter& w) { w.add("llama.rope.freq_base", "many"); },
       "'llama.rope.freq_base' must be a finite number"},
      {"number out of range", [](GgufWriter& w) { w.add("llama.rope.dimension_count", 1u << 30); },
       "'llama.rope.dimension_count' must be"},
      {"odd rotary width", [](GgufWriter& w) { w.add("llama.rope.dimension_count", 3u); },
       "3 rotated dimensions"},
      {"rotary wider than the head", [](GgufWriter& w) { w.add("llama.rope.dimension_count", 6u); },
       "6 rotated dimensions"},
      {"attention scale", [](GgufWriter& w) { w.add("llama.attention.scale", -0.5f); },
       "'llama.attention.scale' must be from 0"},
      {"attention scale of another size",
       [](GgufWriter& w) { w.add("llama.attention.scale", 1e30f); },
       "'llama.attention.scale' must be from 0 (the usual) to 1000"},
      {"token id", [](GgufWriter& w) { w.add("tokenizer.ggml.eos_token_id", 5u); },
       "'tokenizer.ggml.eos_token_id' must be"},
      {"scores of texts", [](GgufWriter& w) { w.add_texts("tokenizer.ggml.scores", {"1"}); },
       "'tokenizer.ggml.scores' must be"},
      {"per-layer list of another length",
       [](GgufWriter& w) {
         w.add_ints("llama.attention.key_length", {4, 4});
       },
       "'llama.attention.key_length' must be"},
  };
  return list;
}

// Opens, and uses everything that opening promises; whatever happens must be a value.
void use(const std::filesystem::path& path) {
  auto opened = Checkpoint::open(path);
  if (!opened) {
    QVERIFY2(opened.status().message().find(path.string()) != std::string::npos,
             opened.status().message().c_str());
    QCOMPARE(opened.status().kind(), ErrorKind::kBadInput);
    return;
  }
  const Checkpoint& checkpoint = **opened;
  QVERIFY(!info_json(checkpoint, "").empty());
  QVERIFY(checkpoint.tokenizer_data() != nullptr);
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    auto values = checkpoint.read_named(tensor.name);
    if (!checkpoint.complete()) QVERIFY(!values);
    for (int layer = 0; layer < 1; ++layer) {
      for (int role = 0; role <= static_cast<int>(TensorRole::kPostMlpNorm); ++role) {
        (void)checkpoint.read(static_cast<TensorRole>(role), layer, tensor.shape);
      }
    }
  }
  QCOMPARE(checkpoint.fingerprint({}).has_value(), checkpoint.complete());
}

}  // namespace

class TestGguf : public QObject {
  Q_OBJECT
 private slots:
  void whole_file() {
    for (std::uint32_t version : {2u, 3u}) {
      GgufWriter w = tiny_gguf();
      w.version = version;
      auto opened = Checkpoint::open(scratch_.write("whole.gguf", w.build()));
      QVERIFY2(opened, opened.status().message().c_str());
      const Checkpoint& c = **opened;
      QVERIFY(c.complete());
      QVERIFY2(c.config().supported, c.config().unsupported_reason.c_str());
      QCOMPARE(c.config().name, std::string("Tiny"));
      QCOMPARE(c.config().layers, 1);
      QCOMPARE(c.config().vocab, std::int64_t{5});
      QVERIFY(c.config().tied_embeddings);
      QCOMPARE(c.config().kv_bytes_per_token(), std::int64_t{2 * 4 * 2});
      QCOMPARE(c.tensors().size(), std::size_t{11});
      QCOMPARE(c.tensors().front().name, std::string("blk.0.attn_k.weight"));
      QCOMPARE(c.config().bos_id, 4);
      QCOMPARE(c.config().eos_ids, std::vector<std::int32_t>{3});  // <|im_end|>, by its name
      QCOMPARE(c.tokenizer_data()->tokens.at(2), std::string("ab"));
      QCOMPARE(c.tokenizer_data()->merges, std::vector<std::string>{"a b"});
      QCOMPARE(c.config().tokenizer, std::string("bpe:gpt-2"));
    }
  }

  void weights_in_the_forwards_layout() {
    auto opened = Checkpoint::open(scratch_.write("layout.gguf", tiny_gguf().build()));
    QVERIFY(opened);
    const Checkpoint& c = **opened;
    const std::array<std::int64_t, 2> shape{5, 8}, q_shape{8, 8}, v_shape{4, 8};
    QCOMPARE(c.read(TensorRole::kEmbedding, 0, shape).value(), ramp(40, -3));
    QCOMPARE(c.read(TensorRole::kOutput, 0, shape).value(), ramp(40, -3));  // tied
    QVERIFY(!c.has(TensorRole::kOutput, 0));
    QVERIFY(c.has(TensorRole::kQ, 0));
    QVERIFY(!c.has(TensorRole::kQ, 1));
    QVERIFY(!c.has(TensorRole::kQBias, 0));
    QCOMPARE(c.read(TensorRole::kV, 0, v_shape).value(), ramp(32, 5));
    // Rows of each head of 4 are stored as pairs 0 2 1 3 of the rotate-half order.
    std::vector<float> q = c.read(TensorRole::kQ, 0, q_shape).value();
    const int stored[8] = {0, 2, 1, 3, 4, 6, 5, 7};
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 8; ++column) {
        QCOMPARE(q[row * 8 + column], 3 + 0.25f * static_cast<float>(stored[row] * 8 + column));
      }
    }
  }

  void partial_rotary_moves_only_rotated_rows() {
    GgufWriter w = tiny_gguf();
    w.add("llama.attention.key_length", 8u)
        .add("llama.attention.value_length", 8u)
        .add("llama.rope.dimension_count", 4u);
    named(w, "blk.0.attn_k.weight") = {"blk.0.attn_k.weight", {8, 8}, 0,
                                       floats(ramp(64, 0)),   {},     {}};
    auto opened = Checkpoint::open(scratch_.write("partial.gguf", w.build()));
    QVERIFY2(opened, opened.status().message().c_str());
    const std::array<std::int64_t, 2> shape{8, 8};
    std::vector<float> k = (*opened)->read(TensorRole::kK, 0, shape).value();
    const int stored[8] = {0, 2, 1, 3, 4, 5, 6, 7};
    for (int row = 0; row < 8; ++row) QCOMPARE(k[row * 8], 2.0f * static_cast<float>(stored[row]));
  }

  void faults_are_named_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < faults().size(); ++i)
      QTest::newRow(faults()[i].name) << static_cast<int>(i);
  }
  void faults_are_named() {
    QFETCH(int, index);
    const Fault& fault = faults()[static_cast<std::size_t>(index)];
    GgufWriter w = tiny_gguf();
    fault.change(w);
    std::filesystem::path path = scratch_.write("fault.gguf", w.build());
    auto opened = Checkpoint::open(path);
    QVERIFY(!opened);
    std::string message = opened.status().message();
    QCOMPARE(opened.status().exit_code(), 3);
    QVERIFY2(message.find(fault.message) != std::string::npos, message.c_str());
    QVERIFY2(message.find(path.string()) != std::string::npos, message.c_str());
    QVERIFY2(message.find('\n') == std::string::npos, message.c_str());
  }

  void weights_that_cannot_be_used() {
    GgufWriter w = tiny_gguf();
    std::vector<float> bad = ramp(8, 2);
    bad[5] = std::numeric_limits<float>::quiet_NaN();
    named(w, "blk.0.attn_norm.weight").data = floats(bad);
    named(w, "blk.0.ffn_up.weight").name = "blk.0.ffn_wrong.weight";
    std::filesystem::path path = scratch_.write("weights.gguf", w.build());
    auto opened = Checkpoint::open(path);
    QVERIFY(opened);
    const Checkpoint& c = **opened;
    QVERIFY(!c.config().supported);
    QVERIFY(c.config().unsupported_reason.find("blk.0.ffn_wrong.weight") != std::string::npos);
    const std::array<std::int64_t, 1> norm{8};
    const std::array<std::int64_t, 2> up{6, 8}, wrong{4, 4};
    auto message = [&](TensorRole role, std::span<const std::int64_t> shape) {
      return c.read(role, 0, shape).status().message();
    };
    std::string nan = message(TensorRole::kAttnNorm, norm);
    QVERIFY2(nan.find("value 5 is NaN") != std::string::npos &&
                 nan.find("'blk.0.attn_norm.weight'") != std::string::npos,
             nan.c_str());
    std::string missing = message(TensorRole::kUp, up);
    QVERIFY2(
        missing.find("MLP up projection of layer 0 is missing, tensor 'blk.0.ffn_up.weight'") !=
            std::string::npos,
        missing.c_str());
    std::string shape = message(TensorRole::kV, wrong);
    QVERIFY2(shape.find("has the shape [4, 8], expected [4, 4]") != std::string::npos,
             shape.c_str());
    std::string name = c.read_named("nothing").status().message();
    QVERIFY2(name.find("there is no tensor 'nothing'") != std::string::npos &&
                 name.find(path.string()) != std::string::npos,
             name.c_str());
  }

  void opaque_types_open_but_do_not_read() {
    GgufWriter w = tiny_gguf();
    named(w, "blk.0.attn_norm.weight") = {"blk.0.attn_norm.weight", {8}, 24,
                                          std::string(8, '\1'),     {},  {}};
    auto opened = Checkpoint::open(scratch_.write("opaque.gguf", w.build()));
    QVERIFY2(opened, opened.status().message().c_str());
    QCOMPARE((*opened)->config().unsupported_reason, std::string("weights of type I8"));
    std::string message = (*opened)->read_named("blk.0.attn_norm.weight").status().message();
    QVERIFY2(message.find("weights of type I8 cannot be read") != std::string::npos,
             message.c_str());
  }

  void truncated_data_is_incomplete() {
    std::string bytes = tiny_gguf().build();
    auto whole = GgufFile::parse(std::as_bytes(std::span(bytes)), "x");
    QVERIFY(whole && whole->cut == Cut::kNone);
    QCOMPARE(whole->expected_size, std::uint64_t{bytes.size()});
    auto opened = Checkpoint::open(scratch_.write("cut.gguf", bytes.substr(0, bytes.size() - 1)));
    QVERIFY2(opened, opened.status().message().c_str());
    const Checkpoint& c = **opened;
    QVERIFY(!c.complete());
    QVERIFY(info_json(c, "").find("\"complete\": false") != std::string::npos);
    QCOMPARE(c.config().layers, 1);
    const std::array<std::int64_t, 2> shape{5, 8};
    for (const Status& status :
         {c.read(TensorRole::kEmbedding, 0, shape).status(), c.fingerprint({}).status(),
          c.read_named("token_embd.weight").status(), c.model_id({}).status()}) {
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY2(status.message().find("the file is truncated: ") != std::string::npos,
               status.message().c_str());
    }
  }

  // Cut anywhere behind the magic: `info` says what the bytes say and null for the rest.
  void truncation_at_every_byte() {
    const std::string bytes = tiny_gguf().build();
    const Json whole = info_of("t.gguf", bytes);
    std::size_t known_before = 0;
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      std::filesystem::path path = scratch_.write("t.gguf", bytes.substr(0, size));
      auto opened = Checkpoint::open(path);
      if (size < 4) {
        QVERIFY(!opened);
        QCOMPARE(opened.status().kind(), ErrorKind::kBadInput);
        QVERIFY(opened.status().what().find("not a GGUF file: it has") == 0);
        continue;
      }
      QVERIFY2(opened, opened.status().message().c_str());
      QVERIFY(!(*opened)->complete());
      const Status refusal = (*opened)->fingerprint({}).status();
      QVERIFY(refusal.message().find("the file is truncated: ") == 0);
      const Json info = Json::parse(info_json(**opened, ""));
      QVERIFY(info["complete"] == Json(false));
      std::size_t known = 0;
      for (const auto& [key, value] : whole.items()) {
        QVERIFY2(info.contains(key), key.c_str());
        if (info[key].is_null() || key == "complete") continue;
        ++known;
        QVERIFY2(info[key] == value || (key == "supported" && info[key] == false),
                 (key + " at " + std::to_string(size)).c_str());
      }
      QVERIFY(known >= known_before);
      known_before = known;
      use(path);
    }
    QVERIFY(info_of("t.gguf", bytes.substr(0, bytes.size() - 1))["supported"] == Json(true));
  }

  // A value is told as soon as its last byte is there.
  void a_cut_header_tells_what_it_holds() {
    const std::string bytes = tiny_gguf().build();
    struct Case {
      const char* key;    // in the file
      std::size_t value;  // its bytes
      const char* name;   // in `info`
      Json expected;
    };
    const Case cases[] = {{"general.architecture", 8 + 5, "architecture", "llama"},
                          {"general.name", 8 + 4, "name", "Tiny"},
                          {"llama.block_count", 4, "layers", 1},
                          {"llama.embedding_length", 4, "hidden", 8},
                          {"llama.feed_forward_length", 4, "intermediate", 6},
                          {"llama.attention.head_count", 4, "heads", 2},
                          {"llama.attention.head_count_kv", 4, "kv_heads", {1}},
                          {"llama.context_length", 4, "context_length", 64},
                          {"tokenizer.ggml.bos_token_id", 4, "bos_id", 4}};
    for (const Case& c : cases) {
      const std::string key = text(c.key);
      const std::size_t end = bytes.find(key) + key.size() + 4 + c.value;
      QVERIFY(info_of("k.gguf", bytes.substr(0, end - 1))[c.name] == Json(nullptr));
      QVERIFY2(info_of("k.gguf", bytes.substr(0, end))[c.name] == c.expected, c.key);
    }
    // Behind the last metadata entry, what absent keys mean is known too.
    const std::size_t metadata = bytes.find(text("token_embd.weight"));
    QVERIFY(info_of("k.gguf", bytes.substr(0, metadata - 1))["kv_bytes_per_token"] ==
            Json(nullptr));
    const Json info = info_of("k.gguf", bytes.substr(0, metadata));
    QVERIFY(info["kv_bytes_per_token"] == Json(16));
    QVERIFY(info["head_dim"] == Json({4}));
    QVERIFY(info["window"] == Json({0}));
    QVERIFY(info["parameters"] == Json(nullptr));
  }

  // Lengths that only a longer file could satisfy are a cut, not damage.
  void lengths_past_the_end_are_a_cut() {
    const std::vector<Change> changes = {
        [](GgufWriter& w) { w.add("x", kString, u64(1 << 20)); },
        [](GgufWriter& w) { w.add("x", kArray, u32(kU32) + u64(1 << 20)); },
        [](GgufWriter& w) { w.add(std::string(8, 'k'), kString, u64(1 << 20)); },
        [](GgufWriter& w) {
          w.claimed_metadata = 1000000;
          w.tensors.clear();
        },
    };
    for (const Change& change : changes) {
      GgufWriter w = tiny_gguf();
      change(w);
      const Json info = info_of("l.gguf", w.build());
      QVERIFY(info["complete"] == Json(false));
      QVERIFY(info["layers"] == Json(1));
      QVERIFY(info["head_dim"] == Json(nullptr));
    }
  }

  void every_part_of_a_split_set_may_be_cut() {
    for (int part = 1; part <= 3; ++part) {
      write_split("every");
      const std::string whole = scratch_.read(part_name("every", part));
      for (std::size_t size = 4; size < whole.size(); size += size < 200 ? 1 : 37) {
        scratch_.write(part_name("every", part), whole.substr(0, size));
        for (int given = 1; given <= 3; ++given) {
          auto opened = Checkpoint::open(scratch_.path(part_name("every", given)));
          QVERIFY2(opened, opened.status().message().c_str());
          QVERIFY(!(*opened)->complete());
          if (part > 1 && given == 1) QCOMPARE((*opened)->config().layers, 2);
          const Status refusal = (*opened)->require_complete();
          QVERIFY(refusal.message().find("the file is truncated: ") == 0);
          QVERIFY(refusal.message().find(part_name("every", given)) != std::string::npos);
        }
      }
    }
  }

  void a_flip_at_every_byte_is_survived() {
    const std::string bytes = tiny_gguf().build();
    for (unsigned flip : {0xffu, 0x80u, 0x01u}) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
        use(scratch_.write("f.gguf", changed));
        if (QTest::currentTestFailed()) return;
      }
    }
  }

  void split_files_equal_the_single_one() {
    auto single = Checkpoint::open(scratch_.write("single.gguf", two_layers().build()));
    QVERIFY2(single, single.status().message().c_str());
    std::string expected = (*single)->fingerprint({}).value();
    write_split("split");
    for (int part = 1; part <= 3; ++part) {
      auto opened = Checkpoint::open(scratch_.path(part_name("split", part)));
      QVERIFY2(opened, opened.status().message().c_str());
      QCOMPARE((*opened)->fingerprint({}).value(), expected);
      QCOMPARE((*opened)->tensors().size(), (*single)->tensors().size());
      const std::array<std::int64_t, 1> shape{8};
      QCOMPARE((*opened)->read(TensorRole::kMlpNorm, 1, shape).value(), ramp(8, 7));
    }
  }

  void the_fingerprint_sees_every_change() {
    std::string base = fingerprint_of(two_layers());
    QCOMPARE(base.size(), std::size_t{64});
    GgufWriter name = two_layers();
    name.add("general.license", "other");
    QCOMPARE(fingerprint_of(name), base);  // no hyper-parameter, no tensor
    GgufWriter value = two_layers();
    value.tensors[3].data[7] = static_cast<char>(value.tensors[3].data[7] ^ 1);
    GgufWriter rope = two_layers();
    rope.add("llama.rope.freq_base", 20000.0f);
    GgufWriter shape = two_layers();
    named(shape, "blk.1.attn_q.weight").dims = {4, 16};
    GgufWriter renamed = two_layers();
    named(renamed, "blk.1.attn_q.weight").name = "blk.1.attn_r.weight";
    std::set<std::string> all = {base, fingerprint_of(value), fingerprint_of(rope),
                                 fingerprint_of(shape), fingerprint_of(renamed)};
    QCOMPARE(all.size(), std::size_t{5});
  }

  void split_faults() {
    write_split("gap");
    std::filesystem::remove(scratch_.path(part_name("gap", 2)));
    expect_error(part_name("gap", 1), "part 2 of 3 is missing");
    write_split("swapped");
    std::filesystem::rename(scratch_.path(part_name("swapped", 3)),
                            scratch_.path(part_name("swapped", 2)));
    std::filesystem::copy(scratch_.path(part_name("swapped", 2)),
                          scratch_.path(part_name("swapped", 3)));
    expect_error(part_name("swapped", 1),
                 "the file says that it is part 3 of 3, its name part 2 of 3");
    write_split("renamed");
    std::filesystem::rename(scratch_.path(part_name("renamed", 1)), scratch_.path("renamed.gguf"));
    expect_error("renamed.gguf", "part 1 of 3 of a split model has another name");
    write_split("count", 99);
    expect_error(part_name("count", 2), "the parts hold 20 tensors, the first one claims 99");
    write_split("twice", 20, "output_norm.weight");
    expect_error(part_name("twice", 1), "duplicate tensor 'output_norm.weight' in two parts");
    write_split("cut");
    std::filesystem::resize_file(
        scratch_.path(part_name("cut", 2)),
        std::filesystem::file_size(scratch_.path(part_name("cut", 2))) - 5);
    auto opened = Checkpoint::open(scratch_.path(part_name("cut", 3)));
    QVERIFY2(opened, opened.status().message().c_str());
    QVERIFY(!(*opened)->complete());
    std::string message = (*opened)->fingerprint({}).status().message();
    QVERIFY2(message.find(part_name("cut", 2)) != std::string::npos, message.c_str());
  }

  void fingerprint_can_be_cancelled() {
    auto opened = Checkpoint::open(scratch_.write("cancel.gguf", tiny_gguf().build()));
    QVERIFY(opened);
    std::stop_source stop;
    std::int64_t last = -1;
    JobContext context{stop.get_token(), [&](const Progress& p) { last = p.done; }, 0};
    QVERIFY((*opened)->fingerprint(context));
    QCOMPARE(last, std::int64_t{4 * (40 + 8 + 8 + 64 + 32 + 32 + 64 + 8 + 48 + 48 + 48)});
    stop.request_stop();
    QCOMPARE((*opened)->fingerprint(context).status().kind(), ErrorKind::kCancelled);
  }

  void other_files() {
    expect_error("nothing.gguf", "cannot read the file");
    scratch_.write("empty.gguf", "");
    expect_error("empty.gguf", "it is empty");
    scratch_.write("text.gguf", "just some words");
    expect_error("text.gguf", "not a GGUF file");
    for (const char* name : {"model.bin", "model.pt", "model.pth", "model.ckpt"}) {
      scratch_.write(name, "\x80\x02");
      expect_error(name, "pickle");
      expect_error(name, "convert the model to safetensors");
    }
  }

  void the_demo_model() {
    auto opened = Checkpoint::open(LAMINA_DEMO_MODEL);
    QVERIFY2(opened, opened.status().message().c_str());
    const Checkpoint& c = **opened;
    const ModelConfig& m = c.config();
    QVERIFY(c.complete() && m.supported);
    QCOMPARE(m.architecture, std::string("llama"));
    QCOMPARE(m.layers, 30);
    QCOMPARE(m.hidden, 576);
    QCOMPARE(m.intermediate, 1536);
    QCOMPARE(m.heads, 9);
    QCOMPARE(m.vocab, std::int64_t{49152});
    QCOMPARE(m.context_length, std::int64_t{8192});
    QCOMPARE(m.kv.at(29), (LayerGeometry{3, 64, 0}));
    QCOMPARE(m.rope.theta, 100000.0);
    QCOMPARE(m.rope.rotary_dim, 64);
    QCOMPARE(m.kv_bytes_per_token(), std::int64_t{30 * 2 * 3 * 64 * 2});
    QCOMPARE(m.tokenizer, std::string("bpe:smollm"));
    QCOMPARE(m.bos_id, 1);
    QCOMPARE(m.eos_ids, std::vector<std::int32_t>{2});
    QVERIFY(!m.add_bos && m.tied_embeddings);
    QCOMPARE(c.tensors().size(), std::size_t{272});
    QCOMPARE(c.tokenizer_data()->tokens.size(), std::size_t{49152});
    QCOMPARE(c.tokenizer_data()->merges.size(), std::size_t{48900});
  }

 private:
  Json info_of(const std::string& name, const std::string& bytes) {
    auto opened = Checkpoint::open(scratch_.write(name, bytes));
    return opened ? Json::parse(info_json(**opened, "")) : Json(opened.status().message());
  }
  static GgufWriter two_layers() {
    GgufWriter w = tiny_metadata("llama", 2);
    add_tiny_tensors(w, 2);
    return w;
  }
  std::string fingerprint_of(const GgufWriter& w) {
    auto opened = Checkpoint::open(scratch_.write("fingerprint.gguf", w.build()));
    return opened ? (*opened)->fingerprint({}).value() : opened.status().message();
  }
  static std::string part_name(const std::string& base, int part) {
    return base + "-0000" + std::to_string(part) + "-of-00003.gguf";
  }
  // Three parts of seven, seven and six tensors; only the first has the metadata.
  void write_split(const std::string& base, std::uint32_t claimed = 20,
                   const std::string& again = "") {
    GgufWriter all = two_layers();
    for (std::uint32_t part = 0; part < 3; ++part) {
      GgufWriter w;
      if (part == 0) w = tiny_metadata("llama", 2);
      w.add("split.no", kU16, little_endian(part, 2));
      w.add("split.count", kU16, little_endian(3, 2));
      w.add("split.tensors.count", kI32, u32(claimed));
      for (std::size_t i = part * 7; i < std::min<std::size_t>(all.tensors.size(), part * 7 + 7);
           ++i)
        w.tensors.push_back(all.tensors[i]);
      if (part == 2 && !again.empty()) w.tensors.back().name = again;
      scratch_.write(part_name(base, static_cast<int>(part) + 1), w.build());
    }
  }
  void expect_error(const std::string& name, const char* part) {
    auto opened = Checkpoint::open(scratch_.path(name));
    QVERIFY(!opened);
    std::string message = opened.status().message();
    QVERIFY2(message.find(part) != std::string::npos, message.c_str());
    QVERIFY2(message.find(scratch_.root().string()) != std::string::npos, message.c_str());
    QCOMPARE(opened.status().kind(), ErrorKind::kBadInput);
  }

  Scratch scratch_;
};

QTEST_APPLESS_MAIN(TestGguf)
#include "tst_gguf.moc"
