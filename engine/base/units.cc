// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "engine/base/integer.h"

namespace lamina {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};

constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"kB", 1'000},
                           {"KB", 1'000},
                           {"MB", 1'000'000},
                           {"GB", 1'000'000'000},
                           {"TB", 1'000'000'000'000},
                           {"KiB", std::int64_t{1} << 10},
                           {"MiB", std::int64_t{1} << 20},
                           {"GiB", std::int64_t{1} << 30},
                           {"TiB", std::int64_t{1} << 40}};

constexpr int kMaxExponent = 38;

// A decimal number, exactly: numerator / denominator.
struct Decimal {
  Int128 numerator = 0;
  Int128 denominator = 1;
};

bool is_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

// Takes "12", "12.5" or "1.5e9" off the front of `text`; nothing for anything else and for numbers
// that leave 128 bits.
std::optional<Decimal> take_decimal(std::string_view& text) {
  std::optional<Int128> digits = 0;
  int places = 0;
  bool any = false;
  auto take_digits = [&](int place) {
    for (; is_digit(text) && digits; text.remove_prefix(1)) {
      digits = checked_mul(*digits, 10);
      if (digits) digits = checked_add(*digits, text.front() - '0');
      places += place;
      any = true;
    }
  };
  take_digits(0);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    if (!is_digit(text)) return std::nullopt;
    take_digits(1);
  }
  if (!any) return std::nullopt;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    const int sign = !text.empty() && text.front() == '-' ? -1 : 1;
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
    if (!is_digit(text)) return std::nullopt;
    int exponent = 0;
    for (; is_digit(text); text.remove_prefix(1)) {
      exponent = exponent * 10 + (text.front() - '0');
      if (exponent > kMaxExponent) return std::nullopt;
    }
    places -= sign * exponent;
  }
  std::optional<Int128> denominator = 1;
  for (; places > 0 && denominator; --places) denominator = checked_mul(*denominator, 10);
  for (; places < 0 && digits; ++places) digits = checked_mul(*digits, 10);
  if (!digits || !denominator) return std::nullopt;
  return Decimal{*digits, *denominator};
}

// floor(a * b / (c * d)), nothing beyond 128 bits. REQUIRES c, d > 0.
std::optional<Int128> ratio(Int128 a, Int128 b, Int128 c, Int128 d) {
  std::optional<Int128> above = checked_mul(a, b);
  std::optional<Int128> below = checked_mul(c, d);
  if (!above || !below) return std::nullopt;
  return *above / *below;
}

// The whole bytes of `text`, nothing where it is no budget or leaves 128 bits.
std::optional<Int128> budget_bytes(std::string_view text, std::int64_t full_bytes) {
  std::optional<Decimal> value = take_decimal(text);
  if (!value || value->numerator == 0) return std::nullopt;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if ((text == "x" || text == "%") && full_bytes <= 0) return std::nullopt;
  if (text == "x") return ratio(full_bytes, value->denominator, value->numerator, 1);
  if (text == "%") return ratio(full_bytes, value->numerator, value->denominator, 100);
  for (const Unit& unit : kUnits) {
    if (text == unit.name) return ratio(value->numerator, unit.bytes, value->denominator, 1);
  }
  return std::nullopt;
}

}  // namespace

Result<std::int64_t> parse_budget(std::string_view text, std::int64_t full_bytes) {
  std::string_view trimmed = text;
  while (!trimmed.empty() && trimmed.front() == ' ') trimmed.remove_prefix(1);
  while (!trimmed.empty() && trimmed.back() == ' ') trimmed.remove_suffix(1);
  std::optional<Int128> bytes = budget_bytes(trimmed, full_bytes);
  if (!bytes || !narrow(*bytes)) {
    return Status::usage(fmt::format("'{}' is not a budget", text), "budget",
                         "write 136MB, 130MiB, 142606336, 14x or 25%");
  }
  return *narrow(*bytes);
}

std::string format_mb(std::int64_t bytes) {
  if (std::abs(static_cast<double>(bytes)) < 1000) return fmt::format("{} B", bytes);
  double mb = static_cast<double>(bytes) / 1e6;
  if (std::abs(mb) < 0.1) return fmt::format("{:.3f} MB", mb);
  if (std::abs(mb) < 100000) return fmt::format("{:.1f} MB", mb);
  return fmt::format("{:.1f} GB", mb / 1000);
}

}  // namespace lamina
