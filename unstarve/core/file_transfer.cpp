#include "unstarve/core/file_transfer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "unstarve/core/error.h"

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

namespace fs = std::filesystem;

// The free space or the limit that was exceeded, or empty if unknown.
std::string limit_text(const std::string& path, int reason) {
  if (reason == EDQUOT) return "; the quota is used up";
  if (reason == EFBIG) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
    return "; the limit of file sizes (RLIMIT_FSIZE) is " + std::to_string(limit.rlim_cur) + " bytes";
  }
  const fs::path folder = fs::path(path).parent_path();
  std::error_code failed;
  const fs::space_info space = fs::space(folder.empty() ? "." : folder, failed);
  return failed ? "" : "; " + std::to_string(space.available) + " bytes are free";
}

Error write_error(const std::string& path, std::uint64_t written, int reason) {
  const Error error = io_error("write", path, reason);
  if (reason != ENOSPC && reason != EDQUOT && reason != EFBIG) return error;
  return {ErrorKind::kIo, error.what() + (" after " + std::to_string(written) + " bytes") + limit_text(path, reason)};
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

void write_fully(int descriptor, const std::string& path, std::uint64_t at, std::span<const std::uint8_t> bytes) {
  const Transfer written = write_at(descriptor, at, bytes);
  if (written.error != 0) throw write_error(path, at + written.bytes, written.error);
}

}  // namespace unstarve
