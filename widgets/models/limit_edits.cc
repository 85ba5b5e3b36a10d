// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/limit_edits.h"

#include <QCoreApplication>
#include <algorithm>
#include <vector>

#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("lamina", text); }

std::vector<LayerRange> rangesOf(int scope) {
  if (scope == kAllLayers) return {};
  return {{scope, scope}};
}

bool matches(const ForbidRule& rule, int scope, Axis axis, Comparison comparison) {
  return rule.axis == axis && rule.comparison == comparison && rule.layers == rangesOf(scope);
}

QString rangeText(const LayerRange& range) {
  return range.first == range.last ? tr("layer %1").arg(range.first)
                                   : tr("layers %1-%2").arg(range.first).arg(range.last);
}

QString scopeText(const std::vector<LayerRange>& ranges) {
  if (ranges.empty()) return tr("all layers");
  QStringList parts;
  for (const LayerRange& range : ranges) parts << rangeText(range);
  return parts.join(QStringLiteral(", "));
}

// What a rule leaves, which reads easier than what it forbids.
QString ruleText(const ForbidRule& rule) {
  static constexpr const char* kLeft[] = {">=", ">", "!=", "=", "<", "<="};
  const QString axis = rule.axis == Axis::kKeep    ? tr("keep")
                       : rule.axis == Axis::kKBits ? tr("K bits")
                                                   : tr("V bits");
  return QStringLiteral("%1 %2 %3")
      .arg(axis, QLatin1String(kLeft[static_cast<int>(rule.comparison)]),
           QString::number(rule.value, 'g', 4));
}

}  // namespace

std::optional<LayerConfig> pinOf(const Limits& limits, int layer) {
  for (const Pin& pin : limits.pins) {
    if (pin.layers.first <= layer && layer <= pin.layers.last) return pin.config;
  }
  return std::nullopt;
}

Limits withoutPin(Limits limits, int layer) {
  std::vector<Pin> pins;
  for (const Pin& pin : limits.pins) {
    if (layer < pin.layers.first || layer > pin.layers.last) {
      pins.push_back(pin);
      continue;
    }
    if (pin.layers.first < layer) pins.push_back({{pin.layers.first, layer - 1}, pin.config});
    if (layer < pin.layers.last) pins.push_back({{layer + 1, pin.layers.last}, pin.config});
  }
  limits.pins = std::move(pins);
  return limits;
}

Limits withPin(Limits limits, int layer, const LayerConfig& config) {
  limits = withoutPin(std::move(limits), layer);
  limits.pins.push_back({{layer, layer}, config});
  std::sort(limits.pins.begin(), limits.pins.end(),
            [](const Pin& a, const Pin& b) { return a.layers.first < b.layers.first; });
  return limits;
}

double minKeep(const Limits& limits, int scope) {
  for (const ForbidRule& rule : limits.forbid) {
    if (matches(rule, scope, Axis::kKeep, Comparison::kLess)) return rule.value;
  }
  return 0;
}

Limits withMinKeep(Limits limits, int scope, double keep) {
  std::erase_if(limits.forbid, [scope](const ForbidRule& rule) {
    return matches(rule, scope, Axis::kKeep, Comparison::kLess);
  });
  if (keep > 0) limits.forbid.push_back({rangesOf(scope), Axis::kKeep, Comparison::kLess, keep});
  return limits;
}

bool forbidsBits(const Limits& limits, int scope, Axis axis, int bits) {
  return std::any_of(limits.forbid.begin(), limits.forbid.end(), [&](const ForbidRule& rule) {
    return matches(rule, scope, axis, Comparison::kEqual) && rule.value == bits;
  });
}

Limits withForbiddenBits(Limits limits, int scope, Axis axis, int bits, bool forbidden) {
  std::erase_if(limits.forbid, [&](const ForbidRule& rule) {
    return matches(rule, scope, axis, Comparison::kEqual) && rule.value == bits;
  });
  if (forbidden) {
    limits.forbid.push_back({rangesOf(scope), axis, Comparison::kEqual, static_cast<double>(bits)});
  }
  return limits;
}

Limits withoutLimits(Limits limits, int scope) {
  if (scope == kAllLayers) {
    limits.pins.clear();
    limits.forbid.clear();
    return limits;
  }
  limits = withoutPin(std::move(limits), scope);
  std::erase_if(limits.forbid,
                [scope](const ForbidRule& rule) { return rule.layers == rangesOf(scope); });
  return limits;
}

QStringList describeLimits(const Limits& limits) {
  QStringList lines;
  for (const Pin& pin : limits.pins) {
    lines << tr("%1 pinned at %2").arg(rangeText(pin.layers), recipeText(pin.config));
  }
  for (const ForbidRule& rule : limits.forbid) {
    lines << QStringLiteral("%1: %2").arg(scopeText(rule.layers), ruleText(rule));
  }
  return lines;
}

}  // namespace lamina::studio
