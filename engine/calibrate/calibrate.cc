// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/calibrate.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/sha256.h"
#include "engine/calibrate/layer_pass.h"
#include "engine/calibrate/prepare.h"
#include "engine/calibrate/prompt_probe.h"
#include "engine/calibrate/query_statistics.h"
#include "engine/calibrate/survivors.h"
#include "engine/model/torch_scope.h"

namespace lamina {
namespace {

using LayerSurvivors = std::vector<std::vector<std::int64_t>>;  // per keep

// What a pass over the probe's layers has in common, whether it measures or lists survivors.
struct Pass {
  const Transformer& transformer;
  SurvivorRule rule;
  std::vector<QueryStatistics> statistics;  // per layer; empty unless the scorer is triattention

  LayerSurvivors survivors(int layer, const LayerQkv& qkv) const {
    return layer_survivors(
        transformer, layer, qkv, rule,
        statistics.empty() ? nullptr : &statistics[static_cast<std::size_t>(layer)]);
  }
};

Result<Pass> begin_pass(const Transformer& transformer, const CalibrationOptions& options,
                        int layers, const JobContext& context) {
  Pass pass{transformer, {options.scorer, options.sinks, options.recent, options.grid.keep}, {}};
  if (options.scorer == "triattention" && layers > 0) {
    LAMINA_ASSIGN_OR_RETURN(pass.statistics,
                            query_statistics(transformer, options.statistics_ids, layers, context));
  }
  return pass;
}

bool is_known(const CalibrationOptions& options, int layer) {
  return !options.known_rows.empty() &&
         !options.known_rows[static_cast<std::size_t>(layer)].empty();
}

// Layers up to the last one that is still to be measured.
int layers_to_run(const CalibrationOptions& options, int layers) {
  while (layers > 0 && is_known(options, layers - 1)) --layers;
  return layers;
}

Provenance provenance(const CalibrationOptions& options) {
  Provenance out;
  out.probe = options.probe;
  out.scorer = options.scorer;
  out.quantizer = options.quantizer;
  out.tokens = static_cast<std::int64_t>(options.ids.size());
  out.token_ids = options.ids;
  if (options.scorer == "triattention") {
    out.statistics_sha256 = sha256_hex(fmt::format("{}", fmt::join(options.statistics_ids, ",")));
  }
  out.version = LAMINA_VERSION;
  out.created = now_utc();
  return out;
}

Status measure(const Transformer& transformer, const CalibrationOptions& options,
               std::vector<std::vector<double>>& values, const JobContext& context) {
  const int layers = transformer.config().layers, to_run = layers_to_run(options, layers);
  LAMINA_ASSIGN_OR_RETURN(const Pass pass, begin_pass(transformer, options, to_run, context));
  StageProgress progress(context, "calibrating", layers, "layers");
  at::Tensor x = transformer.embed(options.ids);
  for (int layer = 0; layer < to_run; ++layer) {
    LAMINA_ASSIGN_OR_RETURN(const LayerQkv qkv, layer_qkv(transformer, layer, x, context));
    LAMINA_RETURN_IF_ERROR(check_finite(qkv, layer));
    if (!is_known(options, layer)) {
      std::vector<double>& row = values[static_cast<std::size_t>(layer)];
      LAMINA_ASSIGN_OR_RETURN(
          row, prompt_sensitivity(transformer, layer, qkv, pass.survivors(layer, qkv), options.grid,
                                  context));
      if (options.on_layer) LAMINA_RETURN_IF_ERROR(options.on_layer(layer, row));
    }
    if (layer + 1 < to_run) {
      LAMINA_ASSIGN_OR_RETURN(x, finish_layer(transformer, layer, x, qkv, context));
    }
    progress.report(layer + 1);
  }
  if (to_run < layers) progress.report(layers);
  return Status::ok();
}

Result<std::vector<LayerSurvivors>> list_survivors(const Transformer& transformer,
                                                   const CalibrationOptions& options,
                                                   const JobContext& context) {
  const int layers = transformer.config().layers;
  LAMINA_ASSIGN_OR_RETURN(const Pass pass, begin_pass(transformer, options, layers, context));
  std::vector<LayerSurvivors> out;
  at::Tensor x = transformer.embed(options.ids);
  for (int layer = 0; layer < layers; ++layer) {
    LAMINA_ASSIGN_OR_RETURN(const LayerQkv qkv, layer_qkv(transformer, layer, x, context));
    LAMINA_RETURN_IF_ERROR(check_finite(qkv, layer));
    out.push_back(pass.survivors(layer, qkv));
    if (layer + 1 == layers) break;
    LAMINA_ASSIGN_OR_RETURN(x, finish_layer(transformer, layer, x, qkv, context));
  }
  return out;
}

// What the largest layer's tensors and the temporary ones take.
Status check_size(const ModelConfig& config, const CalibrationOptions& options) {
  const double prompt = static_cast<double>(options.ids.size());
  double bytes = 0;
  const auto consider = [&](double tokens, double copies) {
    for (const LayerGeometry& kv : config.kv) {
      const double queries = 4.0 * config.heads, keys = (4.0 + copies) * kv.kv_heads;
      const double values = tokens * ((queries + keys) * kv.head_dim + 3.0 * config.hidden);
      bytes = std::max(bytes, values * sizeof(float));
    }
  };
  consider(prompt,
           static_cast<double>(options.grid.k_bits.size() + 3 * options.grid.v_bits.size()));
  if (options.scorer == "triattention")
    consider(static_cast<double>(options.statistics_ids.size()), 0);
  return check_memory(bytes + static_cast<double>(kProbeBlockBytes),
                      "a calibration of this many tokens", "calibration", "use a shorter prompt");
}

}  // namespace

SensitivityTable unmeasured_table(const Model& model, const ModelId& model_id,
                                  const CalibrationOptions& options) {
  SensitivityTable table;
  table.model = model_id;
  table.geometry = {options.t_cache, model.config().kv};
  table.grid = options.grid;
  table.provenance = provenance(options);
  return table;
}

Result<SensitivityTable> calibrate(const Model& model, const ModelId& model_id,
                                   const CalibrationOptions& options, const JobContext& context) {
  return guarded("calibration", [&]() -> Result<SensitivityTable> {
    const ModelConfig& config = model.config();
    LAMINA_RETURN_IF_ERROR(check_calibration(config, options));
    SensitivityTable table = unmeasured_table(model, model_id, options);
    LAMINA_RETURN_IF_ERROR(table.geometry.validate("calibration"));
    LAMINA_RETURN_IF_ERROR(check_size(config, options));
    table.values = options.known_rows;
    table.values.resize(static_cast<std::size_t>(config.layers));
    use_threads(context);
    LAMINA_RETURN_IF_ERROR(measure(model.transformer(), options, table.values, context));
    return table;
  });
}

Result<std::vector<LayerSurvivors>> survivor_sets(const Model& model,
                                                  const CalibrationOptions& options,
                                                  const JobContext& context) {
  return guarded("survivors", [&]() -> Result<std::vector<LayerSurvivors>> {
    LAMINA_RETURN_IF_ERROR(check_calibration(model.config(), options));
    LAMINA_RETURN_IF_ERROR(check_size(model.config(), options));
    use_threads(context);
    return list_survivors(model.transformer(), options, context);
  });
}

}  // namespace lamina
