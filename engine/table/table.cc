// SPDX-License-Identifier: Apache-2.0
#include "engine/table/table.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/base/file.h"
#include "engine/base/sha256.h"
#include "engine/table/json_fields.h"

namespace lamina {
namespace {

constexpr const char* kFormat = "lamina-table";
constexpr int kVersion = 1;
constexpr std::int64_t kMaxCellBytes = std::int64_t{1} << 50;  // 4096 layers of it fit 64 bits

constexpr const char* kSensitivity = "sensitivity";

Status bad_cell(const ConfigGrid& grid, const char* name, std::size_t layer, std::size_t config,
                const std::string& found, const std::string& where) {
  return Status::bad_input(
      fmt::format("the {} of layer {}, configuration {} ({}) is {}", name, layer, config,
                  to_string(grid.at(static_cast<int>(config))), found),
      where, "a finite number of at least 0 is expected; calibrate again");
}

Status bad_bytes(const ConfigGrid& grid, std::size_t layer, std::size_t config,
                 const std::string& found, const std::string& where) {
  return Status::bad_input(fmt::format("the bytes of layer {}, configuration {} ({}) are {}", layer,
                                       config, to_string(grid.at(static_cast<int>(config))), found),
                           where,
                           fmt::format("a whole number from 1 to {} is expected", kMaxCellBytes));
}

Status wrong_shape(const std::string& what, const std::string& where) {
  return Status::bad_input(what, where,
                           "one row a layer and one value a configuration are expected");
}

// root[key]: one list a layer, one number a configuration.
Result<std::vector<std::vector<double>>> read_cells(const Json& root, const char* key,
                                                    const char* name, const SensitivityTable& table,
                                                    const std::string& where) {
  const Json& rows = root[key];
  const std::size_t layers = table.geometry.layers.size();
  const std::size_t configs = static_cast<std::size_t>(table.grid.size());
  if (!rows.is_array() || rows.size() != layers) {
    return wrong_shape(fmt::format("'{}' has {} rows for {} layers", key, rows.size(), layers),
                       where);
  }
  std::vector<std::vector<double>> cells;
  for (std::size_t l = 0; l < layers; ++l) {
    const Json& row = rows[l];
    if (!row.is_array() || row.size() != configs) {
      return wrong_shape(fmt::format("row {} of '{}' has {} values for {} configurations", l, key,
                                     row.size(), configs),
                         where);
    }
    std::vector<double>& out = cells.emplace_back();
    out.reserve(configs);
    for (std::size_t c = 0; c < configs; ++c) {
      if (!row[c].is_number()) return bad_cell(table.grid, name, l, c, row[c].type_name(), where);
      out.push_back(row[c].get<double>());
    }
  }
  return cells;
}

// An optional list of cells and where the table keeps it.
struct CellList {
  const char* key;
  const char* name;
  std::vector<std::vector<double>> SensitivityTable::*member;
};
constexpr CellList kOptionalCells[] = {
    {"stderr", "standard error", &SensitivityTable::value_errors},
    {"propagated", "propagated error", &SensitivityTable::propagated},
    {"kl", "KL", &SensitivityTable::kl},
    {"kl_stderr", "standard error of the KL", &SensitivityTable::kl_errors},
};

Status read_optional(const Json& root, const std::string& where, SensitivityTable& table) {
  for (const CellList& list : kOptionalCells) {
    if (!root.contains(list.key)) continue;
    LAMINA_ASSIGN_OR_RETURN(table.*list.member,
                            read_cells(root, list.key, list.name, table, where));
  }
  if (root.contains("weights")) {
    if (!root["weights"].is_array() || root["weights"].empty()) {
      return wrong_shape("'weights' must be a list of one number a layer", where);
    }
    for (const Json& weight : root["weights"]) {
      LAMINA_ASSIGN_OR_RETURN(double value, json_to_number(weight, where + ": weights"));
      table.weights.push_back(value);
    }
  }
  if (root.contains("bytes")) {
    LAMINA_ASSIGN_OR_RETURN(auto cells, read_cells(root, "bytes", "bytes", table, where));
    for (std::size_t l = 0; l < cells.size(); ++l) {
      std::vector<std::int64_t>& out = table.bytes.emplace_back();
      for (std::size_t c = 0; c < cells[l].size(); ++c) {
        if (!(cells[l][c] >= 1 && cells[l][c] <= kMaxCellBytes) ||
            cells[l][c] != std::floor(cells[l][c])) {
          return bad_bytes(table.grid, l, c, fmt::format("{}", cells[l][c]), where);
        }
        out.push_back(static_cast<std::int64_t>(cells[l][c]));
      }
    }
  }
  return Status::ok();
}

Result<Provenance> read_provenance(const Json& object, const std::string& where) {
  const std::string place = where + ": provenance";
  if (!object.is_object())
    return Status::bad_input("a JSON object was expected", place, "write {...}");
  Provenance p;
  LAMINA_ASSIGN_OR_RETURN(p.probe, json_string_or(object, "probe", "", place));
  LAMINA_ASSIGN_OR_RETURN(p.scorer, json_string_or(object, "scorer", "", place));
  if (object.contains("quantizer")) {
    LAMINA_ASSIGN_OR_RETURN(p.quantizer, quantizer_from_json(object["quantizer"], place));
  }
  LAMINA_ASSIGN_OR_RETURN(p.survivors, survivors_from_json(object, place));
  LAMINA_ASSIGN_OR_RETURN(p.tokens, json_int_or(object, "T", 0, place, 0, kMaxTokens));
  LAMINA_ASSIGN_OR_RETURN(p.window_tokens, json_int_or(object, "W", 0, place, 0, kMaxTokens));
  if (object.contains("token_ids")) {
    if (!object["token_ids"].is_array()) {
      return Status::bad_input("'token_ids' must be a list", place, "write [...]");
    }
    for (const Json& id : object["token_ids"]) {
      LAMINA_ASSIGN_OR_RETURN(std::int64_t value,
                              json_to_int(id, place + ": token_ids", 0, INT32_MAX));
      p.token_ids.push_back(static_cast<std::int32_t>(value));
    }
  }
  LAMINA_ASSIGN_OR_RETURN(p.statistics_sha256,
                          json_string_or(object, "statistics_sha256", "", place));
  if (object.contains("seed")) {
    if (!object["seed"].is_number_unsigned()) {
      return Status::bad_input("'seed' must be a whole number of at least 0", place,
                               "calibrate again");
    }
    p.seed = object["seed"].get<std::uint64_t>();
  }
  LAMINA_ASSIGN_OR_RETURN(p.version, json_string_or(object, "version", "", place));
  LAMINA_ASSIGN_OR_RETURN(p.created, json_string_or(object, "created", "", place));
  return p;
}

OrderedJson write_provenance(const Provenance& p) {
  OrderedJson out = OrderedJson::object();
  out["probe"] = p.probe;
  out["scorer"] = p.scorer;
  out["quantizer"] = quantizer_to_json(p.quantizer);
  out["survivors"] = std::string(to_string(p.survivors));
  out["T"] = p.tokens;
  out["W"] = p.window_tokens;
  out["token_ids"] = p.token_ids;
  out["statistics_sha256"] = p.statistics_sha256;
  out["seed"] = p.seed;
  out["version"] = p.version;
  out["created"] = p.created;
  return out;
}

// All but the values.
Result<SensitivityTable> head_from_json(const Json& root, const std::string& where) {
  LAMINA_RETURN_IF_ERROR(check_format(root, kFormat, kVersion, where));
  SensitivityTable table;
  LAMINA_ASSIGN_OR_RETURN(std::int64_t layers, json_int(root, "layers", where, 1, kMaxLayers));
  LAMINA_ASSIGN_OR_RETURN(const Json* geometry, json_member(root, "geometry", where));
  const std::string place = where + ": geometry";
  LAMINA_ASSIGN_OR_RETURN(table.geometry.t_cache,
                          json_int(*geometry, "t_cache", place, 1, kMaxTokens));
  LAMINA_ASSIGN_OR_RETURN(table.geometry.layers,
                          layer_geometry_from_json(*geometry, static_cast<int>(layers), place));
  LAMINA_ASSIGN_OR_RETURN(const Json* grid, json_member(root, "grid", where));
  LAMINA_ASSIGN_OR_RETURN(table.grid, grid_from_json(*grid, where));
  if (root.contains("model")) {
    LAMINA_ASSIGN_OR_RETURN(table.model, model_id_from_json(root["model"], where + ": model"));
  }
  if (root.contains("provenance")) {
    LAMINA_ASSIGN_OR_RETURN(table.provenance, read_provenance(root["provenance"], where));
  }
  LAMINA_RETURN_IF_ERROR(table.geometry.validate(where));
  return table;
}

Result<SensitivityTable> from_json(const Json& root, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(SensitivityTable table, head_from_json(root, where));
  LAMINA_RETURN_IF_ERROR(json_member(root, "values", where).status());
  LAMINA_ASSIGN_OR_RETURN(table.values, read_cells(root, "values", kSensitivity, table, where));
  LAMINA_RETURN_IF_ERROR(read_optional(root, where, table));
  LAMINA_RETURN_IF_ERROR(table.validate(where));
  return table;
}

// The lists beside the values: there for all layers and recipes or not at all.
Status check_optional(const SensitivityTable& table, const std::string& where) {
  const std::size_t configs = static_cast<std::size_t>(table.grid.size());
  auto check_shape = [&](const auto& rows, const char* key) {
    bool fits = rows.empty() || rows.size() == table.values.size();
    for (const auto& row : rows) fits = fits && row.size() == configs;
    return fits ? Status::ok() : wrong_shape(fmt::format("'{}' has another shape", key), where);
  };
  for (const CellList& list : kOptionalCells) {
    const auto& rows = table.*list.member;
    LAMINA_RETURN_IF_ERROR(check_shape(rows, list.key));
    for (std::size_t l = 0; l < rows.size(); ++l) {
      for (std::size_t c = 0; c < configs; ++c) {
        if (!std::isfinite(rows[l][c]) || rows[l][c] < 0) {
          return bad_cell(table.grid, list.name, l, c, fmt::format("{}", rows[l][c]), where);
        }
      }
    }
  }
  LAMINA_RETURN_IF_ERROR(check_shape(table.bytes, "bytes"));
  for (std::size_t l = 0; l < table.bytes.size(); ++l) {
    for (std::size_t c = 0; c < configs; ++c) {
      if (table.bytes[l][c] < 1 || table.bytes[l][c] > kMaxCellBytes) {
        return bad_bytes(table.grid, l, c, fmt::format("{}", table.bytes[l][c]), where);
      }
    }
  }
  if (!table.weights.empty() && table.weights.size() != table.values.size()) {
    return wrong_shape(fmt::format("'weights' has {} numbers for {} layers", table.weights.size(),
                                   table.values.size()),
                       where);
  }
  for (std::size_t l = 0; l < table.weights.size(); ++l) {
    if (!std::isfinite(table.weights[l]) || table.weights[l] < 0) {
      return Status::bad_input(fmt::format("the weight of layer {} is {}", l, table.weights[l]),
                               where, "a finite number of at least 0 is expected");
    }
  }
  return Status::ok();
}

}  // namespace

Status SensitivityTable::check_row(int layer, const std::vector<double>& row,
                                   const std::string& where) const {
  if (layer < 0 || static_cast<std::size_t>(layer) >= geometry.layers.size()) {
    return wrong_shape(fmt::format("there is no layer {} among {}", layer, geometry.layers.size()),
                       where);
  }
  if (row.size() != static_cast<std::size_t>(grid.size())) {
    return wrong_shape(
        fmt::format("layer {} has {} values for {} configurations", layer, row.size(), grid.size()),
        where);
  }
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (!std::isfinite(row[c]) || row[c] < 0) {
      return bad_cell(grid, kSensitivity, static_cast<std::size_t>(layer), c,
                      fmt::format("{}", row[c]), where);
    }
  }
  return Status::ok();
}

Status SensitivityTable::validate(const std::string& where) const {
  LAMINA_RETURN_IF_ERROR(geometry.validate(where));
  LAMINA_RETURN_IF_ERROR(grid.validate(where));
  if (values.size() != geometry.layers.size()) {
    return wrong_shape(
        fmt::format("the table has {} rows for {} layers", values.size(), geometry.layers.size()),
        where);
  }
  for (int l = 0; l < layers(); ++l) {
    LAMINA_RETURN_IF_ERROR(check_row(l, values[static_cast<std::size_t>(l)], where));
  }
  return check_optional(*this, where);
}

StorageOptions SensitivityTable::storage() const {
  StorageOptions options;
  if (provenance) {
    options.quantizer = provenance->quantizer;
    options.survivors = provenance->survivors;
    if (!provenance->scorer.empty()) options.scorer = provenance->scorer;
  }
  return options;
}

Result<SensitivityTable> read_table(const std::filesystem::path& path) {
  LAMINA_ASSIGN_OR_RETURN(Json root, read_json_file(path, kMaxDocumentBytes));
  return from_json(root, path.string());
}

Result<SensitivityTable> table_from_json(const std::string& text, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(Json root, parse_json(text, where));
  return from_json(root, where);
}

Result<SensitivityTable> unmeasured_table_from_json(const std::string& text,
                                                    const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(Json root, parse_json(text, where));
  LAMINA_ASSIGN_OR_RETURN(SensitivityTable table, head_from_json(root, where));
  LAMINA_RETURN_IF_ERROR(read_optional(root, where, table));
  return table;
}

std::string table_to_json(const SensitivityTable& table) {
  OrderedJson root = OrderedJson::object();
  root["format"] = kFormat;
  root["version"] = kVersion;
  root["layers"] = table.geometry.layers.size();
  if (table.model) {
    OrderedJson model = OrderedJson::object();
    model_id_to_json(*table.model, model);
    root["model"] = std::move(model);
  }
  OrderedJson geometry = OrderedJson::object();
  geometry["t_cache"] = table.geometry.t_cache;
  layer_geometry_to_json(table.geometry.layers, geometry);
  root["geometry"] = std::move(geometry);
  root["grid"] = grid_to_json(table.grid);
  root["values"] = table.values;
  for (const CellList& list : kOptionalCells) {
    if (!(table.*list.member).empty()) root[list.key] = table.*list.member;
  }
  if (!table.weights.empty()) root["weights"] = table.weights;
  if (!table.bytes.empty()) root["bytes"] = table.bytes;
  if (table.provenance) root["provenance"] = write_provenance(*table.provenance);
  return dump_document(root);
}

std::string table_sha256(const SensitivityTable& table) { return sha256_hex(table_to_json(table)); }

Status write_table(const SensitivityTable& table, const std::filesystem::path& path) {
  LAMINA_RETURN_IF_ERROR(table.validate(path.string()));
  return write_text_file(path, table_to_json(table));
}

Status check_same_model(const SensitivityTable& table, const ModelId& model) {
  if (!table.model || table.model->fingerprint == model.fingerprint) return Status::ok();
  return Status::bad_input(fmt::format("the table belongs to '{}' ({}), not to '{}' ({})",
                                       table.model->name, table.model->fingerprint.substr(0, 12),
                                       model.name, model.fingerprint.substr(0, 12)),
                           "sensitivity table", "calibrate this model, or open the other one");
}

}  // namespace lamina
