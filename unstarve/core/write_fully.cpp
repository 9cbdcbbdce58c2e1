#include "unstarve/core/write_fully.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

Error write_error(const std::string& path, std::uint64_t written, int reason) {
  const Error error = io_error("write", path, reason);
  if (reason != ENOSPC && reason != EDQUOT && reason != EFBIG) return error;
  std::string message = error.what() + (" after " + std::to_string(written) + " bytes of it");
  const fs::path folder = fs::path(path).parent_path();
  std::error_code failed;
  const fs::space_info space = fs::space(folder.empty() ? "." : folder, failed);
  if (!failed) message += "; " + std::to_string(space.available) + " bytes are free";
  return {ErrorKind::kIo, message};
}

}  // namespace

void write_fully(int descriptor, const std::string& path, std::uint64_t at, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) throw write_error(path, at, wrote < 0 ? errno : ENOSPC);
    at += static_cast<std::uint64_t>(wrote);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
}

}  // namespace unstarve
