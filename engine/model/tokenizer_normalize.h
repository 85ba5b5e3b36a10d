// SPDX-License-Identifier: Apache-2.0
// Normalizers: what happens to the text before it is split. The steps mean what the steps of the
// same name in tokenizer.json mean. Immutable and thread-safe.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/tokenizer_regex.h"

namespace lamina {

class NormalizeStep {
 public:
  virtual ~NormalizeStep() = default;
  // text is valid UTF-8 and stays so. Errors: those of TextMatcher::find_all. After a
  // stop request it returns soon, with anything.
  virtual Status apply(std::string& text, const std::stop_token& stop) const = 0;
};
using NormalizeSteps = std::vector<std::unique_ptr<const NormalizeStep>>;

// Unicode normal forms (UAX 15).
enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
std::unique_ptr<const NormalizeStep> make_normal_form(NormalForm form);
// Puts `prefix` before a text that is not empty.
std::unique_ptr<const NormalizeStep> make_prepend(std::string prefix);
// Every match becomes `content`.
std::unique_ptr<const NormalizeStep> make_replace(TextRegex pattern, std::string content);
// Takes white space off the ends.
std::unique_ptr<const NormalizeStep> make_strip(bool left, bool right);

Result<std::string> normalize(const NormalizeSteps& steps, std::string_view text,
                              const std::stop_token& stop);

}  // namespace lamina
