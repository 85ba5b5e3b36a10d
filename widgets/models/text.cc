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
