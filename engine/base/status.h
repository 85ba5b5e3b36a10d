// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: how every public function of the engine reports failure. An error is a
// value that says what went wrong, where, and what to do about it; its kind is the command line's
// exit code. No exception crosses a public function, a thread or a Qt slot. Both types are plain
// values and as thread-safe as a std::string.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lamina {

// The numbers are the exit codes of `lamina` and must not change.
enum class ErrorKind : int {
  kNone = 0,
  kRefused = 1,     // a check said no, or a budget is infeasible
  kUsage = 2,       // the caller's words are wrong
  kBadInput = 3,    // a file, prompt or table cannot be used
  kRuntime = 4,     // the machine failed: disk, memory, device
  kCancelled = 130  // somebody asked us to stop
};

// Text from a file, safe to show: control characters, direction marks and bytes that are not UTF-8
// become \xNN.
std::string printable(std::string_view text);

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  // what: the fault in a few words. where: the file, layer or field. advice: what the user can do.
  Status(ErrorKind kind, std::string what, std::string where = {}, std::string advice = {})
      : kind_(kind), what_(std::move(what)), where_(std::move(where)), advice_(std::move(advice)) {}

  static Status ok() { return {}; }
  static Status refused(std::string what, std::string where = {}, std::string advice = {}) {
    return {ErrorKind::kRefused, std::move(what), std::move(where), std::move(advice)};
  }
  static Status usage(std::string what, std::string where = {}, std::string advice = {}) {
    return {ErrorKind::kUsage, std::move(what), std::move(where), std::move(advice)};
  }
  static Status bad_input(std::string what, std::string where = {}, std::string advice = {}) {
    return {ErrorKind::kBadInput, std::move(what), std::move(where), std::move(advice)};
  }
  static Status runtime(std::string what, std::string where = {}, std::string advice = {}) {
    return {ErrorKind::kRuntime, std::move(what), std::move(where), std::move(advice)};
  }
  static Status cancelled() { return {ErrorKind::kCancelled, "cancelled"}; }

  bool is_ok() const { return kind_ == ErrorKind::kNone; }
  explicit operator bool() const { return is_ok(); }
  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& what() const { return what_; }
  const std::string& where() const { return where_; }
  const std::string& advice() const { return advice_; }
  // One line: "WHAT (WHERE): WHAT TO DO"; parts that are empty are left out. Always valid UTF-8:
  // control characters and stray bytes of hostile file contents are written \\x1b. "" for success.
  std::string message() const;

 private:
  ErrorKind kind_ = ErrorKind::kNone;
  std::string what_, where_, advice_;
};

// A value or the Status that explains why there is none. value() REQUIRES has_value().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  Status status() const { return has_value() ? Status::ok() : std::get<1>(state_); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace lamina

// Return the error of `expr` (a Status) from the surrounding function.
#define LAMINA_RETURN_IF_ERROR(expr)                    \
  do {                                                  \
    ::lamina::Status lamina_status_ = (expr);           \
    if (!lamina_status_.is_ok()) return lamina_status_; \
  } while (false)

#define LAMINA_CONCAT_INNER_(a, b) a##b
#define LAMINA_CONCAT_(a, b) LAMINA_CONCAT_INNER_(a, b)
// LAMINA_ASSIGN_OR_RETURN(auto x, f()): x = the value of the Result, or return its error.
#define LAMINA_ASSIGN_OR_RETURN(lhs, expr) \
  LAMINA_ASSIGN_OR_RETURN_(LAMINA_CONCAT_(lamina_result_, __LINE__), lhs, expr)
#define LAMINA_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.has_value()) return tmp.status();     \
  lhs = std::move(tmp).value()
