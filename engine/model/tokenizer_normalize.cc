// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_normalize.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr std::size_t kMaxResult = std::size_t{1} << 30;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Decomposes each character; no more than 18 code points come from one (U+FDFA under NFKD).
std::vector<utf8proc_int32_t> decompose(std::string_view text, bool compatibility) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatibility ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  utf8proc_int32_t buffer[32];
  while (!text.empty()) {
    int boundary = 0;
    const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(first_character(text)),
                                           buffer, 32, options, &boundary);
    out.insert(out.end(), buffer, buffer + std::clamp<utf8proc_ssize_t>(n, 0, 32));
    text.remove_prefix(first_utf8_unit(text).bytes);
  }
  return out;
}

// Canonical ordering: each run of marks, sorted by combining class. utf8proc's own sort is
// quadratic in the length of the run.
void order_marks(std::vector<utf8proc_int32_t>& text) {
  const auto mark_class = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  for (auto at = text.begin(); at != text.end();) {
    if (mark_class(*at) == 0) {
      ++at;
      continue;
    }
    const auto end =
        std::find_if(at, text.end(), [&](utf8proc_int32_t c) { return mark_class(c) == 0; });
    std::stable_sort(at, end, [&](utf8proc_int32_t a, utf8proc_int32_t b) {
      return mark_class(a) < mark_class(b);
    });
    at = end;
  }
}

class Normal : public NormalizeStep {
 public:
  explicit Normal(NormalForm form) : form_(form) {}
  Status apply(std::string& text) const override {
    if (is_ascii(text)) return Status::ok();
    std::vector<utf8proc_int32_t> characters =
        decompose(text, form_ == NormalForm::kNfkc || form_ == NormalForm::kNfkd);
    order_marks(characters);
    auto size = static_cast<utf8proc_ssize_t>(characters.size());
    if (form_ == NormalForm::kNfc || form_ == NormalForm::kNfkc) {
      size = utf8proc_normalize_utf32(
          characters.data(), size,
          static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    }
    if (size < 0)
      return Status::runtime(
          fmt::format("Unicode normalisation failed: {}", utf8proc_errmsg(size)));
    text.clear();
    for (utf8proc_ssize_t i = 0; i < size; ++i) {
      append_utf8(text, static_cast<char32_t>(characters[static_cast<std::size_t>(i)]));
    }
    return Status::ok();
  }

 private:
  NormalForm form_;
};

class Prepend : public NormalizeStep {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Status apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, prefix_);
    return Status::ok();
  }

 private:
  std::string prefix_;
};

class Replace : public NormalizeStep {
 public:
  Replace(TextRegex pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status apply(std::string& text) const override {
    TextMatcher matcher(pattern_);
    LAMINA_ASSIGN_OR_RETURN(const std::vector<TextSpan> matches, matcher.find_all(text));
    if (matches.empty()) return Status::ok();
    if (content_.size() > (kMaxResult - std::min(text.size(), kMaxResult)) / matches.size()) {
      return Status::bad_input("the normalizer makes the text too long", "text");
    }
    std::string out;
    std::size_t at = 0;
    for (const TextSpan& match : matches) {
      out.append(text, at, match.begin - at);
      out += content_;
      at = match.end;
    }
    out.append(text, at);
    text = std::move(out);
    return Status::ok();
  }

 private:
  TextRegex pattern_;
  std::string content_;
};

class Strip : public NormalizeStep {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Status apply(std::string& text) const override {
    std::size_t begin = 0, kept = 0;  // [begin, kept) is what stays
    bool started = !left_;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view rest = std::string_view(text).substr(at);
      const bool white = is_white_space(first_character(rest));
      if (!white && !std::exchange(started, true)) begin = at;
      at += first_utf8_unit(rest).bytes;
      if (!white) kept = at;
    }
    if (!started) begin = text.size();
    if (!right_) kept = text.size();
    text = kept > begin ? text.substr(begin, kept - begin) : std::string();
    return Status::ok();
  }

 private:
  bool left_, right_;
};

}  // namespace

std::unique_ptr<const NormalizeStep> make_normal_form(NormalForm form) {
  return std::make_unique<Normal>(form);
}
std::unique_ptr<const NormalizeStep> make_prepend(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}
std::unique_ptr<const NormalizeStep> make_replace(TextRegex pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
std::unique_ptr<const NormalizeStep> make_strip(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}

Result<std::string> normalize(const NormalizeSteps& steps, std::string_view text) {
  std::string out(text);
  for (const auto& step : steps) LAMINA_RETURN_IF_ERROR(step->apply(out));
  return out;
}

}  // namespace lamina
