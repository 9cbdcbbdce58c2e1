#pragma once
// The one exception type of the library, and what kind of failure it reports.
//
// Expected outcomes are values (see result.h); an Error is thrown when an operation cannot do what it was asked.
// A message names the operation, the object (path, record, stage), what was found and what was expected, and, where
// there is a remedy, the remedy. No exception leaves a thread: workers hand it to their consumer.

#include <stdexcept>
#include <string>

namespace unstarve {

enum class ErrorKind {
  kArgument,   // the caller's request makes no sense (program exit code 2)
  kInput,      // data that was read is not what it should be (3)
  kIo,         // the operating system refused: missing, unreadable, disk full (3)
  kMemory,     // a budget or the machine's memory is exhausted (3)
  kMissing,    // a component this build or machine does not have (4)
  kCheck,      // a check that was asked for failed (1)
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
