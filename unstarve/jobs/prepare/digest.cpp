#include "unstarve/jobs/prepare/digest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

void check(bool done, const char* what) {
  if (!done) throw Error(ErrorKind::kInternal, std::string("OpenSSL cannot ") + what);
}

class Digest {
 public:
  explicit Digest(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1, "start a checksum");
  }
  void add(const std::uint8_t* bytes, std::size_t count) {
    check(EVP_DigestUpdate(context_.get(), bytes, count) == 1, "sum");
  }
  [[nodiscard]] std::string hex() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned count = 0;
    check(EVP_DigestFinal_ex(context_.get(), bytes, &count) == 1, "finish a checksum");
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

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

FileDigests digest_file(const std::filesystem::path& path, bool md5, bool sha256,
                        const std::function<void(std::uint64_t bytes)>& advanced) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw io_error("open", path.string(), errno);
  Digest md5_sum(EVP_md5()), sha256_sum(EVP_sha256());
  std::vector<std::uint8_t> piece(kPieceBytes);
  FileDigests digests;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw io_error("stat", path.string(), errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // Keep the file in the page cache for unpacking, unless it is too large.
  const bool leave_cached = in_page_cache(file.get(), size / 2) || fits_page_cache(size);
  while (true) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw io_error("read", path.string(), errno);
    if (count == 0) break;
    const auto bytes = static_cast<std::size_t>(count);
    if (md5) md5_sum.add(piece.data(), bytes);
    if (sha256) sha256_sum.add(piece.data(), bytes);
    if (!leave_cached) {
      (void)::posix_fadvise(file.get(), static_cast<off_t>(digests.bytes), static_cast<off_t>(count),
                            POSIX_FADV_DONTNEED);
    }
    digests.bytes += bytes;
    if (advanced) advanced(bytes);
  }
  if (md5) digests.md5 = md5_sum.hex();
  if (sha256) digests.sha256 = sha256_sum.hex();
  return digests;
}

}  // namespace unstarve
