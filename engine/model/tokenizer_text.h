// SPDX-License-Identifier: Apache-2.0
// Bytes and characters of the tokenizers: strict UTF-8, the byte-level alphabet of GPT-2 and the
// "<0xHH>" byte tokens of SentencePiece. Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace lamina {

// The first unit of a non-empty byte string: a whole character, the start of one that the end of
// the text cuts off, or bytes that no continuation can make valid (the maximal subpart, which
// decoders replace by one U+FFFD; Unicode 15, section 3.9).
struct Utf8Unit {
  enum class Kind { kCharacter, kPartial, kInvalid };
  Kind kind = Kind::kInvalid;
  std::size_t bytes = 1;
};
Utf8Unit first_utf8_unit(std::string_view text);

// A tokenizer, or a text that it cannot work on; token ids need neither.
Status tokenizer_fault(std::string what, std::string where);

// Of the functions below that take a stop token: after a stop request they return soon, with
// anything.

// kBadInput with the byte offset where text is not UTF-8 (overlong forms and surrogates included).
Status check_utf8(std::string_view text, const std::stop_token& stop = {});
// The character at the start of valid, non-empty UTF-8.
char32_t first_character(std::string_view text);
void append_utf8(std::string& out, char32_t character);
// Unicode's White_Space property.
bool is_white_space(char32_t character);
std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        const std::stop_token& stop = {});

// The printable character that byte-level BPE writes for a byte, as UTF-8.
const std::string& byte_level_character(std::uint8_t byte);
std::string to_byte_level(std::string_view bytes, const std::stop_token& stop = {});
// The inverse; nullopt where a character is not of that alphabet.
std::optional<std::string> from_byte_level(std::string_view text);

// The byte of "<0xHH>"; nullopt for anything else, "<0x-1>" and "<0xZZ>" included.
std::optional<std::uint8_t> parse_byte_token(std::string_view token);
// "<0xHH>" with capital digits.
std::string byte_token(std::uint8_t byte);

}  // namespace lamina
