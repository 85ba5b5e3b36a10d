// SPDX-License-Identifier: Apache-2.0
#include "engine/table/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace lamina {
namespace {

constexpr std::int64_t kMaxWindow = std::int64_t{1} << 40;
constexpr int kMaxDim = 65536;

using Setter = std::function<void(LayerGeometry&, std::int64_t)>;

// A number for all layers or a list of one number a layer; null counts as 0 where 0 is possible.
Status read_per_layer(const Json& value, const char* key, std::int64_t min, std::int64_t max,
                      const std::string& where, const Setter& set,
                      std::vector<LayerGeometry>& layers) {
  auto read = [&](const Json& item, const std::string& place) -> Result<std::int64_t> {
    if (item.is_null() && min == 0) return std::int64_t{0};
    return json_to_int(item, place, min, max);
  };
  const std::string field = fmt::format("{}: {}", where, key);
  if (!value.is_array()) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t number, read(value, field));
    for (LayerGeometry& layer : layers) set(layer, number);
    return Status::ok();
  }
  if (value.size() != layers.size()) {
    return Status::bad_input(
        fmt::format("a list of {} numbers for {} layers", value.size(), layers.size()), field,
        "write one number, or one a layer");
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t number,
                            read(value[l], fmt::format("{} of layer {}", field, l)));
    set(layers[l], number);
  }
  return Status::ok();
}

template <class Getter>
OrderedJson write_per_layer(const std::vector<LayerGeometry>& layers, const Getter& get) {
  OrderedJson list = OrderedJson::array();
  for (const LayerGeometry& layer : layers) list.push_back(get(layer));
  bool agree = std::all_of(list.begin(), list.end(), [&](const auto& v) { return v == list[0]; });
  return agree && !list.empty() ? OrderedJson(list[0]) : list;
}

Result<const Json*> json_list(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* value, json_member(object, key, where));
  if (!value->is_array()) {
    return Status::bad_input(fmt::format("'{}' must be a list", key), where, "write [...]");
  }
  return value;
}

Result<std::vector<int>> read_bits(const Json& object, const char* key, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(const Json* list, json_list(object, key, where));
  std::vector<int> bits;
  for (const Json& item : *list) {
    LAMINA_ASSIGN_OR_RETURN(std::int64_t value,
                            json_to_int(item, fmt::format("{}: {}", where, key), 1, 16));
    bits.push_back(static_cast<int>(value));
  }
  return bits;
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Status check_format(const Json& object, const char* format, int major, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(std::string found, json_string(object, "format", where));
  if (found != format) {
    return Status::bad_input(
        fmt::format("the file is a '{}', not a '{}'", found.substr(0, 60), format), where,
        "choose a file of the right kind");
  }
  LAMINA_ASSIGN_OR_RETURN(double version, json_number(object, "version", where));
  if (std::floor(version) != major) {
    return Status::bad_input(
        fmt::format("{} version {} is unknown", format, version), where,
        fmt::format("this Lamina reads version {}; use the Lamina that wrote the "
                    "file, or a newer one",
                    major));
  }
  return Status::ok();
}

Result<std::vector<LayerGeometry>> layer_geometry_from_json(const Json& object, int layers,
                                                            const std::string& where) {
  std::vector<LayerGeometry> out(static_cast<std::size_t>(layers));
  LAMINA_ASSIGN_OR_RETURN(const Json* kv_heads, json_member(object, "kv_heads", where));
  LAMINA_ASSIGN_OR_RETURN(const Json* head_dim, json_member(object, "head_dim", where));
  LAMINA_RETURN_IF_ERROR(read_per_layer(
      *kv_heads, "kv_heads", 1, kMaxDim, where,
      [](LayerGeometry& l, std::int64_t v) { l.kv_heads = static_cast<int>(v); }, out));
  LAMINA_RETURN_IF_ERROR(read_per_layer(
      *head_dim, "head_dim", 1, kMaxDim, where,
      [](LayerGeometry& l, std::int64_t v) { l.head_dim = static_cast<int>(v); }, out));
  if (auto window = object.find("window"); window != object.end()) {
    LAMINA_RETURN_IF_ERROR(read_per_layer(
        *window, "window", 0, kMaxWindow, where,
        [](LayerGeometry& l, std::int64_t v) { l.window = v; }, out));
  }
  return out;
}

void layer_geometry_to_json(const std::vector<LayerGeometry>& layers, OrderedJson& object) {
  object["kv_heads"] = write_per_layer(layers, [](const LayerGeometry& l) { return l.kv_heads; });
  object["head_dim"] = write_per_layer(layers, [](const LayerGeometry& l) { return l.head_dim; });
  object["window"] = write_per_layer(layers, [](const LayerGeometry& l) { return l.window; });
}

Result<ConfigGrid> grid_from_json(const Json& value, const std::string& where) {
  const std::string place = where + ": grid";
  ConfigGrid grid;
  LAMINA_ASSIGN_OR_RETURN(const Json* keeps, json_list(value, "keep", place));
  for (const Json& item : *keeps) {
    LAMINA_ASSIGN_OR_RETURN(double keep, json_to_number(item, place + ": keep"));
    grid.keep.push_back(keep);
  }
  LAMINA_ASSIGN_OR_RETURN(grid.k_bits, read_bits(value, "k_bits", place));
  LAMINA_ASSIGN_OR_RETURN(grid.v_bits, read_bits(value, "v_bits", place));
  LAMINA_RETURN_IF_ERROR(grid.validate(where));
  return grid;
}

OrderedJson grid_to_json(const ConfigGrid& grid) {
  OrderedJson out = OrderedJson::object();
  out["keep"] = grid.keep;
  out["k_bits"] = grid.k_bits;
  out["v_bits"] = grid.v_bits;
  return out;
}

Result<QuantizerNames> quantizer_from_json(const Json& value, const std::string& where) {
  QuantizerNames names;
  if (value.is_string()) {
    names.k = names.v = value.get<std::string>();
  } else {
    LAMINA_ASSIGN_OR_RETURN(names.k, json_string(value, "k", where + ": quantizer"));
    LAMINA_ASSIGN_OR_RETURN(names.v, json_string(value, "v", where + ": quantizer"));
  }
  if (names.k.empty() || names.v.empty()) {
    return Status::bad_input("'quantizer' has no name", where, "write e.g. asym-g32");
  }
  return names;
}

OrderedJson quantizer_to_json(const QuantizerNames& names) {
  if (names.k == names.v) return names.k;
  OrderedJson out = OrderedJson::object();
  out["k"] = names.k;
  out["v"] = names.v;
  return out;
}

Result<std::string> sha256_from_json(const Json& object, const char* key,
                                     const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(std::string text, json_string_or(object, key, "", where));
  if (!text.empty() && !is_sha256(text)) {
    return Status::bad_input(fmt::format("'{}' is not a SHA-256", key), where,
                             "64 lower-case hexadecimal digits are expected");
  }
  return text;
}

Result<ModelId> model_id_from_json(const Json& object, const std::string& where) {
  ModelId model;
  LAMINA_ASSIGN_OR_RETURN(model.name, json_string_or(object, "name", "", where));
  LAMINA_ASSIGN_OR_RETURN(model.architecture, json_string_or(object, "architecture", "", where));
  LAMINA_ASSIGN_OR_RETURN(model.fingerprint, sha256_from_json(object, "fingerprint", where));
  return model;
}

void model_id_to_json(const ModelId& model, OrderedJson& object) {
  object["name"] = model.name;
  object["architecture"] = model.architecture;
  object["fingerprint"] = model.fingerprint;
}

Result<SurvivorMode> survivors_from_json(const Json& object, const std::string& where) {
  LAMINA_ASSIGN_OR_RETURN(std::string name, json_string_or(object, "survivors", "shared", where));
  Result<SurvivorMode> mode = parse_survivor_mode(name);
  if (!mode) return Status::bad_input(mode.status().what(), where, mode.status().advice());
  return mode;
}

Result<std::string> json_string_or(const Json& object, const char* key, const std::string& fallback,
                                   const std::string& where) {
  if (object.is_object() && !object.contains(key)) return fallback;
  return json_string(object, key, where);
}

Result<std::int64_t> json_int_or(const Json& object, const char* key, std::int64_t fallback,
                                 const std::string& where, std::int64_t min, std::int64_t max) {
  if (object.is_object() && !object.contains(key)) return fallback;
  return json_int(object, key, where, min, max);
}

std::string dump(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string dump_document(const OrderedJson& object) {
  std::string out = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : object.items()) {
    out += fmt::format("{}  {}: ", separator, dump(key));
    separator = ",\n";
    if (value.is_array() && !value.empty() && value[0].is_structured()) {
      const char* comma = "[\n";
      for (const OrderedJson& item : value) {
        out += comma;
        out += "    " + dump(item);
        comma = ",\n";
      }
      out += "\n  ]";
    } else {
      out += dump(value);
    }
  }
  return out + "\n}\n";
}

}  // namespace lamina
