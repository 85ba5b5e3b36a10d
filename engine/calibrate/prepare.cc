// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/prepare.h"

#include <fmt/format.h>

#include <iterator>

#include "engine/model/torch_scope.h"

namespace lamina {
namespace {

Status check_names(const CalibrationOptions& options) {
  if (options.probe != "prompt") {
    return Status::usage(fmt::format("unknown probe '{}'", options.probe), "--probe", "use prompt");
  }
  if (options.scorer != "streaming" && options.scorer != "keydiff" &&
      options.scorer != "triattention") {
    return Status::usage(fmt::format("unknown scorer '{}'", options.scorer), "--scorer",
                         "use streaming, keydiff or triattention");
  }
  for (const std::string& name : {options.quantizer.k, options.quantizer.v}) {
    if (name != "asym-g32") {
      return Status::usage(fmt::format("unknown quantiser '{}'", name), "--quantizer",
                           "use asym-g32");
    }
  }
  return Status::ok();
}

Status check_numbers(const CalibrationOptions& options) {
  LAMINA_RETURN_IF_ERROR(options.grid.validate("calibration grid"));
  for (const std::vector<int>& axis : {options.grid.k_bits, options.grid.v_bits}) {
    for (const int bits : axis) {
      if (bits > 8 && bits != 16) {
        return Status::usage(fmt::format("asym-g32 has no codes of {} bits", bits),
                             "calibration grid", "use 1 to 8 bits, or 16");
      }
    }
  }
  if (options.sinks < 0 || options.recent < 0) {
    return Status::usage("the number of protected tokens is negative", "calibration",
                         "use 0 or more sinks and recent tokens");
  }
  if (options.t_cache < 1) {
    return Status::usage(fmt::format("a cache of {} tokens", options.t_cache), "--t-cache",
                         "use 1 or more; the checkpoint may name no context length to start from");
  }
  return Status::ok();
}

Status check_known_rows(const ModelConfig& config, const CalibrationOptions& options) {
  if (options.known_rows.empty()) return Status::ok();
  if (options.known_rows.size() != static_cast<std::size_t>(config.layers)) {
    return Status::bad_input(
        fmt::format("{} known rows for {} layers", options.known_rows.size(), config.layers),
        "calibration", "resume with the rows of this model's own table");
  }
  for (std::size_t layer = 0; layer < options.known_rows.size(); ++layer) {
    const std::size_t values = options.known_rows[layer].size();
    if (values != 0 && values != static_cast<std::size_t>(options.grid.size())) {
      return Status::bad_input(
          fmt::format("a known row of {} values for {} recipes", values, options.grid.size()),
          fmt::format("layer {}", layer), "resume with the grid that the rows were measured on");
    }
  }
  return Status::ok();
}

// A built-in text as the model would be prompted with it: behind BOS where the checkpoint asks for
// one, cut to the context length.
Result<std::vector<std::int32_t>> text_ids(const Model& model, const std::string& text) {
  const ModelConfig& config = model.config();
  if (!model.tokenizer()) {
    const Status why = model.tokenizer_status();
    return Status::bad_input("the built-in text needs a tokenizer: " + why.what(), why.where(),
                             "give token ids instead");
  }
  LAMINA_ASSIGN_OR_RETURN(std::vector<std::int32_t> ids, model.tokenizer()->encode(text, false));
  if (config.add_bos && config.bos_id >= 0) ids.insert(ids.begin(), config.bos_id);
  if (config.context_length > 0 && std::ssize(ids) > config.context_length) {
    ids.resize(static_cast<std::size_t>(config.context_length));
  }
  return ids;
}

}  // namespace

Status check_calibration(const ModelConfig& config, const CalibrationOptions& options) {
  LAMINA_RETURN_IF_ERROR(check_names(options));
  LAMINA_RETURN_IF_ERROR(check_numbers(options));
  LAMINA_RETURN_IF_ERROR(check_known_rows(config, options));
  LAMINA_RETURN_IF_ERROR(check_ids(config, options.ids));
  if (options.scorer != "triattention") return Status::ok();
  return check_ids(config, options.statistics_ids);
}

Status prepare_calibration(const Model& model, CalibrationOptions& options) {
  return guarded("calibration", [&]() -> Status {
    LAMINA_RETURN_IF_ERROR(check_names(options));
    if (options.ids.empty()) {
      LAMINA_ASSIGN_OR_RETURN(options.ids, text_ids(model, default_probe_text()));
    }
    if (options.statistics_ids.empty() && options.scorer == "triattention") {
      LAMINA_ASSIGN_OR_RETURN(options.statistics_ids, text_ids(model, default_statistics_text()));
    }
    if (options.t_cache == 0) options.t_cache = model.config().context_length;
    return check_calibration(model.config(), options);
  });
}

}  // namespace lamina
