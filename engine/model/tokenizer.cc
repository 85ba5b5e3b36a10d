// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer.h"

#include <fmt/format.h>

#include <exception>

#include "engine/model/tokenizer_bpe.h"
#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Moves what is certain from the front of `bytes` to the result; at_end: nothing more will come.
std::string take_text(std::string& bytes, bool at_end) {
  std::string out;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Unit unit = first_utf8_unit(std::string_view(bytes).substr(at));
    if (unit.kind == Utf8Unit::Kind::kPartial && !at_end) break;
    if (unit.kind == Utf8Unit::Kind::kCharacter) {
      out.append(bytes, at, unit.bytes);
    } else {
      out += kReplacement;
    }
    at += unit.bytes;
  }
  bytes.erase(0, at);
  return out;
}

Result<std::shared_ptr<const Tokenizer>> make_of_kind(const TokenizerData& data) {
  switch (data.kind) {
    case TokenizerData::Kind::kGgufBpe:
      return make_gguf_bpe_tokenizer(data);
    case TokenizerData::Kind::kGgufSpm:
      return make_gguf_spm_tokenizer(data);
    case TokenizerData::Kind::kHfJson:
      return make_hf_tokenizer(data);
    case TokenizerData::Kind::kNone:
      break;
  }
  return Status::bad_input(data.reason.empty() ? "the checkpoint has no tokenizer" : data.reason,
                           data.where, "give token ids instead of text");
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::make(const TokenizerData& data) {
  try {
    return make_of_kind(data);
  } catch (const std::exception& error) {
    return Status::runtime(fmt::format("the tokenizer could not be built: {}", error.what()),
                           data.where, "give token ids instead of text");
  }
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text, bool parse_special,
                                                    const std::stop_token& stop) const {
  if (text.size() > kMaxTokenizerText) {
    return Status::bad_input(fmt::format("a text of {} bytes is too long to tokenize", text.size()),
                             "text", fmt::format("give at most {} bytes", kMaxTokenizerText));
  }
  try {
    const Status valid = check_utf8(text, stop);
    auto ids = valid.is_ok() ? encode_checked(text, parse_special, stop)
                             : Result<std::vector<std::int32_t>>(valid);
    if (stop.stop_requested()) return Status::cancelled();
    return ids;
  } catch (const std::exception&) {  // only memory can fail here
    return Status::runtime("out of memory", "tokenizer", "give it less text at once");
  }
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  // The decoder lives no longer than this call, so it need not own the tokenizer.
  TokenDecoder decoder(std::shared_ptr<const Tokenizer>(std::shared_ptr<void>(), this));
  std::string out;
  for (std::int32_t id : ids) out += decoder.push(id);
  out += decoder.finish();
  return out;
}

TokenDecoder::TokenDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool continues)
    : tokenizer_(std::move(tokenizer)), first_(!continues) {}

std::string TokenDecoder::push(std::int32_t id) {
  const std::string bytes = tokenizer_->token_bytes(id);
  if (bytes.empty()) return {};
  const bool strip = first_ && tokenizer_->strips_leading_space() && bytes[0] == ' ';
  first_ = false;
  pending_.append(bytes, strip ? 1 : 0);
  return take_text(pending_, false);
}

std::string TokenDecoder::finish() { return take_text(pending_, true); }

}  // namespace lamina
