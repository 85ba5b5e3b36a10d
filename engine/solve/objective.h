// SPDX-License-Identifier: Apache-2.0
// What a plan's predicted error is the sum of (spec section 7). Pure.
#pragma once

#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/table.h"

namespace lamina {

enum class Objective : int {
  kS = 0,           // relative error S of the attention output, the paper's
  kS2 = 1,          // S squared
  kWeighted = 2,    // w_l S^2, the weights stored with the table
  kPropagated = 3,  // squared relative change of the final hidden state, stored with the table
  kKl = 4           // measured KL, nats, stored with the table
};
std::string_view to_string(Objective objective);  // "S", "S2", "weighted", "propagated", "kl"
Result<Objective> parse_objective(std::string_view text);
// "sum of relative errors S", ...; for labels.
std::string_view describe(Objective objective);

// The cells a solver minimises the sum of, (layers, configs). z > 0: robust, every measured cell x
// is replaced by x + z * its standard error before the objective is formed. Errors: kBadInput where
// the table lacks what the objective or z needs, or a cell is not finite or negative, naming layer
// and configuration; kUsage for a z that is negative or not finite.
Result<std::vector<std::vector<double>>> objective_cells(const SensitivityTable& table,
                                                         Objective objective, double z);
// Standard errors of those cells by first-order propagation, (layers, configs); empty where the
// table has none for this objective.
std::vector<std::vector<double>> objective_errors(const SensitivityTable& table,
                                                  Objective objective);

}  // namespace lamina
