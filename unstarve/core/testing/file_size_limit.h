#pragma once
// For tests: limits the size of files that this process writes, to imitate a full disk. A write at the limit is short,
// and the next one fails with EFBIG. The limit applies to the whole process: use one at a time and write from one
// thread.

#include <sys/resource.h>

#include <csignal>
#include <stdexcept>

namespace unstarve::testing {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    if (::getrlimit(RLIMIT_FSIZE, &before_) != 0) throw std::runtime_error("cannot read RLIMIT_FSIZE");
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      std::signal(SIGXFSZ, handler_);
      throw std::runtime_error("cannot set RLIMIT_FSIZE");
    }
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

}  // namespace unstarve::testing
