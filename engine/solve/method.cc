// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/method.h"

#include <fmt/format.h>

#include <charconv>

namespace lamina {
namespace {

std::string_view search_name(Search search) {
  switch (search) {
    case Search::kGreedy:
      return "greedy";
    case Search::kGreedyAny:
      return "greedy_any";
    case Search::kExact:
      return "exact";
    case Search::kLp:
      return "lp";
  }
  return "";
}

Status unknown(std::string_view text) {
  return Status::usage(fmt::format("'{}' is not a method", text), "",
                       "use greedy, greedy_any, exact, lp, 1d, 2d_uniform, 2d_uniform_free, "
                       "edges:N, 2d:greedy, 2d:exact, evict_hetero:greedy or evict_hetero:exact");
}

}  // namespace

std::string to_string(const Method& method) {
  switch (method.family) {
    case Family::kHetero:
      return std::string(search_name(method.search));
    case Family::k1d:
      return "1d";
    case Family::kUniform:
      return "2d_uniform";
    case Family::kUniformFree:
      return "2d_uniform_free";
    case Family::kEdges:
      return fmt::format("edges:{}", method.edge_layers);
    case Family::k2d:
      return fmt::format("2d:{}", search_name(method.search));
    case Family::kEvictHetero:
      return fmt::format("evict_hetero:{}", search_name(method.search));
  }
  return "";
}

Result<Method> parse_method(std::string_view text) {
  for (const Method& method : all_methods()) {
    if (text == to_string(method)) return method;
  }
  constexpr std::string_view kEdges = "edges:";
  if (text.substr(0, kEdges.size()) == kEdges) {
    Method method = methods::kEdges2;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + kEdges.size(), end, method.edge_layers);
    if (error == std::errc() && stop == end && method.edge_layers > 0) return method;
    return unknown(text);
  }
  for (auto [name, family] : {std::pair{std::string_view("2d"), Family::k2d},
                              {"evict_hetero", Family::kEvictHetero},
                              {"2d_hetero", Family::kHetero}}) {
    if (text == name || text == fmt::format("{}:exact", name)) {
      return Method{family, Search::kExact, 0};
    }
    if (text == fmt::format("{}:greedy", name)) return Method{family, Search::kGreedy, 0};
  }
  return unknown(text);
}

std::vector<Method> all_methods() {
  using namespace methods;
  return {kGreedy,      kGreedyAny, kExact,    kLp,      k1d,          kUniform2d,
          kUniformFree, kEdges2,    k2dGreedy, k2dExact, kEvictGreedy, kEvictExact};
}

std::string describe(const Method& method) {
  const std::string how = method.search == Search::kGreedy ? "single-axis greedy" : "exact";
  switch (method.family) {
    case Family::kHetero:
      switch (method.search) {
        case Search::kGreedy:
          return "every layer its own recipe, the paper's single-axis greedy";
        case Search::kGreedyAny:
          return "every layer its own recipe, greedy with steps to any dearer recipe";
        case Search::kExact:
          return "every layer its own recipe, the optimum";
        case Search::kLp:
          return "every layer its own recipe, the last corner of the LP frontier within the budget";
      }
      return "";
    case Family::k1d:
      return "one keep for all layers, 16-bit K and V";
    case Family::kUniform:
      return "one recipe of the grid for all layers";
    case Family::kUniformFree:
      return "one pair of bits and one keep from the continuum (the fair uniform)";
    case Family::kEdges:
      return fmt::format("one recipe, the first and last {} layers at 16 or 8 bit",
                         method.edge_layers);
    case Family::k2d:
      return fmt::format("one keep, bits per layer, {}", how);
    case Family::kEvictHetero:
      return fmt::format("keep per layer, one pair of bits, {}", how);
  }
  return "";
}

}  // namespace lamina
