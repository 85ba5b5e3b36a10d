// SPDX-License-Identifier: Apache-2.0
#include "app/cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

namespace lamina::cli {
namespace {

struct Printer {
  using Clock = std::chrono::steady_clock;
  bool terminal = isatty(STDERR_FILENO) != 0;
  Clock::time_point last{};
  std::string stage;

  void operator()(const Progress& progress) {
    auto now = Clock::now();
    bool finished = progress.total > 0 && progress.done >= progress.total;
    bool new_stage = progress.stage != stage;
    auto pause = terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(2000);
    if (!finished && !new_stage && now - last < pause) return;
    stage = progress.stage;
    last = now;
    if (terminal) {
      fmt::print(stderr, "\r\x1b[K{}{}", to_string(progress), finished ? "\n" : "");
      line_open() = !finished;
    } else {
      fmt::print(stderr, "{}\n", to_string(progress));
    }
    std::fflush(stderr);
  }

  static bool& line_open() {
    static bool open = false;
    return open;
  }
};

Status write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return Status::runtime("cannot write the output", "standard output",
                           "check the pipe or the disk");
  }
  return Status::ok();
}

}  // namespace

std::function<void(const Progress&)> progress_printer() {
  auto printer = std::make_shared<Printer>();
  return [printer](const Progress& progress) { (*printer)(progress); };
}

void finish_progress() {
  if (!Printer::line_open()) return;
  fmt::print(stderr, "\n");
  Printer::line_open() = false;
}

Result<std::vector<std::int32_t>> parse_ids(const std::string& option, const std::string& text) {
  std::vector<std::int32_t> ids;
  if (!text.empty() && text[0] == '@') {
    std::string path = text.substr(1);
    LAMINA_ASSIGN_OR_RETURN(Json list, read_json_file(path));
    if (!list.is_array()) {
      return Status::bad_input("a JSON list of token ids was expected", path, "write [1, 2, 3]");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      LAMINA_ASSIGN_OR_RETURN(
          std::int64_t id,
          json_to_int(list[i], fmt::format("{}: [{}]", path, i), INT32_MIN, INT32_MAX));
      ids.push_back(static_cast<std::int32_t>(id));
    }
    return ids;
  }
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at < end) {
    std::int32_t id = 0;
    auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || (next < end && (*next != ',' || next + 1 == end))) {
      return Status::usage(fmt::format("'{}' is not a list of token ids", text), option,
                           "write 1,2,3 or @FILE with a JSON list");
    }
    ids.push_back(id);
    at = next < end ? next + 1 : next;
  }
  return ids;
}

Status check_output(const std::string& option, const std::string& path,
                    const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path.empty()) return Status::usage("the file name is empty", option, "name a file");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return Status::runtime("the output's folder does not exist", path, "create it first");
  }
  if (!fs::is_regular_file(path, error)) return Status::ok();
  for (const std::string& input : inputs) {
    if (!input.empty() && fs::equivalent(path, input, error)) {
      return Status::usage("the output would replace an input", option + " " + path,
                           "name another file");
    }
  }
  std::ifstream old(path, std::ios::binary);
  const int first = old.get();
  if (first != std::ifstream::traits_type::eof() && first != '{') {
    return Status::usage("the output would replace a file that is no JSON document",
                         option + " " + path, "name another file, or remove this one");
  }
  return Status::ok();
}

Status empty_prompt(const std::string& option) {
  return Status::bad_input("the prompt is empty", option, "give at least one token");
}

Status at_option(const Status& status, const std::string& option) {
  if (status.is_ok() || !status.where().empty()) return status;
  return Status(status.kind(), status.what(), option, status.advice());
}

Result<std::shared_ptr<const Checkpoint>> open_complete(const std::string& path) {
  LAMINA_ASSIGN_OR_RETURN(auto checkpoint, Checkpoint::open(path));
  LAMINA_RETURN_IF_ERROR(checkpoint->require_complete());
  return checkpoint;
}

Status print_json(const OrderedJson& document) {
  return write_stdout(document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

Status print_text(const std::string& text) { return write_stdout(text); }

}  // namespace lamina::cli
