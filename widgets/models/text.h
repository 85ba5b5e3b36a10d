// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as every screen of the studio writes them. Decimal points are always '.', as in the files
// and on the command line, so that what is read here can be typed there.
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/solve/method.h"
#include "engine/solve/objective.h"
#include "engine/table/bytes.h"
#include "engine/table/grid.h"

namespace lamina::studio {

QString toQString(const std::string& text);
std::filesystem::path toPath(const QString& path);
QString toQString(const std::filesystem::path& path);

QString mbText(double bytes);                         // "130.7 MB"
QString mbNumber(double bytes);                       // "130.7", for columns headed MB
QString ratioText(double full_bytes, double bytes);   // "14.0x"
QString budgetText(double bytes, double full_bytes);  // "130.7 MB · 14.0x"
QString errorText(double sensitivity);                // four digits: "0.01234", "1.200e-5"; "0"
QString keepText(double keep);                        // "0.25"
QString percentText(double share, int decimals = 1);  // 0.123 -> "12.3 %"
QString bytesKindText(BytesKind kind);                // "actual bytes", "nominal bytes"
QString recipeText(const LayerConfig& config);        // "keep 0.25 · K4 · V8"
QString methodText(const Method& method);             // "2d:exact", as on the command line
QString objectiveSymbol(Objective objective);         // "S", "S²", "KL", for headings
QString requestsText(std::int64_t requests, std::int64_t context);  // "11 requests x 32768"
// Mean keep, mean bits and number of different recipes: "4 recipes · mean keep 0.41 · K5.2 · V4.0"
QString mixText(const std::vector<LayerConfig>& layers);
QString durationText(double seconds);  // "0:42", "1:02:03"

}  // namespace lamina::studio
