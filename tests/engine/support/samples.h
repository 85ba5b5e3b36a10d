// SPDX-License-Identifier: Apache-2.0
// Small tables and plans, and the oracle files as tables, for the tests of the plain rooms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/table/table.h"

namespace lamina::samples {

inline Geometry geometry(int layers, std::int64_t t_cache, int kv_heads, int head_dim) {
  return {t_cache, std::vector<LayerGeometry>(static_cast<std::size_t>(layers),
                                              LayerGeometry{kv_heads, head_dim, 0})};
}

// Random values that fall along every axis, more or less.
inline SensitivityTable table(int layers, std::uint32_t seed) {
  SensitivityTable out;
  out.geometry = geometry(layers, 2048, 3, 64);
  out.grid = ConfigGrid::default_grid();
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int l = 0; l < layers; ++l) {
    std::vector<double> row;
    for (int c = 0; c < out.grid.size(); ++c) {
      row.push_back(uniform(random) * (out.grid.full_index() - c) / 7);
    }
    out.values.push_back(std::move(row));
  }
  return out;
}

inline ModelId model() { return {"Sample 135M", "llama", std::string(64, 'a')}; }

inline Provenance provenance() {
  Provenance p;
  p.probe = "prompt";
  p.scorer = "triattention";
  p.quantizer = {"asym-g32", "asym-g64+hadamard"};
  p.survivors = SurvivorMode::kPerHead;
  p.tokens = 27;
  p.window_tokens = 3;
  p.token_ids = {1, 2, 49151};
  p.statistics_sha256 = std::string(64, 'b');
  p.seed = 18446744073709551615ULL;
  p.version = "0.1.0";
  p.created = "2026-01-02T03:04:05Z";
  return p;
}

inline Json oracle(const char* name) {
  std::ifstream file(std::filesystem::path(LAMINA_TEST_DATA) / name);
  return Json::parse(file);
}

// Files of any content, also ones that the engine would refuse to write.
inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace lamina::samples
