// SPDX-License-Identifier: Apache-2.0
#include "engine/solve/objective.h"

#include <fmt/format.h>

#include <cmath>

namespace lamina {
namespace {

using Cells = std::vector<std::vector<double>>;

// What the objective is formed from.
struct Measured {
  const Cells* cells = nullptr;
  const Cells* errors = nullptr;  // standard errors; null: the format has none
  const char* key = "";           // of the table's JSON
  const char* errors_key = "";
};

Measured measured(const SensitivityTable& table, Objective objective) {
  switch (objective) {
    case Objective::kPropagated:
      return {&table.propagated, nullptr, "propagated", ""};
    case Objective::kKl:
      return {&table.kl, &table.kl_errors, "kl", "kl_stderr"};
    default:
      return {&table.values, &table.value_errors, "values", "stderr"};
  }
}

bool squares(Objective objective) {
  return objective == Objective::kS2 || objective == Objective::kWeighted;
}

double weight(const SensitivityTable& table, Objective objective, std::size_t layer) {
  return objective == Objective::kWeighted ? table.weights[layer] : 1;
}

Status missing(Objective objective, const char* key) {
  return Status::bad_input(fmt::format("the table has no '{}'", key),
                           fmt::format("objective {}", to_string(objective)),
                           "use the objective S or S2, or a table that was measured with it");
}

Status check_z(double z) {
  if (std::isfinite(z) && z >= 0) return Status::ok();
  return Status::usage(fmt::format("{} is no number of standard errors", z), "robust objective",
                       "use a number of at least 0, e.g. 1.64");
}

}  // namespace

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::kS:
      return "S";
    case Objective::kS2:
      return "S2";
    case Objective::kWeighted:
      return "weighted";
    case Objective::kPropagated:
      return "propagated";
    case Objective::kKl:
      return "kl";
  }
  return "";
}

Result<Objective> parse_objective(std::string_view text) {
  for (Objective objective : {Objective::kS, Objective::kS2, Objective::kWeighted,
                              Objective::kPropagated, Objective::kKl}) {
    if (text == to_string(objective)) return objective;
  }
  return Status::usage(fmt::format("'{}' is not an objective", text), "",
                       "use S, S2, weighted, propagated or kl");
}

std::string_view describe(Objective objective) {
  switch (objective) {
    case Objective::kS:
      return "sum of relative errors S";
    case Objective::kS2:
      return "sum of squared relative errors S^2";
    case Objective::kWeighted:
      return "weighted sum of squared relative errors w S^2";
    case Objective::kPropagated:
      return "sum of squared relative changes of the final hidden state";
    case Objective::kKl:
      return "sum of single-layer KL, nats";
  }
  return "";
}

Result<std::vector<std::vector<double>>> objective_cells(const SensitivityTable& table,
                                                         Objective objective, double z) {
  LAMINA_RETURN_IF_ERROR(check_z(z));
  const Measured from = measured(table, objective);
  if (from.cells->empty()) return missing(objective, from.key);
  if (objective == Objective::kWeighted && table.weights.empty()) {
    return missing(objective, "weights");
  }
  if (z > 0 && (from.errors == nullptr || from.errors->empty())) {
    return Status::bad_input(
        fmt::format("the table has no standard errors for the objective {}", to_string(objective)),
        "robust objective", "solve without it, or calibrate over several texts");
  }
  Cells cells = *from.cells;
  for (std::size_t l = 0; l < cells.size(); ++l) {
    for (std::size_t c = 0; c < cells[l].size(); ++c) {
      double& cell = cells[l][c];
      if (z > 0) cell += z * (*from.errors)[l][c];
      if (squares(objective)) cell *= cell;
      cell *= weight(table, objective, l);
      if (std::isfinite(cell)) continue;
      return Status::bad_input(
          fmt::format("the objective {} of layer {}, configuration {} ({}) is too large",
                      to_string(objective), l, c, to_string(table.grid.at(static_cast<int>(c)))),
          "sensitivity table", "the table is damaged; calibrate again");
    }
  }
  return cells;
}

std::vector<std::vector<double>> objective_errors(const SensitivityTable& table,
                                                  Objective objective) {
  const Measured from = measured(table, objective);
  if (from.errors == nullptr || from.errors->empty()) return {};
  if (objective == Objective::kWeighted && table.weights.empty()) return {};
  Cells errors = *from.errors;
  for (std::size_t l = 0; l < errors.size(); ++l) {
    for (std::size_t c = 0; c < errors[l].size(); ++c) {
      if (squares(objective)) errors[l][c] *= 2 * (*from.cells)[l][c];
      errors[l][c] *= weight(table, objective, l);
    }
  }
  return errors;
}

}  // namespace lamina
