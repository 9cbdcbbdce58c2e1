#include "unstarve/jobs/prepare/digest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

constexpr std::size_t kDigestPieceBytes = std::size_t{1} << 20;

void check(int done, const char* what) {
  if (done != 1) throw Error(ErrorKind::kInternal, std::string("OpenSSL cannot ") + what);
}

// Whether `bytes` more fit into half of the machine's memory, which all files read by this process may fill together.
bool fits_page_cache(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> left = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                                           static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L)) / 2;
  std::uint64_t now = left;
  while (bytes <= now)
    if (left.compare_exchange_weak(now, now - bytes)) return true;
  return false;
}

}  // namespace

std::string digest_file(const std::filesystem::path& path, Checksum kind,
                        const std::function<void(std::uint64_t bytes)>& advanced) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw io_error("open", path.string(), errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw io_error("stat", path.string(), errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // Keep the file in the page cache for unpacking, unless it is too large.
  const bool leave_cached = in_page_cache(file.get(), size / 2) || fits_page_cache(size);

  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  check(EVP_DigestInit_ex(context.get(), kind == Checksum::kMd5 ? EVP_md5() : EVP_sha256(), nullptr),
        "start a checksum");
  std::vector<std::uint8_t> piece(kDigestPieceBytes);
  for (std::uint64_t offset = 0;;) {
    const Transfer read = read_at(file.get(), offset, piece);
    if (read.error != 0) throw io_error("read", path.string(), read.error);
    if (read.bytes == 0) break;
    check(EVP_DigestUpdate(context.get(), piece.data(), read.bytes), "sum");
    if (!leave_cached)
      (void)::posix_fadvise(file.get(), static_cast<off_t>(offset), static_cast<off_t>(read.bytes),
                            POSIX_FADV_DONTNEED);
    offset += read.bytes;
    if (advanced) advanced(read.bytes);
  }
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned count = 0;
  check(EVP_DigestFinal_ex(context.get(), bytes, &count), "finish a checksum");
  return fmt::format("{:02x}", fmt::join(bytes, bytes + count, ""));
}

}  // namespace unstarve
