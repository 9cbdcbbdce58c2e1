#pragma once
// For tests: files of this process may not grow beyond a size, as on a full disk. A write stops short there, and the
// next fails with EFBIG. The limit is the process's: one at a time, no other threads that write.

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
