// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tokenizer_normalize.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "engine/model/tokenizer_text.h"

namespace lamina {
namespace {

constexpr std::size_t kMaxResult = std::size_t{1} << 30;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Canonical ordering: each run of marks, sorted by combining class. utf8proc's own sort is
// quadratic in the length of the run; this one counts.
void order_marks(std::vector<utf8proc_int32_t>& text, const std::stop_token& stop) {
  const auto mark_class = [](utf8proc_int32_t c) {
    return static_cast<std::size_t>(utf8proc_get_property(c)->combining_class);
  };
  std::vector<utf8proc_int32_t> sorted;
  for (std::size_t at = 0; at < text.size() && !stop.stop_requested();) {
    std::array<std::size_t, 257> begin{};  // of each class in `sorted`
    std::size_t end = at;
    for (; end < text.size() && mark_class(text[end]) != 0; ++end) {
      if (stop.stop_requested()) return;
      ++begin[mark_class(text[end]) + 1];
    }
    if (end - at > 1) {
      std::partial_sum(begin.begin(), begin.end(), begin.begin());
      sorted.resize(end - at);
      for (std::size_t i = at; i < end; ++i) sorted[begin[mark_class(text[i])]++] = text[i];
      std::copy(sorted.begin(), sorted.end(), text.begin() + static_cast<std::ptrdiff_t>(at));
    }
    at = std::max(end, at + 1);
  }
}

// Whether nothing before a fully decomposed text that begins with `c` changes with it: `c` is not
// reordered and is not the second part of any composition (those are marks and Hangul jamo).
bool begins_afresh(utf8proc_int32_t c) {
  if (c < 0x80) return true;
  const bool jamo =
      (c >= 0x1100 && c <= 0x11FF) || (c >= 0xA960 && c <= 0xA97F) || (c >= 0xD7B0 && c <= 0xD7FF);
  const utf8proc_category_t category = utf8proc_category(c);
  const bool mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
                    category == UTF8PROC_CATEGORY_ME;
  return !jamo && !mark;
}

class Normal : public NormalizeStep {
 public:
  explicit Normal(NormalForm form) : form_(form) {}

  // Stretch by stretch, so that little memory is taken and a stop is heard.
  Status apply(std::string& text, const std::stop_token& stop) const override {
    if (is_ascii(text)) return Status::ok();
    const bool compatibility = form_ == NormalForm::kNfkc || form_ == NormalForm::kNfkd;
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                        (compatibility ? UTF8PROC_COMPAT : 0));
    std::string out;
    out.reserve(text.size());
    std::vector<utf8proc_int32_t> stretch;
    utf8proc_int32_t buffer[32];  // no more than 18 code points come from one (U+FDFA under NFKD)
    for (std::string_view rest = text; !rest.empty() && !stop.stop_requested();) {
      int boundary = 0;
      const auto n = std::clamp<utf8proc_ssize_t>(
          utf8proc_decompose_char(static_cast<utf8proc_int32_t>(first_character(rest)), buffer, 32,
                                  options, &boundary),
          0, 32);
      if (n > 0 && stretch.size() >= kStretch && begins_afresh(buffer[0])) {
        LAMINA_RETURN_IF_ERROR(finish(stretch, out, stop));
      }
      stretch.insert(stretch.end(), buffer, buffer + n);
      rest.remove_prefix(first_utf8_unit(rest).bytes);
    }
    LAMINA_RETURN_IF_ERROR(finish(stretch, out, stop));
    text = std::move(out);
    return Status::ok();
  }

 private:
  static constexpr std::size_t kStretch = 65536;

  // Orders and composes a decomposed stretch, appends it to `out` and empties it.
  Status finish(std::vector<utf8proc_int32_t>& stretch, std::string& out,
                const std::stop_token& stop) const {
    order_marks(stretch, stop);
    auto size = static_cast<utf8proc_ssize_t>(stretch.size());
    if (form_ == NormalForm::kNfc || form_ == NormalForm::kNfkc) {
      size = utf8proc_normalize_utf32(
          stretch.data(), size, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    }
    if (size < 0) {
      return Status::runtime(fmt::format("Unicode normalisation failed: {}", utf8proc_errmsg(size)),
                             "text", "give token ids instead of text");
    }
    for (utf8proc_ssize_t i = 0; i < size && !stop.stop_requested(); ++i) {
      append_utf8(out, static_cast<char32_t>(stretch[static_cast<std::size_t>(i)]));
    }
    stretch.clear();
    return Status::ok();
  }

  NormalForm form_;
};

class Prepend : public NormalizeStep {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Status apply(std::string& text, const std::stop_token&) const override {
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
  Status apply(std::string& text, const std::stop_token& stop) const override {
    TextMatcher matcher(pattern_);
    LAMINA_ASSIGN_OR_RETURN(const std::vector<TextSpan> matches, matcher.find_all(text, stop));
    if (matches.empty()) return Status::ok();
    if (content_.size() > (kMaxResult - std::min(text.size(), kMaxResult)) / matches.size()) {
      return tokenizer_fault("the normalizer makes the text too long", "text");
    }
    std::string out;
    std::size_t at = 0;
    for (const TextSpan& match : matches) {
      if (stop.stop_requested()) break;
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
  Status apply(std::string& text, const std::stop_token& stop) const override {
    std::size_t begin = 0, kept = 0;  // [begin, kept) is what stays
    bool started = !left_;
    for (std::size_t at = 0; at < text.size() && !stop.stop_requested();) {
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

Result<std::string> normalize(const NormalizeSteps& steps, std::string_view text,
                              const std::stop_token& stop) {
  std::string out(text);
  for (const auto& step : steps) LAMINA_RETURN_IF_ERROR(step->apply(out, stop));
  return out;
}

}  // namespace lamina
