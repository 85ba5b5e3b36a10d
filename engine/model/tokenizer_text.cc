// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_text.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

namespace lamina {
namespace {

struct Range {
  std::uint8_t first, last;
};

// What a lead byte asks for: the number of continuation bytes and the range of the first of them
// (the others are 80..BF). Zero continuation bytes with an empty range mark an impossible lead
// byte.
struct Lead {
  std::size_t continuation;
  Range second;
};

Lead lead_of(std::uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, {0x80, 0xBF}};
  if (byte == 0xE0) return {2, {0xA0, 0xBF}};
  if (byte == 0xED) return {2, {0x80, 0x9F}};
  if (byte >= 0xE1 && byte <= 0xEF) return {2, {0x80, 0xBF}};
  if (byte == 0xF0) return {3, {0x90, 0xBF}};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, {0x80, 0xBF}};
  if (byte == 0xF4) return {3, {0x80, 0x8F}};
  return {0, {1, 0}};
}

// The alphabet of GPT-2: printable Latin-1 bytes stand for themselves, the others, in ascending
// order, for U+0100 and up.
struct ByteLevelAlphabet {
  std::array<std::string, 256> characters;
  std::unordered_map<char32_t, std::uint8_t> bytes;

  ByteLevelAlphabet() {
    char32_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const char32_t character = printable ? static_cast<char32_t>(b) : next++;
      append_utf8(characters[b], character);
      bytes.emplace(character, static_cast<std::uint8_t>(b));
    }
  }
};

const ByteLevelAlphabet& alphabet() {
  static const ByteLevelAlphabet table;
  return table;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Status tokenizer_fault(std::string what, std::string where) {
  return Status::bad_input(std::move(what), std::move(where), "give token ids instead of text");
}

Utf8Unit first_utf8_unit(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text[0]);
  if (lead < 0x80) return {Utf8Unit::Kind::kCharacter, 1};
  const Lead want = lead_of(lead);
  if (want.continuation == 0) return {Utf8Unit::Kind::kInvalid, 1};
  for (std::size_t i = 1; i <= want.continuation; ++i) {
    if (i >= text.size()) return {Utf8Unit::Kind::kPartial, i};
    const Range range = i == 1 ? want.second : Range{0x80, 0xBF};
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte < range.first || byte > range.last) return {Utf8Unit::Kind::kInvalid, i};
  }
  return {Utf8Unit::Kind::kCharacter, want.continuation + 1};
}

Status check_utf8(std::string_view text, const std::stop_token& stop) {
  for (std::size_t at = 0; at < text.size() && !stop.stop_requested();) {
    const Utf8Unit unit = first_utf8_unit(text.substr(at));
    if (unit.kind != Utf8Unit::Kind::kCharacter) {
      return Status::bad_input("the text is not UTF-8", fmt::format("byte offset {}", at),
                               "convert it to UTF-8");
    }
    at += unit.bytes;
  }
  return Status::ok();
}

char32_t first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<std::uint8_t>(text[i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return lead;
  if (lead < 0xE0) return (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  if (lead < 0xF0) return (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        const std::stop_token& stop) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  for (std::size_t hit; !from.empty() && (hit = text.find(from, at)) != std::string_view::npos;) {
    if (stop.stop_requested()) break;
    out.append(text, at, hit - at);
    out.append(to);
    at = hit + from.size();
  }
  out.append(text.substr(at));
  return out;
}

const std::string& byte_level_character(std::uint8_t byte) { return alphabet().characters[byte]; }

std::string to_byte_level(std::string_view bytes, const std::stop_token& stop) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char c : bytes) {
    if (stop.stop_requested()) break;
    out += byte_level_character(static_cast<std::uint8_t>(c));
  }
  return out;
}

std::optional<std::string> from_byte_level(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Unit unit = first_utf8_unit(text);
    if (unit.kind != Utf8Unit::Kind::kCharacter) return std::nullopt;
    const auto found = alphabet().bytes.find(first_character(text));
    if (found == alphabet().bytes.end()) return std::nullopt;
    out.push_back(static_cast<char>(found->second));
    text.remove_prefix(unit.bytes);
  }
  return out;
}

std::optional<std::uint8_t> parse_byte_token(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>') return std::nullopt;
  const int high = hex_digit(token[3]);
  const int low = hex_digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<std::uint8_t>(high * 16 + low);
}

std::string byte_token(std::uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace lamina
