// SPDX-License-Identifier: GPL-3.0-or-later
// The edits that the plan table makes to Limits, one layer or all layers at a time. Pure functions:
// they take limits and return the changed ones; whether those leave every layer a choice is the
// engine's to say.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

#include "engine/solve/limits.h"

namespace lamina::studio {

// A layer, or kAllLayers.
inline constexpr int kAllLayers = -1;

std::optional<LayerConfig> pinOf(const Limits& limits, int layer);
Limits withPin(Limits limits, int layer, const LayerConfig& config);
Limits withoutPin(Limits limits, int layer);

// The smallest keep that the rules of exactly this scope allow ("never below"); 0 where there is no
// such rule. Setting 0 removes it.
double minKeep(const Limits& limits, int scope);
Limits withMinKeep(Limits limits, int scope, double keep);

// Whether a rule of exactly this scope forbids `value` bits on the axis.
bool forbidsBits(const Limits& limits, int scope, Axis axis, int bits);
Limits withForbiddenBits(Limits limits, int scope, Axis axis, int bits, bool forbidden);

// Without pins and rules of exactly this scope; kAllLayers: without any pin or rule. The target
// stays.
Limits withoutLimits(Limits limits, int scope);

// "layer 3 pinned at keep 0.5 · K8 · V4", "all layers: keep >= 0.5", ...; the target is not among
// them.
QStringList describeLimits(const Limits& limits);

}  // namespace lamina::studio
