// SPDX-License-Identifier: Apache-2.0
// calibrate
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/cli/common.h"
#include "engine/base/file.h"
#include "engine/calibrate/job.h"
#include "engine/project/project.h"

namespace lamina::cli {
namespace {

struct CalibrateCommand {
  std::string model, project, table_out, ids, text_file, stats_ids, quantizer, survivors = "shared";
  bool has_ids = false, has_stats_ids = false, has_table_out = false;
  CalibrationOptions options;
};

std::string table_summary(const SensitivityTable& table) {
  std::string out =
      fmt::format("{:>5}  {:>8} {:>8} {:>8} {:>8}   relative error S of the attention output\n",
                  "layer", "cheapest", "K4", "V4", "evicted");
  const ConfigGrid& grid = table.grid;
  int full = grid.full_index();
  int kf = grid.k_i(full), vf = grid.v_i(full), ef = grid.keep_i(full);
  for (int l = 0; l < table.layers(); ++l) {
    const auto& row = table.values[l];
    out += fmt::format("{:>5}  {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f}\n", l, row[0],
                       row[grid.index(ef, 0, vf)], row[grid.index(ef, kf, 0)],
                       row[grid.index(0, kf, vf)]);
  }
  return out + fmt::format("cheapest = {}; K4, V4, evicted = only that axis at its cheapest\n",
                           to_string(grid.at(0)));
}

// "Q" for both, or "k=Q,v=Q" in any order.
Result<QuantizerNames> parse_quantizer(const std::string& text) {
  QuantizerNames names;
  if (text.find('=') == std::string::npos) return QuantizerNames{text, text};
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    if (part.rfind("k=", 0) == 0) {
      names.k = part.substr(2);
    } else if (part.rfind("v=", 0) == 0) {
      names.v = part.substr(2);
    } else {
      return Status::usage(fmt::format("'{}' is not a quantiser", text), "--quantizer",
                           "write asym-g32 or k=asym-g32,v=asym-g32");
    }
    begin = end + 1;
  }
  return names;
}

// Fills the probe's ids and the statistics' ids from the command's options.
Status take_ids(const Model& model, const JobContext& context, CalibrateCommand& o) {
  if (o.has_ids) {
    LAMINA_ASSIGN_OR_RETURN(o.options.ids, parse_ids("--ids", o.ids));
  } else if (!o.text_file.empty()) {
    if (!model.tokenizer()) return model.tokenizer_status();
    LAMINA_ASSIGN_OR_RETURN(std::string text, read_text_file(o.text_file, kMaxTokenizerText));
    LAMINA_ASSIGN_OR_RETURN(o.options.ids, model.tokenizer()->encode(text, false, context.stop));
  }
  if (o.has_stats_ids) {
    LAMINA_ASSIGN_OR_RETURN(o.options.statistics_ids, parse_ids("--stats-ids", o.stats_ids));
  }
  // An empty list in the options would ask for the built-in text.
  const bool own_text = o.has_ids || !o.text_file.empty();
  if (own_text && o.options.ids.empty()) return empty_prompt(o.has_ids ? "--ids" : "--text-file");
  if (o.has_stats_ids && o.options.statistics_ids.empty()) return empty_prompt("--stats-ids");
  return Status::ok();
}

Status run_calibrate(const Invocation& inv, CalibrateCommand& o) {
  if (!o.quantizer.empty()) {
    LAMINA_ASSIGN_OR_RETURN(o.options.quantizer, parse_quantizer(o.quantizer));
  }
  const auto survivors = parse_survivor_mode(o.survivors);
  if (!survivors) return at_option(survivors.status(), "--survivors");
  if (*survivors != SurvivorMode::kShared) {
    return Status::usage("survivor sets per KV head are not available yet", "--survivors",
                         "use shared");
  }
  if (o.has_table_out) {
    LAMINA_RETURN_IF_ERROR(check_output("--table-out", o.table_out, {o.project, o.model}));
  }
  LAMINA_ASSIGN_OR_RETURN(auto checkpoint, open_complete(o.model));
  // A project that cannot be used is refused before the long work.
  std::error_code error;
  if (std::filesystem::exists(o.project, error)) {
    LAMINA_RETURN_IF_ERROR(Project::open_or_create(o.project, inv.context.stop).status());
  }
  LAMINA_ASSIGN_OR_RETURN(ModelId id, checkpoint->model_id(inv.context));
  LAMINA_ASSIGN_OR_RETURN(auto model, Model::load(checkpoint, inv.context));
  LAMINA_RETURN_IF_ERROR(take_ids(*model, inv.context, o));
  LAMINA_ASSIGN_OR_RETURN(
      auto job,
      calibrate_into_project(*model, id, o.options, std::filesystem::path(o.project), inv.context));
  if (!o.table_out.empty()) LAMINA_RETURN_IF_ERROR(write_table(job.table, o.table_out));
  if (inv.common.json) {
    return print_json({{"project", o.project},
                       {"table_id", job.table_id},
                       {"layers", job.table.layers()},
                       {"configs", job.table.grid.size()},
                       {"resumed_layers", job.resumed_layers},
                       {"values", job.table.values},
                       {"table_sha256", table_sha256(job.table)},
                       {"seconds", job.seconds}});
  }
  std::string out = table_summary(job.table);
  if (job.resumed_layers > 0) {
    out += fmt::format("{} layers were taken over from an interrupted calibration\n",
                       job.resumed_layers);
  }
  return print_text(out + fmt::format("stored in {}\n", o.project));
}

}  // namespace

void add_calibrate_command(CLI::App& app, Invocation& inv) {
  auto* command =
      app.add_subcommand("calibrate", "Measure every layer's sensitivity to every recipe");
  auto o = std::make_shared<CalibrateCommand>();
  command->add_option("model", o->model, "GGUF file or Hugging Face folder")->required();
  command->add_option("--project", o->project, "Project file (*.lamina), made where it is missing")
      ->required();
  command->add_option("--scorer", o->options.scorer,
                      "streaming, keydiff or triattention (default)");
  command->add_option("--probe", o->options.probe, "prompt (default)");
  command->add_option("--quantizer", o->quantizer, "asym-g32 (default), or k=Q,v=Q");
  command->add_option("--survivors", o->survivors, "shared (default): one set per layer");
  auto* ids = command->add_option("--ids", o->ids, "The probe's token ids: 1,2,3 or @FILE");
  command->add_option("--text-file", o->text_file, "A file with the probe's text")->excludes(ids);
  command->add_option("--stats-ids", o->stats_ids,
                      "Token ids of the text for the scorer's statistics");
  command
      ->add_option("--t-cache", o->options.t_cache,
                   "Tokens the cache is sized for; default the model's context")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--table-out", o->table_out, "Also write the table as JSON");
  command->callback([&inv, o, command] {
    o->has_ids = command->count("--ids") > 0;
    o->has_stats_ids = command->count("--stats-ids") > 0;
    o->has_table_out = command->count("--table-out") > 0;
    inv.run = [&inv, o] { return run_calibrate(inv, *o); };
  });
}
}  // namespace lamina::cli
