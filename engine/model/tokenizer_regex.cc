// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr std::size_t kMaxPattern = 64 * 1024;
// Steps one match may take: a fixed part and a part for each byte that is left (`\s*[\r\n]+` walks
// back over a whole run of blanks). Real patterns stay far below; (a+)+b does not.
constexpr std::uint64_t kMatchSteps = 2'000'000;
constexpr std::uint64_t kMatchStepsPerByte = 8;
constexpr std::size_t kJitStackMax = std::size_t{8} << 20;

template <class T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* p) const { Free(p); }
};
using CodePtr = std::unique_ptr<pcre2_code, Deleter<pcre2_code, pcre2_code_free>>;
using MatchDataPtr =
    std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data, pcre2_match_data_free>>;
using ContextPtr =
    std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context, pcre2_match_context_free>>;
using CompileContextPtr =
    std::unique_ptr<pcre2_compile_context,
                    Deleter<pcre2_compile_context, pcre2_compile_context_free>>;
using JitStackPtr =
    std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack, pcre2_jit_stack_free>>;

std::string pcre2_text(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof buffer) < 0)
    return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(buffer);
}

// Rewrites Oniguruma's syntax (Ruby flavour) into PCRE2's.
class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  // "" in fault() on success.
  std::string run() {
    while (at_ < in_.size() && fault_.empty()) step();
    if (fault_.empty() && in_class_) fault_ = "an open character class";
    return std::move(out_);
  }
  const std::string& fault() const { return fault_; }

 private:
  // Letters, marks, digits and connectors; outside a class Oniguruma adds the other numbers of
  // Latin-1.
  static constexpr std::string_view kWordInClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
  static constexpr std::string_view kWord =
      R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";

  bool next_is(std::string_view text) const { return in_.substr(at_, text.size()) == text; }
  void copy(std::size_t bytes) {
    out_.append(in_, at_, bytes);
    at_ += bytes;
  }

  void step() {
    if (in_[at_] == '\\') return escape();
    if (in_class_) return class_member();
    if (in_[at_] == '[') {
      in_class_ = true;
      copy(next_is("[^") ? 2 : 1);
      class_start_ = true;
      return;
    }
    if (next_is("(?")) return group();
    if (next_is("(*")) return fail("(*");
    if (in_[at_] == '{') return interval();
    copy(1);
  }

  void class_member() {
    if (in_[at_] == '[') return fail("[ inside a character class");
    if (next_is("&&")) return fail("&& inside a character class");
    if (in_[at_] == ']') {
      if (class_start_) return fail("an empty character class");
      in_class_ = false;
    }
    class_start_ = false;
    copy(1);
  }

  void escape() {
    if (at_ + 1 >= in_.size()) return fail("a lone backslash");
    const char c = in_[at_ + 1];
    const std::string_view shown = in_.substr(at_, 2);
    class_start_ = false;
    std::string_view instead;
    switch (c) {
      case 's':
        instead = R"(\p{White_Space})";
        break;
      case 'S':
        instead = R"(\P{White_Space})";
        break;
      case 'd':
        instead = R"(\p{Nd})";
        break;
      case 'D':
        instead = R"(\P{Nd})";
        break;
      case 'h':
        instead = in_class_ ? "0-9A-Fa-f" : "[0-9A-Fa-f]";
        break;
      case 'w':
        at_ += 2;
        out_ += in_class_ ? std::string(kWordInClass) : fmt::format("[{}]", kWord);
        return;
      case 'W':
        if (in_class_) return fail(shown);
        at_ += 2;
        out_ += fmt::format("[^{}]", kWord);
        return;
      case 'p':
      case 'P':
        return property();
      case 'v':
        instead = R"(\x{0B})";
        break;
      case 'u':
        return unicode_escape();
      default: {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter && std::string_view("tnrfaexAzZ").find(c) == std::string_view::npos)
          return fail(shown);
        return copy(2);
      }
    }
    replace(2, instead);
  }

  void property() {
    const std::size_t close = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
      return fail(in_.substr(at_, 3));
    }
    copy(close + 1 - at_);
  }

  // \uHHHH
  void unicode_escape() {
    const std::string_view digits = in_.substr(at_ + 2, 4);
    if (digits.size() != 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      return fail("\\u");
    }
    replace(6, fmt::format("\\x{{{}}}", digits));
  }

  void group() {
    for (std::string_view plain : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (next_is(plain)) return copy(plain.size());
    }
    // (?i:...) anywhere, (?i) only at the very start: elsewhere its reach differs.
    for (std::string_view option : {"(?i:", "(?-i:"}) {
      if (next_is(option)) return copy(option.size());
    }
    if (at_ == 0 && next_is("(?i)")) return copy(4);
    fail(in_.substr(at_, 4));
  }

  void interval() {
    const std::size_t close = in_.find('}', at_);
    if (close == std::string_view::npos) return fail("{");
    const std::string_view body = in_.substr(at_ + 1, close - at_ - 1);
    if (body.empty() || body[0] == ',' ||
        body.find_first_not_of("0123456789,") != std::string_view::npos) {
      return fail(in_.substr(at_, close + 1 - at_));
    }
    if (close + 1 < in_.size() && in_[close + 1] == '+')
      return fail(in_.substr(at_, close + 2 - at_));
    copy(close + 1 - at_);
  }

  void replace(std::size_t bytes, std::string_view with) {
    at_ += bytes;
    out_ += with;
  }
  void fail(std::string_view construct) { fault_ = fmt::format("'{}'", construct); }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_, fault_;
  bool in_class_ = false, class_start_ = false;
};

}  // namespace

struct TextRegex::Code {
  CodePtr code;
  std::string shown;
};

Result<TextRegex> TextRegex::build(std::string_view source, std::string_view shown, bool is_literal,
                                   const std::string& where) {
  CompileContextPtr context(pcre2_compile_context_create(nullptr));
  if (!context) return Status::runtime("out of memory", where, "close other programs");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  // Oniguruma's ^ and $ are those of a line.
  const std::uint32_t options =
      is_literal ? PCRE2_LITERAL | PCRE2_UTF
                 : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  std::size_t offset = 0;
  CodePtr code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options,
                             &error, &offset, context.get()));
  if (!code) {
    return tokenizer_fault(
        fmt::format("the pattern '{}' cannot be compiled: {}", shown, pcre2_text(error)), where);
  }
  // Where this machine has no JIT the same matches are found by PCRE2's interpreter.
  const int jit = pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  if (jit != 0 && jit != PCRE2_ERROR_JIT_BADOPTION) {
    return tokenizer_fault(
        fmt::format("the pattern '{}' cannot be compiled: {}", shown, pcre2_text(jit)), where);
  }
  auto built = std::make_shared<Code>();
  built->code = std::move(code);
  built->shown = std::string(shown);
  return TextRegex(std::move(built));
}

Result<TextRegex> TextRegex::compile(std::string_view pattern, const std::string& where) {
  if (pattern.size() > kMaxPattern) {
    return tokenizer_fault(fmt::format("a pattern of {} bytes is too long", pattern.size()), where);
  }
  LAMINA_RETURN_IF_ERROR(check_utf8(pattern));
  Translator translator(pattern);
  const std::string source = translator.run();
  if (!translator.fault().empty()) {
    return tokenizer_fault(fmt::format("the pattern '{}' uses {}, which is not supported", pattern,
                                       translator.fault()),
                           where);
  }
  return build(source, pattern, false, where);
}

Result<TextRegex> TextRegex::literal(std::string_view text, const std::string& where) {
  if (text.empty()) return tokenizer_fault("an empty text cannot split another", where);
  if (text.size() > kMaxPattern) {
    return tokenizer_fault(fmt::format("a pattern of {} bytes is too long", text.size()), where);
  }
  LAMINA_RETURN_IF_ERROR(check_utf8(text));
  return build(text, text, true, where);
}

struct TextMatcher::Work {
  MatchDataPtr data{pcre2_match_data_create(1, nullptr)};
  ContextPtr context{pcre2_match_context_create(nullptr)};
  JitStackPtr stack{pcre2_jit_stack_create(32 * 1024, kJitStackMax, nullptr)};
};

TextMatcher::TextMatcher(const TextRegex& regex)
    : code_(regex.code_), work_(std::make_unique<Work>()) {
  if (work_->context && work_->stack) {
    pcre2_jit_stack_assign(work_->context.get(), nullptr, work_->stack.get());
  }
}
TextMatcher::~TextMatcher() = default;

Result<std::vector<TextSpan>> TextMatcher::find_all(std::string_view text,
                                                    const std::stop_token& stop) {
  std::vector<TextSpan> found;
  if (text.empty()) return found;
  if (!work_->data || !work_->context)
    return Status::runtime("out of memory", "tokenizer pattern", "close other programs");
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::size_t at = 0;
  std::size_t last_end = std::string_view::npos;
  while (at <= text.size() && !stop.stop_requested()) {
    const std::uint64_t limit = kMatchSteps + kMatchStepsPerByte * (text.size() - at);
    pcre2_set_match_limit(work_->context.get(),
                          static_cast<std::uint32_t>(std::min<std::uint64_t>(
                              limit, std::numeric_limits<std::uint32_t>::max())));
    // The text was checked once; PCRE2 would check all that is left at every match.
    const int rc = pcre2_match(code_->code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK,
                               work_->data.get(), work_->context.get());
    if (rc == PCRE2_ERROR_NOMATCH) break;
    const PCRE2_SIZE* match = pcre2_get_ovector_pointer(work_->data.get());
    if (rc < 0) {
      return tokenizer_fault(
          fmt::format("the pattern '{}' failed on the text: {}", code_->shown, pcre2_text(rc)),
          fmt::format("byte offset {}", at));
    }
    if (match[0] == match[1] && match[1] == last_end) {
      at += at < text.size() ? first_utf8_unit(text.substr(at)).bytes : 1;
      continue;
    }
    found.push_back({match[0], match[1]});
    at = last_end = match[1];
  }
  return found;
}

}  // namespace lamina
