#include "unstarve/storage/io/scan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "unstarve/core/aligned.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/file_descriptor.h"

namespace unstarve {
namespace {

// What O_DIRECT asks of offsets and addresses, on every disk in use; buffers are aligned by hand to it.
constexpr std::size_t kBlock = 4096;

}  // namespace

void scan_file(const std::string& path, bool past_cache,
               const std::function<void(std::span<const std::uint8_t>)>& take) {
  FileDescriptor file;
  bool direct = false;
  if (past_cache) {
    file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
    direct = file.valid();
  }
  if (!file.valid()) file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw io_error("open", path, errno);
  if (!direct) (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);

  AlignedBytes memory(kScanBytes + kBlock);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::uint8_t* const buffer = memory.data() + (kBlock - address % kBlock) % kBlock;
  for (std::uint64_t offset = 0;;) {
    const ssize_t got = ::pread(file.get(), buffer, kScanBytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && direct) {
      // The file system took the flag and not the read.
      file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.valid()) throw io_error("open", path, errno);
      direct = false;
      continue;
    }
    if (got < 0) throw io_error("read at offset " + std::to_string(offset) + " of", path, errno);
    if (got == 0) return;
    take({buffer, static_cast<std::size_t>(got)});
    if (past_cache && !direct) (void)::posix_fadvise(file.get(), static_cast<off_t>(offset), got, POSIX_FADV_DONTNEED);
    offset += static_cast<std::uint64_t>(got);
    // A short read ends at the file's end, or at a place that O_DIRECT could not go on from.
    if (direct && offset % kBlock != 0) {
      file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.valid()) throw io_error("open", path, errno);
      direct = false;
    }
  }
}

}  // namespace unstarve
