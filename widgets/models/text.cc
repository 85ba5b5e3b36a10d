// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/text.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

namespace lamina::studio {

QString toQString(const std::string& text) { return QString::fromStdString(text); }

std::filesystem::path toPath(const QString& path) {
  const QByteArray name = path.toUtf8();
  return std::filesystem::path(
      std::string(name.constData(), static_cast<std::size_t>(name.size())));
}

QString toQString(const std::filesystem::path& path) {
  return QString::fromStdString(path.string());
}

QString mbNumber(double bytes) {
  const double mb = bytes / 1e6;
  const int decimals = mb >= 10 ? 1 : mb >= 1 ? 2 : 3;
  return QString::number(mb, 'f', decimals);
}

QString mbText(double bytes) {
  if (bytes < 1e3) return QStringLiteral("%1 B").arg(QString::number(bytes, 'f', 0));
  if (bytes < 1e5) return QStringLiteral("%1 kB").arg(QString::number(bytes / 1e3, 'f', 1));
  return QStringLiteral("%1 MB").arg(QString::number(bytes / 1e6, 'f', bytes < 1e7 ? 2 : 1));
}

QString ratioText(double full_bytes, double bytes) {
  return QStringLiteral("%1x").arg(QString::number(full_bytes / bytes, 'f', 1));
}

QString budgetText(double bytes, double full_bytes) {
  return mbText(bytes) + QStringLiteral(" · ") + ratioText(full_bytes, bytes);
}

QString errorText(double sensitivity) {
  if (sensitivity == 0) return QStringLiteral("0");
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(sensitivity))));
  if (exponent >= -3 && exponent <= 5) {
    return QString::number(sensitivity, 'f', std::max(0, 3 - exponent));
  }
  const double mantissa = sensitivity / std::pow(10.0, exponent);
  return QStringLiteral("%1e%2").arg(QString::number(mantissa, 'f', 3)).arg(exponent);
}

QString keepText(double keep) {
  const QString text = QString::number(keep, 'g', 4);
  return text.contains(QLatin1Char('.')) ? text : text + QStringLiteral(".0");
}

QString percentText(double share, int decimals) {
  return QStringLiteral("%1 %").arg(QString::number(100 * share, 'f', decimals));
}

QString bytesKindText(BytesKind kind) {
  return kind == BytesKind::kActual ? QCoreApplication::translate("lamina", "actual bytes")
                                    : QCoreApplication::translate("lamina", "nominal bytes");
}

QString recipeText(const LayerConfig& config) {
  return QCoreApplication::translate("lamina", "keep %1 · K%2 · V%3")
      .arg(keepText(config.keep))
      .arg(config.k_bits)
      .arg(config.v_bits);
}

QString methodText(const Method& method) { return toQString(to_string(method)); }

QString objectiveSymbol(Objective objective) {
  switch (objective) {
    case Objective::kS:
      return QStringLiteral("S");
    case Objective::kS2:
      return QStringLiteral("S²");
    case Objective::kWeighted:
      return QStringLiteral("w·S²");
    case Objective::kPropagated:
      return QCoreApplication::translate("lamina", "propagated");
    case Objective::kKl:
      return QStringLiteral("KL");
  }
  return {};
}

QString requestsText(std::int64_t requests, std::int64_t context) {
  return (requests == 1 ? QCoreApplication::translate("lamina", "%1 request x %2")
                        : QCoreApplication::translate("lamina", "%1 requests x %2"))
      .arg(requests)
      .arg(context);
}

QString mixText(const std::vector<LayerConfig>& layers) {
  double keep = 0, k_bits = 0, v_bits = 0;
  std::vector<LayerConfig> distinct;
  for (const LayerConfig& layer : layers) {
    keep += layer.keep;
    k_bits += layer.k_bits;
    v_bits += layer.v_bits;
    if (std::find(distinct.begin(), distinct.end(), layer) == distinct.end()) {
      distinct.push_back(layer);
    }
  }
  const double count = std::max<double>(1, static_cast<double>(layers.size()));
  if (distinct.size() == 1) return recipeText(distinct.front());
  return QCoreApplication::translate("lamina", "%1 recipes · mean keep %2 · K%3 · V%4")
      .arg(distinct.size())
      .arg(QString::number(keep / count, 'f', 2), QString::number(k_bits / count, 'f', 1),
           QString::number(v_bits / count, 'f', 1));
}

QString durationText(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::max(0.0, seconds)));
  const QLatin1Char zero('0');
  if (whole < 3600) {
    return QStringLiteral("%1:%2").arg(whole / 60).arg(whole % 60, 2, 10, zero);
  }
  return QStringLiteral("%1:%2:%3")
      .arg(whole / 3600)
      .arg(whole / 60 % 60, 2, 10, zero)
      .arg(whole % 60, 2, 10, zero);
}

}  // namespace lamina::studio
