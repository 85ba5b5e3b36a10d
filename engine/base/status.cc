// SPDX-License-Identifier: Apache-2.0
#include "engine/base/status.h"

#include <fmt/format.h>

#include <string_view>

namespace lamina {
namespace {

// The length of the well-formed UTF-8 sequence at the front of `text` and its code point; 0 where
// there is none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
int utf8_length(std::string_view text, char32_t& code_point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const int length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length == 0 || lead > 0xf4 || text.size() < static_cast<std::size_t>(length)) return 0;
  code_point = length == 1 ? lead : lead & (0xff >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code_point = (code_point << 6) | (byte(i) & 0x3f);
  }
  const char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point < smallest[length] || surrogate || code_point > 0x10ffff ? 0 : length;
}

// Control characters, line separators and the marks that reverse the direction of a line.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void append_printable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    char32_t code_point = 0;
    const int length = utf8_length(text, code_point);
    const auto taken = text.substr(0, length > 0 ? static_cast<std::size_t>(length) : 1);
    if (length > 0 && !is_control(code_point)) {
      out += taken;
    } else {
      for (unsigned char c : taken) out += fmt::format("\\x{:02x}", c);
    }
    text.remove_prefix(taken.size());
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  append_printable(out, text);
  return out;
}

std::string Status::message() const {
  std::string out;
  append_printable(out, what_);
  if (!where_.empty()) {
    out += " (";
    append_printable(out, where_);
    out += ")";
  }
  if (!advice_.empty()) {
    out += ": ";
    append_printable(out, advice_);
  }
  return out;
}

}  // namespace lamina
