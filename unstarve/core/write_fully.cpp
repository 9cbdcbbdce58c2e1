#include "unstarve/core/write_fully.h"

#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "unstarve/core/error.h"
#include "unstarve/core/file_transfer.h"

namespace unstarve {
namespace {

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

void write_fully(int descriptor, const std::string& path, std::uint64_t at, std::span<const std::uint8_t> bytes) {
  const Transfer written = write_at(descriptor, at, bytes);
  if (written.error != 0) throw write_error(path, at + written.bytes, written.error);
}

}  // namespace unstarve
