// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <tuple>

#include "engine/base/file.h"
#include "engine/table/json_fields.h"

namespace lamina {
namespace {

constexpr const char* kWriteAnew = "the plan is damaged: solve it anew";

constexpr const char* kFormat = "lamina-plan";
constexpr int kVersion = 1;

Result<std::vector<LayerConfig>> read_layers(const Json& root, std::int64_t expected,
                                             const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* list, json_member(root, "layers", where));
  if (!list->is_array()) return Status::bad_input("'layers' must be a list", where, kWriteAnew);
  if (list->size() != static_cast<std::size_t>(expected)) {
    return Status::bad_input(
        fmt::format("the plan lists {} layers, its model has {}", list->size(), expected), where,
        "one entry a layer is expected");
  }
  std::vector<LayerConfig> layers;
  for (std::size_t l = 0; l < list->size(); ++l) {
    const std::string place = fmt::format("{}: layer {}", where, l);
    LayerConfig config;
    LAMINA_ASSIGN_OR_RETURN(config.keep, json_number((*list)[l], "keep", place));
    LAMINA_ASSIGN_OR_RETURN(std::int64_t k_bits, json_int((*list)[l], "k_bits", place, 1, 16));
    LAMINA_ASSIGN_OR_RETURN(std::int64_t v_bits, json_int((*list)[l], "v_bits", place, 1, 16));
    config.k_bits = static_cast<int>(k_bits);
    config.v_bits = static_cast<int>(v_bits);
    layers.push_back(config);
  }
  return layers;
}

Status read_model(const Json& root, const std::string& where, Plan& plan, std::int64_t& layers) {
  LAMINA_ASSIGN_OR_RETURN(const Json* model, json_member(root, "model", where));
  const std::string place = where + ": model";
  LAMINA_ASSIGN_OR_RETURN(layers, json_int(*model, "layers", place, 1, kMaxLayers));
  LAMINA_ASSIGN_OR_RETURN(plan.geometry.layers,
                          layer_geometry_from_json(*model, static_cast<int>(layers), place));
  for (const char* key : {"name", "architecture", "fingerprint"}) {
    LAMINA_RETURN_IF_ERROR(json_string(*model, key, place).status());
  }
  LAMINA_ASSIGN_OR_RETURN(plan.model, model_id_from_json(*model, place));
  return Status::ok();
}

Status read_cache(const Json& root, const std::string& where, Plan& plan) {
  LAMINA_ASSIGN_OR_RETURN(const Json* cache, json_member(root, "cache", where));
  const std::string place = where + ": cache";
  LAMINA_ASSIGN_OR_RETURN(plan.geometry.t_cache, json_int(*cache, "t_cache", place, 1, kMaxTokens));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t sinks, json_int(*cache, "sinks", place, 0, INT32_MAX));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t recent, json_int(*cache, "recent", place, 0, INT32_MAX));
  LAMINA_ASSIGN_OR_RETURN(std::int64_t every, json_int(*cache, "evict_every", place, 1, INT32_MAX));
  plan.sinks = static_cast<int>(sinks);
  plan.recent = static_cast<int>(recent);
  plan.evict_every = static_cast<int>(every);
  LAMINA_ASSIGN_OR_RETURN(plan.scorer, json_string(*cache, "scorer", place));
  LAMINA_ASSIGN_OR_RETURN(plan.survivors, survivors_from_json(*cache, place));
  LAMINA_ASSIGN_OR_RETURN(const Json* quantizer, json_member(*cache, "quantizer", place));
  LAMINA_ASSIGN_OR_RETURN(plan.quantizer, quantizer_from_json(*quantizer, place));
  return Status::ok();
}

Result<double> read_amount(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(double value, json_number(object, key, where));
  if (value < 0) return Status::bad_input(fmt::format("'{}' is negative", key), where, kWriteAnew);
  return value;
}

Result<PlanBudget> read_budget(const Json& object, const std::string& where) {
  PlanBudget budget;
  LAMINA_ASSIGN_OR_RETURN(budget.bytes, json_int(object, "bytes", where, 0, INT64_MAX));
  LAMINA_ASSIGN_OR_RETURN(std::string kind, json_string(object, "kind", where));
  Result<BytesKind> known = parse_bytes_kind(kind);
  if (!known) return Status::bad_input(known.status().what(), where, known.status().advice());
  budget.kind = *known;
  LAMINA_ASSIGN_OR_RETURN(budget.used, read_amount(object, "used", where));
  LAMINA_ASSIGN_OR_RETURN(budget.full, read_amount(object, "full", where));
  LAMINA_ASSIGN_OR_RETURN(budget.peak, json_int(object, "peak", where, 0, INT64_MAX));
  return budget;
}

Result<PlanSolver> read_solver(const Json& object, const std::string& where) {
  PlanSolver solver;
  LAMINA_ASSIGN_OR_RETURN(solver.method, json_string(object, "method", where));
  LAMINA_ASSIGN_OR_RETURN(solver.objective, json_string(object, "objective", where));
  LAMINA_ASSIGN_OR_RETURN(solver.predicted, json_number(object, "predicted", where));
  if (object.contains("lower_bound") && !object["lower_bound"].is_null()) {
    LAMINA_ASSIGN_OR_RETURN(solver.lower_bound, json_number(object, "lower_bound", where));
  }
  return solver;
}

Result<PlanCalibration> read_calibration(const Json& object, const std::string& where) {
  PlanCalibration calibration;
  LAMINA_ASSIGN_OR_RETURN(calibration.probe, json_string(object, "probe", where));
  LAMINA_ASSIGN_OR_RETURN(calibration.tokens, json_int(object, "T", where, 0, kMaxTokens));
  LAMINA_RETURN_IF_ERROR(json_member(object, "table_sha256", where).status());
  LAMINA_ASSIGN_OR_RETURN(calibration.table_sha256,
                          sha256_from_json(object, "table_sha256", where));
  return calibration;
}

Result<PlanValidation> read_validation(const Json& object, const std::string& where) {
  PlanValidation validation;
  LAMINA_ASSIGN_OR_RETURN(validation.kl, json_number(object, "kl", where));
  LAMINA_ASSIGN_OR_RETURN(const Json* interval, json_member(object, "interval", where));
  if (!interval->is_array() || interval->size() != 2) {
    return Status::bad_input("'interval' must be a list of two numbers", where, kWriteAnew);
  }
  LAMINA_ASSIGN_OR_RETURN(validation.interval_low, json_to_number((*interval)[0], where));
  LAMINA_ASSIGN_OR_RETURN(validation.interval_high, json_to_number((*interval)[1], where));
  LAMINA_ASSIGN_OR_RETURN(validation.n, json_int(object, "n", where, 0, INT64_MAX));
  return validation;
}

// The optional member `key` of the plan, read by `read`.
template <class T, class Reader>
Status read_optional(const Json& root, const char* key, const std::string& where,
                     const Reader& read, std::optional<T>& out) {
  if (!root.contains(key)) return Status::ok();
  Result<T> value = read(root[key], fmt::format("{}: {}", where, key));
  if (!value) return value.status();
  out = *value;
  return Status::ok();
}

Result<Plan> from_json(const Json& root, const std::string& where) {
  LAMINA_RETURN_IF_ERROR(check_format(root, kFormat, kVersion, where));
  Plan plan;
  std::int64_t layers = 0;
  LAMINA_RETURN_IF_ERROR(read_model(root, where, plan, layers));
  LAMINA_RETURN_IF_ERROR(read_cache(root, where, plan));
  LAMINA_ASSIGN_OR_RETURN(plan.layers, read_layers(root, layers, where));
  LAMINA_RETURN_IF_ERROR(read_optional(root, "grid", where, grid_from_json, plan.grid));
  LAMINA_RETURN_IF_ERROR(read_optional(root, "budget", where, read_budget, plan.budget));
  LAMINA_RETURN_IF_ERROR(read_optional(root, "solver", where, read_solver, plan.solver));
  LAMINA_RETURN_IF_ERROR(
      read_optional(root, "calibration", where, read_calibration, plan.calibration));
  LAMINA_RETURN_IF_ERROR(
      read_optional(root, "validation", where, read_validation, plan.validation));
  LAMINA_RETURN_IF_ERROR(plan.validate(where));
  return plan;
}

OrderedJson write_model(const Plan& plan) {
  OrderedJson out = OrderedJson::object();
  model_id_to_json(plan.model, out);
  out["layers"] = plan.geometry.layers.size();
  layer_geometry_to_json(plan.geometry.layers, out);
  return out;
}

OrderedJson write_cache(const Plan& plan) {
  OrderedJson out = OrderedJson::object();
  out["t_cache"] = plan.geometry.t_cache;
  out["sinks"] = plan.sinks;
  out["recent"] = plan.recent;
  out["evict_every"] = plan.evict_every;
  out["scorer"] = plan.scorer;
  out["survivors"] = std::string(to_string(plan.survivors));
  out["quantizer"] = quantizer_to_json(plan.quantizer);
  return out;
}

OrderedJson write_layers(const std::vector<LayerConfig>& layers) {
  OrderedJson out = OrderedJson::array();
  for (const LayerConfig& config : layers) {
    OrderedJson item = OrderedJson::object();
    item["keep"] = config.keep;
    item["k_bits"] = config.k_bits;
    item["v_bits"] = config.v_bits;
    out.push_back(std::move(item));
  }
  return out;
}

void write_optional_members(const Plan& plan, OrderedJson& root) {
  if (plan.grid) root["grid"] = grid_to_json(*plan.grid);
  if (plan.budget) {
    OrderedJson& budget = root["budget"] = OrderedJson::object();
    budget["bytes"] = plan.budget->bytes;
    budget["kind"] = std::string(to_string(plan.budget->kind));
    budget["used"] = plan.budget->used;
    budget["full"] = plan.budget->full;
    budget["peak"] = plan.budget->peak;
  }
  if (plan.solver) {
    OrderedJson& solver = root["solver"] = OrderedJson::object();
    solver["method"] = plan.solver->method;
    solver["objective"] = plan.solver->objective;
    solver["predicted"] = plan.solver->predicted;
    if (plan.solver->lower_bound) solver["lower_bound"] = *plan.solver->lower_bound;
  }
  if (plan.calibration) {
    OrderedJson& calibration = root["calibration"] = OrderedJson::object();
    calibration["probe"] = plan.calibration->probe;
    calibration["T"] = plan.calibration->tokens;
    calibration["table_sha256"] = plan.calibration->table_sha256;
  }
  if (plan.validation) {
    OrderedJson& validation = root["validation"] = OrderedJson::object();
    validation["kl"] = plan.validation->kl;
    validation["interval"] = {plan.validation->interval_low, plan.validation->interval_high};
    validation["n"] = plan.validation->n;
  }
}

Status check_layer(const Plan& plan, std::size_t layer, const std::string& where) {
  const LayerConfig& config = plan.layers[layer];
  const std::string place = fmt::format("{}: layer {}", where, layer);
  if (!(config.keep > 0 && config.keep <= 1)) {
    return Status::bad_input(fmt::format("keep is {}", config.keep), place,
                             "it lies above 0 and up to 1");
  }
  for (int bits : {config.k_bits, config.v_bits}) {
    if (bits < 1 || bits > 16) {
      return Status::bad_input(fmt::format("{} bits", bits), place, "bits lie from 1 to 16");
    }
  }
  if (plan.grid && plan.grid->find(config) < 0) {
    return Status::bad_input(fmt::format("{} is not on the plan's grid", to_string(config)), place,
                             "solve again, or correct the grid");
  }
  return Status::ok();
}

}  // namespace

int Plan::distinct_configs() const {
  std::set<std::tuple<double, int, int>> seen;
  for (const LayerConfig& c : layers) seen.emplace(c.keep, c.k_bits, c.v_bits);
  return static_cast<int>(seen.size());
}

Status Plan::validate(const std::string& where) const {
  LAMINA_RETURN_IF_ERROR(geometry.validate(where));
  if (layers.size() != geometry.layers.size()) {
    return Status::bad_input(fmt::format("the plan lists {} layers, its model has {}",
                                         layers.size(), geometry.layers.size()),
                             where, "one entry a layer is expected");
  }
  if (sinks < 0 || recent < 0 || evict_every < 1) {
    return Status::bad_input(
        fmt::format("sinks {}, recent {}, evict_every {}", sinks, recent, evict_every), where,
        "sinks and recent are at least 0, evict_every at least 1");
  }
  if (scorer.empty() || quantizer.k.empty() || quantizer.v.empty()) {
    return Status::bad_input("the plan names no scorer or no quantiser", where, kWriteAnew);
  }
  if (grid) LAMINA_RETURN_IF_ERROR(grid->validate(where));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    LAMINA_RETURN_IF_ERROR(check_layer(*this, l, where));
  }
  return Status::ok();
}

Result<Plan> read_plan(const std::filesystem::path& path) {
  LAMINA_ASSIGN_OR_RETURN(Json root, read_json_file(path, kMaxDocumentBytes));
  return from_json(root, path.string());
}

Result<Plan> plan_from_json(const std::string& text, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(Json root, parse_json(text, where));
  return from_json(root, where);
}

std::string plan_to_json(const Plan& plan) {
  OrderedJson root = OrderedJson::object();
  root["format"] = kFormat;
  root["version"] = kVersion;
  root["model"] = write_model(plan);
  root["cache"] = write_cache(plan);
  root["layers"] = write_layers(plan.layers);
  write_optional_members(plan, root);
  return dump_document(root);
}

Status write_plan(const Plan& plan, const std::filesystem::path& path) {
  LAMINA_RETURN_IF_ERROR(plan.validate(path.string()));
  return write_text_file(path, plan_to_json(plan));
}

Status check_plan_for_model(const Plan& plan, const ModelId& model, int layers) {
  if (!plan.model.fingerprint.empty() && plan.model.fingerprint != model.fingerprint) {
    return Status::bad_input(fmt::format("the plan belongs to '{}' ({}), not to '{}' ({})",
                                         plan.model.name, plan.model.fingerprint.substr(0, 12),
                                         model.name, model.fingerprint.substr(0, 12)),
                             "plan", "solve a plan for this model, or open the other one");
  }
  if (plan.layers.size() != static_cast<std::size_t>(layers)) {
    return Status::bad_input(fmt::format("the plan for '{}' has {} layers, '{}' has {}",
                                         plan.model.name, plan.layers.size(), model.name, layers),
                             "plan", "solve a plan for this model, or open the other one");
  }
  return Status::ok();
}

}  // namespace lamina
