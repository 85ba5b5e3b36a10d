// SPDX-License-Identifier: Apache-2.0
// The JSON fields that tables and plans share. Readers refuse with kBadInput naming `where` and the
// field; writers keep one key order. Stateless. Include only in .cc files (nlohmann/json is slow).
#pragma once

#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/table/bytes.h"
#include "engine/table/grid.h"
#include "engine/table/table.h"

namespace lamina {

// Tables and plans larger than this are refused unread.
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{64} << 20;

// `object` is of `format` and its version's major number is `major`.
Status check_format(const Json& object, const char* format, int major, const std::string& where);

// kv_heads, head_dim and window of 1..4096 layers; each a number or a list of one number a layer. A
// missing or null window is global attention.
Result<std::vector<LayerGeometry>> layer_geometry_from_json(const Json& object, int layers,
                                                            const std::string& where);
// Written as numbers where all layers agree.
void layer_geometry_to_json(const std::vector<LayerGeometry>& layers, OrderedJson& object);

// {keep: [...], k_bits: [...], v_bits: [...]}, validated.
Result<ConfigGrid> grid_from_json(const Json& value, const std::string& where);
OrderedJson grid_to_json(const ConfigGrid& grid);

// A name for both, or {k, v}.
Result<QuantizerNames> quantizer_from_json(const Json& value, const std::string& where);
OrderedJson quantizer_to_json(const QuantizerNames& names);

// 64 lower-case hexadecimal digits; missing or empty: none is known.
Result<std::string> sha256_from_json(const Json& object, const char* key, const std::string& where);

// name, architecture and fingerprint (64 hexadecimal digits or empty); each may be missing.
Result<ModelId> model_id_from_json(const Json& object, const std::string& where);
void model_id_to_json(const ModelId& model, OrderedJson& object);

// The member "survivors", shared where it is missing.
Result<SurvivorMode> survivors_from_json(const Json& object, const std::string& where);

// The member as a string or integer, `fallback` where it is missing; another type is refused.
Result<std::string> json_string_or(const Json& object, const char* key, const std::string& fallback,
                                   const std::string& where);
Result<std::int64_t> json_int_or(const Json& object, const char* key, std::int64_t fallback,
                                 const std::string& where, std::int64_t min, std::int64_t max);

// Compact JSON; bytes that are not UTF-8 become U+FFFD.
std::string dump(const OrderedJson& value);

// An object with one member a line; arrays of arrays and of objects with one element a line.
std::string dump_document(const OrderedJson& object);

}  // namespace lamina
