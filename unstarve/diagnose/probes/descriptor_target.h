#pragma once
// What descriptors of other processes refer to, for wait_of().
//
// Ownership: values. Threads: one at a time. Failure: none.
// Cost: one system call, and another one for each socket that is not that of the call before.

#include <filesystem>
#include <string>

namespace unstarve {

class DescriptorTarget {
 public:
  // `link`: /proc/PID/fd/N. "pipe:[4711]", "socket:[12]", "unix:[12]" for a socket between processes of this machine
  // (AF_UNIX), or a path; "" if unknown.
  [[nodiscard]] std::string read(const std::filesystem::path& link);

 private:
  std::string socket_;  // the latest one
  bool is_unix_ = false;
};

}  // namespace unstarve
