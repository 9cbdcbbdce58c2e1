#pragma once
// The library's only exception type.
//
// Expected outcomes are return values; an Error is thrown when an operation cannot do what was requested.
// A message names the operation, the object (path, record, stage), what was found, what was expected and, if known, how
// to fix it. No exception leaves a thread: workers pass it to their consumer.

#include <stdexcept>
#include <string>

namespace unstarve {

enum class ErrorKind {
  kArgument,   // invalid request by the caller (program exit code 2)
  kInput,      // invalid data (3)
  kIo,         // the operating system reported an error: missing, unreadable, disk full (3)
  kMemory,     // a memory limit or the machine's memory is exhausted (3)
  kMissing,    // a component that this build or machine does not have (4)
  kCheck,      // a requested check failed (1)
  kCancelled,  // stopped by the user or by close() (1)
  kInternal,   // a defect of unstarve itself (1)
};

// The kind's name in messages and JSON: "argument", "input", "io", ...
[[nodiscard]] const char* to_string(ErrorKind kind) noexcept;

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// An Error(kIo) for a failed system call: "<operation> <path>: <strerror(errno)>".
[[nodiscard]] Error io_error(const std::string& operation, const std::string& path, int errno_value);

}  // namespace unstarve
