// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters from GGUF metadata and from config.json, of models that run and models that do
// not.
#include <QTest>
#include <cmath>
#include <functional>

#include "engine/model/checkpoint.h"
#include "engine/model/gguf.h"
#include "engine/model/gguf_config.h"
#include "engine/model/hf_config.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/scratch.h"

using namespace lamina;
using namespace lamina::test;

namespace {

// The configuration that a tiny GGUF file of the architecture gives; no file is needed for it.
Result<ModelConfig> from_gguf(const GgufWriter& w) {
  std::string bytes = w.build();
  LAMINA_ASSIGN_OR_RETURN(GgufFile file,
                          GgufFile::parse(std::as_bytes(std::span(bytes)), "tiny.gguf"));
  GgufTensorMap tensors;
  for (const GgufTensor& tensor : file.tensors) tensors.emplace(tensor.name, &tensor);
  return gguf_config(file.metadata, tensors);
}

Result<ModelConfig> from_json(const char* model_type, const char* changes) {
  Json config = tiny_config(model_type);
  config.merge_patch(Json::parse(changes));
  return hf_config(config, "folder/config.json");
}

std::vector<std::int64_t> windows(const ModelConfig& config) {
  std::vector<std::int64_t> list;
  for (const LayerGeometry& layer : config.kv) list.push_back(layer.window);
  return list;
}

using Windows = std::vector<std::int64_t>;

}  // namespace

class TestCheckpointConfig : public QObject {
  Q_OBJECT
 private slots:
  // ------------------------------------------------------------------------------------------ GGUF
  void gguf_qwen2_has_biases() {
    ModelConfig c = from_gguf(tiny_metadata("qwen2")).value();
    QVERIFY(c.unsupported_reason.empty());
    QVERIFY(c.qkv_bias && !c.qk_norm && !c.post_norms && !c.gelu_tanh);
    QCOMPARE(c.rope.theta, 10000.0);
    QCOMPARE(c.rope.rotary_dim, 4);
    QCOMPARE(c.kv.at(0), (LayerGeometry{1, 4, 0}));
  }

  void gguf_gemma3() {
    GgufWriter w = tiny_metadata("gemma3", 7);
    w.add("gemma3.attention.key_length", 16u).add("gemma3.attention.value_length", 16u);
    w.add("gemma3.attention.sliding_window", 512u).add("gemma3.rope.freq_base", 1e6f);
    w.add("gemma3.rope.scaling.type", "linear").add("gemma3.rope.scaling.factor", 8.0f);
    ModelConfig c = from_gguf(w).value();
    QVERIFY2(c.unsupported_reason.empty(), c.unsupported_reason.c_str());
    QVERIFY(c.qk_norm && c.post_norms && c.gelu_tanh && !c.norm_plus_one && !c.qkv_bias);
    QCOMPARE(windows(c), (Windows{512, 512, 512, 512, 512, 0, 512}));
    QCOMPARE(c.kv.at(0).head_dim, 16);
    QCOMPARE(c.embedding_scale, std::sqrt(8.0));
    QCOMPARE(c.attention_scale, 0.0);
    QCOMPARE(c.rope.theta, 1e6);
    QVERIFY(c.rope.scaling == RopeScaling::kLinear);
    QCOMPARE(c.rope.factor, 8.0);
    QCOMPARE(c.rope_local.theta, 10000.0);
    QVERIFY(c.rope_local.scaling == RopeScaling::kNone);
    QCOMPARE(c.rope_local.rotary_dim, 16);
    w.add("gemma3.attention.sliding_window_pattern", 3u);
    QCOMPARE(windows(from_gguf(w).value()), (Windows{512, 512, 0, 512, 512, 0, 512}));
  }

  void gguf_gemma3_27b_scales_by_the_hidden_width() {
    GgufWriter w = tiny_metadata("gemma3", 62);
    w.add("gemma3.attention.key_length", 16u).add("gemma3.attention.value_length", 16u);
    QCOMPARE(from_gguf(w).value().attention_scale, 1 / std::sqrt(8.0 / 2));
  }

  void gguf_window_patterns() {
    GgufWriter w = tiny_metadata("llama", 3);
    w.add("llama.attention.sliding_window", 16u);
    QCOMPARE(windows(from_gguf(w).value()), (Windows{16, 16, 16}));
    w.add("llama.attention.sliding_window_pattern", kArray,
          u32(kBool) + u64(3) + std::string("\1\0\1", 3));
    QCOMPARE(windows(from_gguf(w).value()), (Windows{16, 0, 16}));
  }

  void gguf_yarn() {
    GgufWriter w = tiny_metadata("qwen2");
    w.add("qwen2.rope.scaling.type", "yarn").add("qwen2.rope.scaling.factor", 4.0f);
    w.add("qwen2.rope.scaling.original_context_length", 32u);
    ModelConfig c = from_gguf(w).value();
    QVERIFY(c.rope.scaling == RopeScaling::kYarn);
    QCOMPARE(c.rope.factor, 4.0);
    QCOMPARE(c.rope.original_context, std::int64_t{32});
    QCOMPARE(c.rope.attention_factor, 0.0);
    QVERIFY(c.rope_local == c.rope);
    w.add("qwen2.rope.scaling.attn_factor", 0.5f).add("qwen2.rope.scaling.yarn_beta_fast", 64.0f);
    c = from_gguf(w).value();
    QCOMPARE(c.rope.attention_factor, 0.5 * (0.1 * std::log(4.0) + 1));
    QCOMPARE(c.rope.beta_fast, 64.0);
    w.add("qwen2.rope.scaling.yarn_ext_factor", 0.5f);
    QVERIFY(from_gguf(w).value().unsupported_reason.find("extrapolation") != std::string::npos);
  }

  void gguf_rope_divisors() {
    GgufWriter w = tiny_metadata("llama");
    w.tensor("rope_freqs.weight", {2}, {1.0f, 8.0f});
    ModelConfig c = from_gguf(w).value();
    QCOMPARE(c.rope.freq_divisors, (std::vector<float>{1.0f, 8.0f}));
    w.tensors[0].data = floats({1.0f, 0.0f});
    QVERIFY(!from_gguf(w));
    w.tensors[0] = {"rope_freqs.weight", {3}, 0, floats({1, 1, 1}), {}, {}};
    std::string message = from_gguf(w).status().message();
    QVERIFY2(message.find("holds 3 F32 values, expected 2 F32") != std::string::npos,
             message.c_str());
  }

  void gguf_per_layer_kv_heads() {
    GgufWriter w = tiny_metadata("other", 3);
    w.metadata.clear();
    w.metadata_count = 0;
    w.add("general.architecture", "other")
        .add("other.block_count", 3u)
        .add("other.embedding_length", 8u);
    w.add("other.attention.head_count", 2u).add_ints("other.attention.head_count_kv", {2, 0, 1});
    ModelConfig c = from_gguf(w).value();
    QCOMPARE(c.unsupported_reason, std::string("architecture 'other'"));
    QCOMPARE(c.kv_bytes_per_token(), std::int64_t{(2 + 0 + 1) * 4 * 2 * 2});
  }

  void gguf_latent_attention() {
    GgufWriter w = tiny_metadata("deepseek2", 2);
    w.add("deepseek2.attention.kv_lora_rank", 512u).add("deepseek2.rope.dimension_count", 64u);
    w.add("deepseek2.attention.key_length", 192u).add("deepseek2.attention.value_length", 128u);
    w.add("deepseek2.expert_count", 64u);
    ModelConfig c = from_gguf(w).value();
    for (const char* reason :
         {"architecture 'deepseek2'", "experts (64)", "multi-head latent attention (MLA)"}) {
      QVERIFY2(c.unsupported_reason.find(reason) != std::string::npos,
               c.unsupported_reason.c_str());
    }
    QCOMPARE(c.kv.at(1), (LayerGeometry{1, 576, 0}));
    QCOMPARE(c.kv_bytes_per_token(), std::int64_t{2 * 576 * 2});
  }

  void gguf_refusals_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("reason");
    QTest::newRow("experts") << "expert_count:8"
                             << "experts (8)";
    QTest::newRow("softcap") << "attn_logit_softcapping:50"
                             << "attention logit soft-capping";
    QTest::newRow("final softcap") << "final_logit_softcapping:30"
                                   << "final logit soft-capping";
    QTest::newRow("alibi") << "attention.max_alibi_bias:8"
                           << "ALiBi";
    QTest::newRow("clamp") << "attention.clamp_kqv:6"
                           << "clamped q, k, v";
    QTest::newRow("logit scale") << "logit_scale:2"
                                 << "a logit scale";
    QTest::newRow("value width") << "attention.value_length:2"
                                 << "keys and values of different widths";
    QTest::newRow("rope") << "rope.scaling.type=longrope"
                          << "rope scaling 'longrope'";
    QTest::newRow("sinks") << ""
                           << "learned attention sinks";
  }
  void gguf_refusals() {
    QFETCH(QString, key);
    QFETCH(QString, reason);
    GgufWriter w = tiny_metadata("llama");
    if (key.isEmpty()) {
      w.tensor("blk.0.attn_sinks.weight", {2}, {1, 1});
    } else if (key.contains('=')) {
      w.add("llama." + key.section('=', 0, 0).toStdString(),
            key.section('=', 1).toStdString().c_str());
    } else {
      w.add("llama." + key.section(':', 0, 0).toStdString(), key.section(':', 1).toUInt());
    }
    ModelConfig c = from_gguf(w).value();
    QCOMPARE(QString::fromStdString(c.unsupported_reason), reason);
    QCOMPARE(c.layers, 1);
  }

  void gguf_known_architectures_must_say_their_sizes() {
    for (const char* key :
         {"block_count", "embedding_length", "feed_forward_length", "attention.head_count",
          "context_length", "attention.layer_norm_rms_epsilon"}) {
      GgufWriter w = tiny_metadata("llama");
      std::string full = std::string("llama.") + key;
      w.metadata[w.metadata.find(full)] = 'L';
      std::string message = from_gguf(w).status().message();
      QVERIFY2(message.find("'" + full + "' is missing") != std::string::npos, message.c_str());
    }
  }

  // --------------------------------------------------------------------------------------
  // config.json
  void json_mistral_windows() {
    QCOMPARE(
        windows(from_json("mistral", R"({"num_hidden_layers": 2, "sliding_window": 16})").value()),
        (Windows{16, 16}));
    QCOMPARE(from_json("mistral", "{}").value().architecture, std::string("llama"));
    // merge_patch cannot set a null, absent means the family's default.
    QCOMPARE(windows(from_json("mistral", "{}").value()), (Windows{4096}));
    Json config = tiny_config("mistral");
    config["sliding_window"] = nullptr;
    QCOMPARE(windows(hf_config(config, "c").value()), (Windows{0}));
    QCOMPARE(windows(from_json("llama", R"({"sliding_window": 16})").value()), (Windows{0}));
  }

  void json_qwen_windows() {
    const char* base =
        R"({"num_hidden_layers": 4, "sliding_window": 8, "max_window_layers": 2, "use_sliding_window": %1})";
    QCOMPARE(windows(from_json("qwen2", QString(base).arg("false").toUtf8().constData()).value()),
             (Windows{0, 0, 0, 0}));
    ModelConfig c = from_json("qwen2", QString(base).arg("true").toUtf8().constData()).value();
    QCOMPARE(windows(c), (Windows{0, 0, 8, 8}));
    QVERIFY(c.qkv_bias && c.rope == c.rope_local);
    c = from_json("qwen3",
                  R"({"num_hidden_layers": 2, "sliding_window": 8, "use_sliding_window": true,
        "layer_types": ["sliding_attention", "full_attention"]})")
            .value();
    QCOMPARE(windows(c), (Windows{8, 0}));
    QVERIFY(c.qk_norm && !c.qkv_bias);
    std::string message =
        from_json("qwen3", R"({"layer_types": ["full_attention", "full_attention"]})")
            .status()
            .message();
    QVERIFY2(message.find("'layer_types' must list 1 layers") != std::string::npos,
             message.c_str());
  }

  void json_head_dim_defaults() {
    Json config = tiny_config("qwen3");
    config.erase("head_dim");
    QCOMPARE(hf_config(config, "c").value().kv.at(0).head_dim, 128);
    config["model_type"] = "llama";
    QCOMPARE(hf_config(config, "c").value().kv.at(0).head_dim, 4);
    config.erase("num_key_value_heads");
    QCOMPARE(hf_config(config, "c").value().kv.at(0).kv_heads, 2);
  }

  void json_gemma3() {
    const char* changes =
        R"({"num_hidden_layers": 7, "sliding_window": 16, "query_pre_attn_scalar": 64, "head_dim": 16,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0}})";
    ModelConfig c = from_json("gemma3_text", changes).value();
    QVERIFY2(c.unsupported_reason.empty(), c.unsupported_reason.c_str());
    QCOMPARE(c.architecture, std::string("gemma3"));
    QVERIFY(c.qk_norm && c.post_norms && c.norm_plus_one && c.gelu_tanh && c.tied_embeddings);
    QCOMPARE(windows(c), (Windows{16, 16, 16, 16, 16, 0, 16}));
    QCOMPARE(c.attention_scale, 0.125);
    QCOMPARE(c.embedding_scale, std::sqrt(8.0));
    QCOMPARE(c.rope.theta, 1e6);
    QCOMPARE(c.rope.factor, 8.0);
    QCOMPARE(c.rope_local.theta, 1e4);
    QCOMPARE(c.rope_local.factor, 1.0);

    // Nested, as multimodal checkpoints have it, with the sizes that they leave out.
    Json text = {{"model_type", "gemma3_text"},
                 {"hidden_size", 2560},
                 {"intermediate_size", 10240},
                 {"num_hidden_layers", 34},
                 {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                 {"sliding_window", 1024}};
    c = hf_config({{"model_type", "gemma3"},
                   {"text_config", text},
                   {"vision_config", {{"hidden_size", 1152}}}},
                  "c")
            .value();
    QVERIFY2(c.unsupported_reason.empty(), c.unsupported_reason.c_str());
    QCOMPARE(c.heads, 8);
    QCOMPARE(c.kv.at(0), (LayerGeometry{4, 256, 1024}));
    QCOMPARE(c.kv.at(5), (LayerGeometry{4, 256, 0}));
    QCOMPARE(c.vocab, std::int64_t{262208});
    QCOMPARE(c.context_length, std::int64_t{131072});
    QCOMPARE(c.attention_scale, 1.0 / 16);
  }

  void json_rope_parameters_by_layer_type() {
    ModelConfig c = from_json("gemma3_text", R"({"rope_parameters": {
        "full_attention": {"rope_type": "linear", "rope_theta": 500000.0, "factor": 2.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0}}})")
                        .value();
    QCOMPARE(c.rope.theta, 5e5);
    QCOMPARE(c.rope.factor, 2.0);
    QCOMPARE(c.rope_local.theta, 2e4);
    c = from_json(
            "llama",
            R"({"rope_parameters": {"rope_type": "default", "rope_theta": 300000.0, "partial_rotary_factor": 0.5}})")
            .value();
    QCOMPARE(c.rope.theta, 3e5);
    QCOMPARE(c.rope.rotary_dim, 2);
  }

  void json_llama3_rope() {
    const char* changes =
        R"({"rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})";
    ModelConfig c = from_json("llama", changes).value();
    QVERIFY(c.rope.scaling == RopeScaling::kLlama3);
    QCOMPARE(c.rope.factor, 32.0);
    QCOMPARE(c.rope.low_freq_factor, 1.0);
    QCOMPARE(c.rope.high_freq_factor, 4.0);
    QCOMPARE(c.rope.original_context, std::int64_t{8192});
    std::string message =
        from_json("llama", R"({"rope_scaling": {"rope_type": "llama3", "factor": 32.0}})")
            .status()
            .message();
    QVERIFY2(message.find("'low_freq_factor' of the llama3 rope is missing") != std::string::npos,
             message.c_str());
  }

  void json_yarn() {
    ModelConfig c =
        from_json(
            "qwen2",
            R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}})")
            .value();
    QVERIFY(c.rope.scaling == RopeScaling::kYarn);
    QCOMPARE(c.rope.original_context, std::int64_t{32});
    QCOMPARE(c.rope.attention_factor, 0.0);
    c = from_json(
            "qwen2",
            R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.5}})")
            .value();
    QCOMPARE(c.rope.attention_factor, (0.1 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1));
    QCOMPARE(c.rope.original_context, std::int64_t{64});
    c = from_json("qwen2",
                  R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "truncate": false}})")
            .value();
    QCOMPARE(c.unsupported_reason, std::string("yarn without truncated bounds"));
  }

  void json_refusals_data() {
    QTest::addColumn<QString>("changes");
    QTest::addColumn<QString>("reason");
    QTest::newRow("experts") << R"({"num_local_experts": 8})"
                             << "experts (8)";
    QTest::newRow("attention bias") << R"({"attention_bias": true})"
                                    << "a bias on the attention output projection";
    QTest::newRow("mlp bias") << R"({"mlp_bias": true})"
                              << "biases in the MLP";
    QTest::newRow("softcap") << R"({"attn_logit_softcapping": 50.0})"
                             << "attention logit soft-capping";
    QTest::newRow("activation") << R"({"hidden_act": "relu"})"
                                << "the activation 'relu'";
    QTest::newRow("rope") << R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}})"
                          << "rope scaling 'dynamic'";
    QTest::newRow("quantised") << R"({"quantization_config": {"quant_method": "gptq"}})"
                               << "weights quantised by 'gptq'";
    QTest::newRow("layers") << R"({"layer_types": ["linear_attention"]})"
                            << "layers of the type 'linear_attention'";
    QTest::newRow("architecture") << R"({"model_type": "gpt_neox"})"
                                  << "architecture 'gpt_neox'";
    QTest::newRow("sinks") << R"({"model_type": "gpt_oss", "num_local_experts": 32})"
                           << "architecture 'gpt_oss'; experts (32)";
  }
  void json_refusals() {
    QFETCH(QString, changes);
    QFETCH(QString, reason);
    ModelConfig c = from_json("llama", changes.toUtf8().constData()).value();
    QCOMPARE(QString::fromStdString(c.unsupported_reason), reason);
    QCOMPARE(c.layers, 1);
  }

  void json_latent_attention() {
    ModelConfig c =
        from_json("deepseek_v3",
                  R"({"num_hidden_layers": 3, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "n_routed_experts": 256})")
            .value();
    QVERIFY(c.unsupported_reason.find("MLA") != std::string::npos);
    QCOMPARE(c.kv_bytes_per_token(), std::int64_t{3 * 576 * 2});
  }

  void json_faults_data() {
    QTest::addColumn<QString>("changes");
    QTest::addColumn<QString>("message");
    QTest::newRow("layers") << R"({"num_hidden_layers": -1})"
                            << "num_hidden_layers";
    QTest::newRow("layers missing") << R"({"num_hidden_layers": null})"
                                    << "'num_hidden_layers' is missing or zero";
    QTest::newRow("hidden is a text") << R"({"hidden_size": "8"})"
                                      << "hidden_size";
    QTest::newRow("heads") << R"({"num_attention_heads": 1e12})"
                           << "num_attention_heads";
    QTest::newRow("groups") << R"({"num_attention_heads": 3, "num_key_value_heads": 2})"
                            << "3 query heads cannot share 2 KV heads";
    QTest::newRow("eps") << R"({"rms_norm_eps": 0})"
                         << "rms_norm_eps";
    QTest::newRow("flag") << R"({"tie_word_embeddings": 1})"
                          << "'tie_word_embeddings' must be true or false";
    QTest::newRow("factor") << R"({"rope_scaling": {"type": "linear"}})"
                            << "'factor' of the linear rope is missing";
    QTest::newRow("zero factor") << R"({"rope_scaling": {"type": "linear", "factor": 0}})"
                                 << "the rope factor must be above 0";
    QTest::newRow("partial") << R"({"partial_rotary_factor": 1.5})"
                             << "'partial_rotary_factor' must lie";
    QTest::newRow("rope is a list") << R"({"rope_scaling": []})"
                                    << "the rope parameters must be an object";
  }
  void json_faults() {
    QFETCH(QString, changes);
    QFETCH(QString, message);
    auto config = from_json("llama", changes.toUtf8().constData());
    QVERIFY(!config);
    QCOMPARE(config.status().exit_code(), 3);
    QVERIFY2(QString::fromStdString(config.status().message()).contains(message),
             config.status().message().c_str());
    QVERIFY2(config.status().message().find("folder/config.json") != std::string::npos,
             config.status().message().c_str());
  }

  // ---------------------------------------------------------------------------------- tensors and
  // info
  void gemma_tensor_names() {
    SafetensorsWriter w;
    int next = 0;
    for (const char* name :
         {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
          "post_feedforward_layernorm", "self_attn.q_norm", "self_attn.k_norm"}) {
      w.add(std::string("language_model.model.layers.0.") + name + ".weight", "F32", {1},
            floats({static_cast<float>(++next)}));
    }
    w.add("vision_tower.x.weight", "F32", {1}, floats({0}));
    scratch_.write("gemma/model.safetensors", w.build());
    scratch_.write("gemma/config.json", tiny_config("gemma3_text").dump());
    auto opened = Checkpoint::open(scratch_.path("gemma"));
    QVERIFY2(opened, opened.status().message().c_str());
    QVERIFY2((*opened)->config().supported, (*opened)->config().unsupported_reason.c_str());
    const std::array<std::int64_t, 1> one{1};
    float expected = 0;
    for (TensorRole role : {TensorRole::kAttnNorm, TensorRole::kPostAttnNorm, TensorRole::kMlpNorm,
                            TensorRole::kPostMlpNorm, TensorRole::kQNorm, TensorRole::kKNorm}) {
      QCOMPARE((*opened)->read(role, 0, one).value().at(0), ++expected);
    }
  }

  void tensors_that_would_be_left_out() {
    SafetensorsWriter w = tiny_safetensors();
    w.add("model.layers.0.self_attn.o_proj.bias", "F32", {8}, floats(ramp(8, 0)));
    scratch_.write("bias/model.safetensors", w.build());
    scratch_.write("bias/config.json", tiny_config().dump());
    auto opened = Checkpoint::open(scratch_.path("bias"));
    QVERIFY(opened);
    QVERIFY(!(*opened)->config().supported);
    QVERIFY((*opened)->config().unsupported_reason.find("'model.layers.0.self_attn.o_proj.bias'") !=
            std::string::npos);
  }

  void info_is_one_document() {
    auto opened = Checkpoint::open(scratch_.write("info.gguf", tiny_gguf().build()));
    QVERIFY(opened);
    Json info = parse_json(info_json(**opened, "ab12"), "info").value();
    QCOMPARE(info["path"].get<std::string>(), scratch_.path("info.gguf").string());
    QCOMPARE(info["format"].get<std::string>(), std::string("gguf"));
    QCOMPARE(info["architecture"].get<std::string>(), std::string("llama"));
    QCOMPARE(info["name"].get<std::string>(), std::string("Tiny"));
    QVERIFY(info["supported"].get<bool>());
    QCOMPARE(info["layers"].get<int>(), 1);
    QVERIFY(info["kv_heads"] == Json::array({1}));
    QVERIFY(info["head_dim"] == Json::array({4}));
    QVERIFY(info["window"] == Json::array({0}));
    QCOMPARE(info["rope"]["theta"].get<double>(), 10000.0);
    QCOMPARE(info["kv_bytes_per_token"].get<int>(), 16);
    QCOMPARE(info["parameters"].get<int>(), 40 + 8 + 8 + 64 + 32 + 32 + 64 + 8 + 3 * 48);
    QCOMPARE(info["tensor_bytes"].get<int>(), 4 * (40 + 8 + 8 + 64 + 32 + 32 + 64 + 8 + 3 * 48));
    QVERIFY(info["tensor_types"] == Json({{"F32", 11}}));
    QCOMPARE(info["fingerprint"].get<std::string>(), std::string("ab12"));
    QVERIFY(info["complete"].get<bool>());
    QVERIFY(parse_json(info_json(**opened, ""), "info").value()["fingerprint"].is_null());
  }

 private:
  Scratch scratch_;
};

QTEST_APPLESS_MAIN(TestCheckpointConfig)
#include "tst_checkpoint_config.moc"
