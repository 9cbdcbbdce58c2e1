#include "unstarve/core/error.h"

#include <system_error>

namespace unstarve {

const char* to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kArgument: return "argument";
    case ErrorKind::kInput: return "input";
    case ErrorKind::kIo: return "io";
    case ErrorKind::kMemory: return "memory";
    case ErrorKind::kMissing: return "missing";
    case ErrorKind::kCheck: return "check";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kInternal: return "internal";
  }
  return "unknown";
}

Error io_error(const std::string& operation, const std::string& path, int errno_value) {
  return Error(ErrorKind::kIo, operation + " " + path + ": " + std::generic_category().message(errno_value));
}

}  // namespace unstarve
