// SPDX-License-Identifier: Apache-2.0
#include "engine/base/status.h"

#include <fmt/format.h>

namespace lamina {
namespace {

void append_printable(std::string& out, const std::string& text) {
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += static_cast<char>(c);
    }
  }
}

}  // namespace

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
