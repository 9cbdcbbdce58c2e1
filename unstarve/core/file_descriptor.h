#pragma once
// An open file descriptor, closed by the destructor. Movable, not copyable. Threads: as an int.

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace unstarve {

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor = -1) noexcept : descriptor_(descriptor) {}
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] bool valid() const noexcept { return descriptor_ >= 0; }
  // Releases ownership: the caller closes the descriptor.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// An flock() of an open file while it lives, between processes; threads of a process also need a mutex. Sets errno on
// failure.
class FileLock {
 public:
  // `mode`: LOCK_SH or LOCK_EX, with LOCK_NB to fail instead of waiting.
  FileLock(int file, int mode) : file_(file) {
    int result = ::flock(file, mode);
    while (result != 0 && errno == EINTR) result = ::flock(file, mode);
    held_ = result == 0;
  }
  ~FileLock() {
    if (held_) (void)::flock(file_, LOCK_UN);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  [[nodiscard]] bool held() const { return held_; }

 private:
  int file_;
  bool held_;
};

}  // namespace unstarve
