// SPDX-License-Identifier: Apache-2.0
// fuzz_seeds FOLDER: writes FOLDER/gguf and FOLDER/safetensors with small whole files.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/support/gguf_writer.h"
#include "tests/support/safetensors_writer.h"

using namespace lamina::test;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  const std::filesystem::path root = argv[1];
  auto write = [&](const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << bytes;
  };
  for (const char* architecture : {"llama", "qwen2", "gemma3", "deepseek2"}) {
    GgufWriter w = tiny_metadata(architecture);
    std::string a = std::string(architecture) + ".";
    w.add(a + "rope.scaling.type", "yarn")
        .add(a + "rope.scaling.factor", 4.0f)
        .add(a + "attention.sliding_window", 16u);
    w.add(a + "attention.kv_lora_rank", std::string(architecture) == "deepseek2" ? 8u : 0u);
    w.tensor("rope_freqs.weight", {2}, {1, 8});
    add_tiny_tensors(w);
    write("gguf/" + std::string(architecture), w.build());
  }
  GgufWriter types;
  types.add("general.architecture", "x").add("general.alignment", 64u);
  types.alignment = 64;
  const std::pair<std::uint32_t, std::size_t> blocks[] = {
      {1, 2},    {2, 18},   {3, 20},   {6, 22},   {7, 24},  {8, 34}, {10, 84},
      {11, 110}, {12, 144}, {13, 176}, {14, 210}, {20, 18}, {30, 2}};
  for (auto [type, size] : blocks) {
    std::uint64_t elements = size == 2 ? 1 : size < 40 ? 32 : 256;
    types.tensors.push_back(
        {"t" + std::to_string(type), {elements}, type, std::string(size, '\x11'), {}, {}});
  }
  write("gguf/types", types.build());
  write("safetensors/tiny", tiny_safetensors().build());
  for (const char* model_type :
       {"llama", "mistral", "qwen2", "qwen3", "gemma3_text", "gemma3", "deepseek_v3"}) {
    lamina::Json config = tiny_config(model_type);
    config["rope_scaling"] = {
        {"rope_type", "yarn"}, {"factor", 4.0}, {"mscale", 1.0}, {"mscale_all_dim", 0.5}};
    config["layer_types"] = {"full_attention"};
    std::string text = config.dump();
    write("safetensors/config_" + std::string(model_type), u64(text.size()) + text);
  }
  return 0;
}
