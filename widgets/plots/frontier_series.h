// SPDX-License-Identifier: GPL-3.0-or-later
// How the curves of the frontier plot look: each its own colour, dash and marker, so that none is
// told by colour alone. The colours stay apart for readers with red-green blindness, also where the
// window makes them darker or lighter.
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <QIcon>
#include <QPalette>
#include <QString>
#include <vector>

#include "engine/solve/method.h"

namespace lamina::studio {

struct SeriesStyle {
  Method method;  // meaningless for the bound
  bool is_bound = false;
  QColor color;
  std::vector<qreal> dashes;  // in pen widths; empty: a full line
  QCPScatterStyle::ScatterShape marker = QCPScatterStyle::ssNone;
  bool steps = false;  // plans jump from point to point: nothing lies between
};

// One for each of frontierMethods(), then the bound.
const std::vector<SeriesStyle>& frontierSeries();
QString seriesName(const SeriesStyle& style);
// The colour with a contrast of at least 3 against the window.
QColor seriesColor(const SeriesStyle& style, const QPalette& palette);
QPen seriesPen(const SeriesStyle& style, const QPalette& palette);
// Hollow: a prediction.
QCPScatterStyle seriesScatter(const SeriesStyle& style, const QPalette& palette, double size);
// A short piece of the curve, for the legend.
QIcon seriesIcon(const SeriesStyle& style, const QPalette& palette, QSize size, double scale);

// Contrast of two colours by WCAG 2, 1..21.
double contrast(const QColor& a, const QColor& b);

}  // namespace lamina::studio
