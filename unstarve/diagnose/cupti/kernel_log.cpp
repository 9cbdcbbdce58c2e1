#include "unstarve/diagnose/cupti/kernel_log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace unstarve {
namespace {

constexpr std::size_t kMostText = 1000;

}  // namespace

KernelLog::~KernelLog() {
  flush();
  if (file_ >= 0) close(file_);
}

bool KernelLog::open(const char* folder) noexcept {
  char path[4096];
  const int length = std::snprintf(path, sizeof path, "%s/%d.cupti", folder, static_cast<int>(getpid()));
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return false;
  file_ = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0) return false;
  // Beyond the limit of the process, a write would end the program by SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) most_ = std::min<std::uint64_t>(most_, limit.rlim_cur);
  KernelLogHeader header;
  std::memcpy(header.magic, kKernelLogMagic, sizeof header.magic);
  header.process = static_cast<std::uint32_t>(getpid());
  append(&header, sizeof header);
  flush();
  return !full_;
}

void KernelLog::add(const KernelLogEntry& entry) noexcept { append(&entry, sizeof entry); }

void KernelLog::add(KernelLogEntry entry, const char* text) noexcept {
  char padded[kMostText + 8] = {};
  const std::size_t length = std::min(std::strlen(text), kMostText);
  std::memcpy(padded, text, length);
  entry.value = length;
  append(&entry, sizeof entry);
  append(padded, (length + 7) / 8 * 8);
}

bool KernelLog::is_removed() const noexcept {
  struct stat state {};
  return file_ < 0 || fstat(file_, &state) != 0 || state.st_nlink == 0;
}

void KernelLog::append(const void* bytes, std::size_t size) noexcept {
  if (used_ + size > sizeof buffer_) flush();
  if (full_ || file_ < 0) return;
  if (written_ + used_ + size > most_) {
    flush();
    full_ = true;
    return;
  }
  std::memcpy(buffer_ + used_, bytes, size);
  used_ += size;
}

void KernelLog::flush() noexcept {
  std::size_t done = 0;
  while (done < used_ && !full_) {
    const ssize_t written = ::write(file_, buffer_ + done, used_ - done);
    if (written < 0 && errno == EINTR) continue;
    full_ = written <= 0;
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  written_ += done;
  used_ = 0;
}

}  // namespace unstarve
