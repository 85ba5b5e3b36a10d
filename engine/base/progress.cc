// SPDX-License-Identifier: Apache-2.0
#include "engine/base/progress.h"

#include <fmt/format.h>

#include "engine/base/clock.h"
#include "engine/base/units.h"

namespace lamina {

std::string to_string(const Progress& p) {
  std::string out = p.stage;
  const bool bytes = p.unit == "bytes";
  if (p.total > 0) {
    out += bytes ? fmt::format(" {} of {}", format_mb(p.done), format_mb(p.total))
                 : fmt::format(" {}/{} {}", p.done, p.total, p.unit);
  }
  if (p.rate > 0) {
    out += bytes ? fmt::format(", {}/s", format_mb(static_cast<std::int64_t>(p.rate)))
                 : fmt::format(", {:.3g} {}/s", p.rate, p.unit);
  }
  if (p.remaining_s >= 0) out += fmt::format(", {:.1f} s left", p.remaining_s);
  return out;
}

StageProgress::StageProgress(const JobContext& context, std::string stage, std::int64_t total,
                             std::string unit)
    : context_(context), start_s_(now_s()) {
  progress_.stage = std::move(stage);
  progress_.total = total;
  progress_.unit = std::move(unit);
  report(0);
}

void StageProgress::report(std::int64_t done) {
  if (!context_.on_progress) return;
  progress_.done = done;
  progress_.elapsed_s = now_s() - start_s_;
  if (done > 0 && progress_.elapsed_s > 0) {
    progress_.rate = static_cast<double>(done) / progress_.elapsed_s;
    if (progress_.total > 0) {
      progress_.remaining_s = static_cast<double>(progress_.total - done) / progress_.rate;
    }
  }
  context_.on_progress(progress_);
}

}  // namespace lamina
