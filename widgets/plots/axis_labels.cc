// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/axis_labels.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace lamina::studio {
namespace {

std::vector<Tick> decadeTicks(double lower, double upper, std::initializer_list<double> mantissas,
                              int every) {
  constexpr double kSlack = 1e-9;
  std::vector<Tick> ticks;
  for (int decade = static_cast<int>(std::floor(lower));
       decade <= static_cast<int>(std::ceil(upper)); ++decade) {
    if (decade % every != 0) continue;
    for (const double mantissa : mantissas) {
      const double position = decade + std::log10(mantissa);
      if (position < lower - kSlack || position > upper + kSlack) continue;
      ticks.push_back({position, tickNumber(mantissa * std::pow(10.0, decade))});
    }
  }
  return ticks;
}

}  // namespace

QString tickNumber(double value) {
  const bool plain = value == 0 || (std::abs(value) >= 0.9e-3 && std::abs(value) < 0.99e5);
  if (plain) return QString::number(value, 'g', 3);
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  return QStringLiteral("%1e%2")
      .arg(QString::number(value / std::pow(10.0, exponent), 'g', 3))
      .arg(exponent);
}

std::vector<Tick> indexTicks(int count, double pixels, double label_pixels) {
  std::vector<Tick> ticks;
  if (count <= 0) return ticks;
  const double cell = pixels / count;
  int step = 1;
  for (int scale = 1; step * cell < label_pixels && step < count; scale *= 10) {
    for (const int factor : {1, 2, 5}) {
      step = scale * factor;
      if (step * cell >= label_pixels) break;
    }
  }
  for (int i = 0; i < count; i += step)
    ticks.push_back({static_cast<double>(i), QString::number(i)});
  return ticks;
}

std::vector<Tick> logTicks(double lower, double upper, int max_count) {
  const auto fits = [max_count](const std::vector<Tick>& ticks) {
    return static_cast<int>(ticks.size()) <= std::max(2, max_count);
  };
  std::vector<Tick> ticks = decadeTicks(lower, upper, {1, 2, 5}, 1);
  for (int every = 1; !fits(ticks) && every < 700; ++every)
    ticks = decadeTicks(lower, upper, {1}, every);
  if (ticks.size() < 2) {
    ticks = {{lower, tickNumber(std::pow(10.0, lower))},
             {upper, tickNumber(std::pow(10.0, upper))}};
  }
  return ticks;
}

}  // namespace lamina::studio
