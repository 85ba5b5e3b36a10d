// SPDX-License-Identifier: GPL-3.0-or-later
// Which tick labels an axis gets, so that none overlap. Pure functions, tested without a plot.
#pragma once

#include <QString>
#include <vector>

namespace lamina::studio {

struct Tick {
  double position = 0;
  QString label;
};

// Indices 0..count-1 along `pixels`, labels at least `label_pixels` apart: steps of 1, 2, 5,
// 10, 20...
std::vector<Tick> indexTicks(int count, double pixels, double label_pixels);

// Ticks of a log10 axis between log10 values, labelled in original units ("0.002", "1e-5"): all of
// 1, 2, 5 per decade where at most max_count of them fit, else decades, else every n-th decade. A
// range without such a value gets its two ends.
std::vector<Tick> logTicks(double lower, double upper, int max_count);

// "0.001", "2e-5": the shortest text of a tick value.
QString tickNumber(double value);

}  // namespace lamina::studio
