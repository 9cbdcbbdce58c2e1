#include "unstarve/core/file_transfer.h"

#include <unistd.h>

#include <cerrno>

namespace unstarve {
namespace {

// `once(done)` transfers bytes from offset `done` on, and returns what read(2) and write(2) return.
template <class Once>
Transfer repeat(std::uint64_t bytes, const Once& once) noexcept {
  Transfer transfer;
  while (transfer.bytes < bytes) {
    const ssize_t moved = once(transfer.bytes);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) transfer.error = errno;
    if (moved <= 0) break;
    transfer.bytes += static_cast<std::uint64_t>(moved);
  }
  return transfer;
}

}  // namespace

Transfer read_at(int descriptor, std::uint64_t at, std::span<std::uint8_t> out) noexcept {
  return repeat(out.size(), [&](std::uint64_t done) {
    return ::pread(descriptor, out.data() + done, out.size() - done, static_cast<off_t>(at + done));
  });
}

Transfer write_at(int descriptor, std::uint64_t at, std::span<const std::uint8_t> bytes) noexcept {
  Transfer transfer = repeat(bytes.size(), [&](std::uint64_t done) {
    return ::pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
  });
  // pwrite() that returns 0 is not expected, but must not be reported as success.
  if (transfer.error == 0 && transfer.bytes < bytes.size()) transfer.error = ENOSPC;
  return transfer;
}

}  // namespace unstarve
