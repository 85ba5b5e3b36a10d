// SPDX-License-Identifier: Apache-2.0
// info, tokenize, forward, generate.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <stop_token>
#include <utility>

#include "app/cli/common.h"
#include "engine/base/file.h"
#include "engine/base/units.h"
#include "engine/model/checkpoint.h"
#include "engine/run/generate.h"

namespace lamina::cli {
namespace {

// ----------------------------------------------------------------------------------------------
// info

constexpr char kUnknown[] = "unknown";

// What a file that is cut inside its header does not say is negative or empty.
std::string known(std::int64_t value) {
  return value < 0 ? std::string(kUnknown) : fmt::format("{}", value);
}
std::string known(const std::string& value) { return value.empty() ? kUnknown : value; }

// "3" where all entries agree, else runs such as "512 x5, global, 512 x5, ...".
std::string per_layer(const std::vector<LayerGeometry>& layers,
                      std::string (*text)(const LayerGeometry&)) {
  std::string out;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t j = i;
    while (j < layers.size() && text(layers[j]) == text(layers[i])) ++j;
    if (!out.empty()) out += ", ";
    out += text(layers[i]);
    if (j - i != layers.size()) out += fmt::format(" x{}", j - i);
    i = j;
  }
  return known(out);
}

// At most the largest int64, whatever a damaged header claims.
std::int64_t full_context_bytes(const ModelConfig& config) {
  const double bytes = static_cast<double>(config.kv_bytes_per_token()) *
                       static_cast<double>(std::max<std::int64_t>(config.context_length, 0));
  return bytes < 9.2e18 ? config.kv_bytes_per_token() * config.context_length : INT64_MAX;
}

std::string architecture_text(const Checkpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config();
  if (!c.unsupported_reason.empty()) {
    return fmt::format("{} (not runnable: {})", c.architecture, c.unsupported_reason);
  }
  return known(c.architecture);
}

std::string tensors_text(const Checkpoint& checkpoint) {
  if (checkpoint.cut() >= Cut::kDirectory) return kUnknown;
  std::uint64_t bytes = 0;
  std::int64_t parameters = 0;
  std::map<std::string, int> types;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    bytes += tensor.bytes;
    parameters += tensor.elements;
    ++types[tensor.type];
  }
  std::string type_list;
  for (const auto& [type, count] : types) {
    type_list += fmt::format("{}{} {}", type_list.empty() ? "" : ", ", count, type);
  }
  return fmt::format("{:.1f} million, {} ({})", static_cast<double>(parameters) / 1e6,
                     format_mb(static_cast<std::int64_t>(bytes)), type_list);
}

std::string cache_text(const ModelConfig& c) {
  if (c.kv_bytes_per_token() < 0) return kUnknown;
  std::string out = fmt::format("{} B per token in 16 bit", c.kv_bytes_per_token());
  if (c.context_length < 0) return out;
  return out + fmt::format("; {} at the full context", format_mb(full_context_bytes(c)));
}

std::string info_text(const Checkpoint& checkpoint, const std::string& fingerprint) {
  const ModelConfig& c = checkpoint.config();
  auto heads = [](const LayerGeometry& g) { return known(g.kv_heads); };
  auto dims = [](const LayerGeometry& g) { return known(g.head_dim); };
  auto windows = [](const LayerGeometry& g) {
    return g.window == 0 ? "global" : known(g.window) + (g.window > 0 ? " tokens" : "");
  };
  std::string out;
  auto line = [&out](std::string_view name, const std::string& value) {
    out += fmt::format("{:<18} {}\n", name, printable(value));
  };
  line("model", known(c.name));
  line("file", fmt::format("{} ({}{})", checkpoint.path().string(), checkpoint.format(),
                           checkpoint.complete() ? "" : ", INCOMPLETE: the file is truncated"));
  line("architecture", architecture_text(checkpoint));
  line("layers", known(c.layers));
  line("hidden size", fmt::format("{}, MLP {}", known(c.hidden), known(c.intermediate)));
  line("query heads", known(c.heads));
  line("KV heads", per_layer(c.kv, heads));
  line("head dimension", per_layer(c.kv, dims));
  line("attention", per_layer(c.kv, windows));
  line("vocabulary", fmt::format("{} tokens, tokenizer {}", known(c.vocab), known(c.tokenizer)));
  line("context", known(c.context_length) + " tokens");
  line("parameters", tensors_text(checkpoint));
  line("KV cache", cache_text(c));
  line("fingerprint", fingerprint.empty() ? "not computed" : fingerprint);
  return out;
}

void add_info(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("info", "What a checkpoint is and what its KV cache costs");
  auto model = std::make_shared<std::string>();
  auto skip = std::make_shared<bool>(false);
  command->add_option("model", *model, "GGUF file or Hugging Face folder")->required();
  command->add_flag("--no-fingerprint", *skip, "Do not read the weights");
  command->callback([&inv, model, skip] {
    inv.run = [&inv, model, skip]() -> Status {
      LAMINA_ASSIGN_OR_RETURN(auto checkpoint, Checkpoint::open(*model));
      std::string fingerprint;
      if (checkpoint->complete() && !*skip) {
        LAMINA_ASSIGN_OR_RETURN(fingerprint, checkpoint->fingerprint(inv.context));
      }
      if (inv.common.json) return print_text(info_json(*checkpoint, fingerprint) + "\n");
      return print_text(info_text(*checkpoint, fingerprint));
    };
  });
}

// ------------------------------------------------------------------------------------------
// tokenize

// A text may have tens of millions of ids, so they are written in parts.
Status print_ids(const std::vector<std::int32_t>& ids, const Invocation& inv) {
  constexpr std::size_t kPart = 65536;
  std::string out = inv.common.json ? "{\"ids\":[" : "";
  for (std::size_t begin = 0; begin < ids.size(); begin += kPart) {
    if (inv.context.stop_requested()) return Status::cancelled();
    const std::size_t end = std::min(ids.size(), begin + kPart);
    fmt::format_to(std::back_inserter(out), "{}{}", begin > 0 ? "," : "",
                   fmt::join(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                             ids.begin() + static_cast<std::ptrdiff_t>(end), ","));
    LAMINA_RETURN_IF_ERROR(print_text(std::exchange(out, {})));
  }
  return print_text(out + (inv.common.json ? "]}\n" : "\n"));
}

void add_tokenize(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("tokenize", "Token ids of a text (no BOS is added)");
  struct Options {
    std::string model, text, file;
    bool special = false, from_file = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("model", o->model, "GGUF file or Hugging Face folder")->required();
  auto* source = command->add_option_group("source");
  source->add_option("--text", o->text, "The text");
  source->add_option("--file", o->file, "A file with the text");
  source->require_option(1);
  command->add_flag("--special", o->special, "Read control tokens written in the text as such");
  command->callback([&inv, o, source] {
    o->from_file = source->count("--file") > 0;
    inv.run = [&inv, o]() -> Status {
      std::string text = o->text;
      if (o->from_file) {
        LAMINA_ASSIGN_OR_RETURN(text, read_text_file(o->file, kMaxTokenizerText));
      }
      LAMINA_ASSIGN_OR_RETURN(auto checkpoint, open_complete(o->model));
      LAMINA_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::make(*checkpoint->tokenizer_data()));
      LAMINA_ASSIGN_OR_RETURN(auto ids, tokenizer->encode(text, o->special, inv.context.stop));
      return print_ids(ids, inv);
    };
  });
}

// -------------------------------------------------------------------------------------------
// forward

std::string token_text(const Model& model, std::int32_t id) {
  if (!model.tokenizer()) return "";
  std::string out = "  ";
  for (unsigned char c : model.tokenizer()->token_bytes(id)) {
    out += c < 0x20 ? fmt::format("\\x{:02x}", c) : std::string(1, static_cast<char>(c));
  }
  return out;
}

void add_forward(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("forward", "The largest logits after a prompt");
  struct Options {
    std::string model, ids;
    int top = 10;
  };
  auto o = std::make_shared<Options>();
  command->add_option("model", o->model, "GGUF file or Hugging Face folder")->required();
  command->add_option("--ids", o->ids, "Token ids: 1,2,3 or @FILE")->required();
  command->add_option("--top", o->top, "How many logits")->check(CLI::Range(1, 1000000));
  command->callback([&inv, o] {
    inv.run = [&inv, o]() -> Status {
      LAMINA_ASSIGN_OR_RETURN(auto ids, parse_ids("--ids", o->ids));
      LAMINA_ASSIGN_OR_RETURN(auto model, Model::load(o->model, inv.context));
      LAMINA_ASSIGN_OR_RETURN(auto result, forward(*model, ids, o->top, inv.context));
      if (inv.common.json) {
        OrderedJson top = OrderedJson::array();
        for (const TokenLogit& t : result.top) top.push_back({{"id", t.id}, {"logit", t.logit}});
        return print_json({{"tokens", result.tokens}, {"top", top}});
      }
      std::string out;
      for (const TokenLogit& t : result.top) {
        out += fmt::format("{:>8} {:>10.4f}{}\n", t.id, t.logit, token_text(*model, t.id));
      }
      return print_text(out);
    };
  });
}

// ------------------------------------------------------------------------------------------
// generate

struct GenerateCommand {
  std::string model, prompt, ids, weights = "float32";
  GenerateOptions options;
  bool special = false;
  bool has_ids = false;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

OrderedJson generate_json(const GenerateResult& result) {
  OrderedJson layers = OrderedJson::array();
  for (const LayerCacheInfo& layer : result.layers) {
    layers.push_back({{"tokens", layer.tokens},
                      {"bytes", layer.bytes},
                      {"k_bits", layer.k_bits},
                      {"v_bits", layer.v_bits}});
  }
  OrderedJson cache = {{"bytes", result.cache_bytes},
                       {"peak", result.cache_peak},
                       {"full_bytes", result.cache_full_bytes},
                       {"layers", layers}};
  return {{"ids", result.ids},
          {"text", result.text},
          {"cache", cache},
          {"prefill_tokens_per_s", result.prefill_tokens_per_s},
          {"decode_ms", result.decode_ms}};
}

Status run_generate(const Invocation& inv, GenerateCommand& o) {
  if (o.weights != "float32") {
    return Status::usage(fmt::format("unknown weight type '{}'", o.weights), "--weights",
                         "use float32");
  }
  LAMINA_ASSIGN_OR_RETURN(auto model, Model::load(o.model, inv.context));
  std::vector<std::int32_t> ids;
  if (o.has_ids) {
    LAMINA_ASSIGN_OR_RETURN(ids, parse_ids("--ids", o.ids));
  } else {
    if (!model->tokenizer()) return model->tokenizer_status();
    LAMINA_ASSIGN_OR_RETURN(ids, model->tokenizer()->encode(o.prompt, o.special, inv.context.stop));
    if (ids.empty()) return empty_prompt("--prompt");
    if (model->config().add_bos && model->config().bos_id >= 0) {
      ids.insert(ids.begin(), model->config().bos_id);
    }
  }
  bool stream = !inv.common.json;
  Status output = Status::ok();
  if (stream) {
    finish_progress();
    if (!o.prompt.empty()) LAMINA_RETURN_IF_ERROR(print_text(o.prompt));
  }
  // Stops with the user's signal or when the text can no longer be written.
  std::stop_source stop;
  std::stop_callback forward_stop(inv.context.stop, [&stop] { stop.request_stop(); });
  JobContext context = inv.context;
  context.stop = stop.get_token();
  if (stream) {
    context.on_progress = nullptr;  // the text itself is the progress
    o.options.on_token = [&](std::int32_t id, const std::string& text) {
      output = print_text(model->tokenizer() ? text : fmt::format("{} ", id));
      if (!output.is_ok()) stop.request_stop();
    };
  }
  auto generated = generate(*model, ids, o.options, context);
  LAMINA_RETURN_IF_ERROR(output);
  LAMINA_ASSIGN_OR_RETURN(auto result, std::move(generated));
  if (inv.common.json) return print_json(generate_json(result));
  LAMINA_RETURN_IF_ERROR(print_text("\n"));
  fmt::print(
      stderr,
      "{} tokens; prefill {:.0f} tokens/s; decode {:.1f} ms per token (median); cache {} held in "
      "float32, {} in 16 bit (actual bytes)\n",
      result.ids.size(), result.prefill_tokens_per_s, median(result.decode_ms),
      format_mb(result.cache_bytes), format_mb(result.cache_full_bytes));
  return Status::ok();
}

void add_generate(CLI::App& app, Invocation& inv) {
  auto* command = app.add_subcommand("generate", "Generate text with the uncompressed cache");
  auto o = std::make_shared<GenerateCommand>();
  command->add_option("model", o->model, "GGUF file or Hugging Face folder")->required();
  auto* source = command->add_option_group("source");
  source->add_option("--prompt", o->prompt, "The prompt as text");
  source->add_option("--ids", o->ids, "The prompt as token ids: 1,2,3 or @FILE");
  source->require_option(1);
  command->add_option("--max-new", o->options.max_new, "New tokens at the most")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  command->add_flag("--special", o->special, "Read control tokens written in the prompt as such");
  command->add_flag("--ignore-eos", o->options.ignore_eos, "Go on after an end token");
  command->add_option("--weights", o->weights, "Weight type: float32");
  Sampling& sampling = o->options.sampling;
  command->add_option("--temperature", sampling.temperature, "0 = greedy (default)")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--top-k", sampling.top_k, "Sample among the k likeliest; 0 = all")
      ->check(CLI::Range(0, 1 << 30));
  command->add_option("--top-p", sampling.top_p, "Sample among the likeliest that add up to p")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", sampling.seed, "Seed of the sampling, 0 to 2^63 - 1")
      ->check(CLI::Range(std::int64_t{0}, INT64_MAX));
  command->callback([&inv, o, source] {
    o->has_ids = source->count("--ids") > 0;
    inv.run = [&inv, o] { return run_generate(inv, *o); };
  });
}

}  // namespace

void add_model_commands(CLI::App& app, Invocation& invocation) {
  add_info(app, invocation);
  add_tokenize(app, invocation);
  add_forward(app, invocation);
  add_generate(app, invocation);
}

}  // namespace lamina::cli
