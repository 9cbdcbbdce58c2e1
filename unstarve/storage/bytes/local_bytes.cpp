#include "unstarve/storage/bytes/local_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/map_guard.h"

namespace unstarve {

LocalBytes::LocalBytes(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) throw io_error("open", path_, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw io_error("stat", path_, errno);
  if (S_ISDIR(status.st_mode)) throw io_error("open", path_, EISDIR);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::kIo, "open " + path_ + ": not a regular file");
  stamp_.bytes = static_cast<std::uint64_t>(status.st_size);
  stamp_.changed_ns = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (stamp_.bytes == 0) return;

  // One page of zeros after the file, so that reading kReadableAfter past its end stays inside the map.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (stamp_.bytes + page - 1) / page * page;
  void* const room = ::mmap(nullptr, whole + page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw io_error("map", path_, errno);
  data_ = static_cast<const std::uint8_t*>(room);
  mapped_bytes_ = whole + page;
  if (::mmap(room, stamp_.bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file.get(), 0) == MAP_FAILED) {
    const int reason = errno;
    ::munmap(room, mapped_bytes_);
    throw io_error("map", path_, reason);
  }
  guard_map(data_, whole, path_);
}

LocalBytes::~LocalBytes() {
  if (data_ == nullptr) return;
  forget_map(data_);
  ::munmap(const_cast<std::uint8_t*>(data_), mapped_bytes_);
}

void LocalBytes::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  check_range(*this, offset, out.size());
  if (out.empty()) return;
  std::memcpy(out.data(), data_ + offset, out.size());
  check_map(data_ + offset, out.size());
}

void LocalBytes::prefetch(std::uint64_t offset, std::size_t length) const noexcept {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  // Only a hint: read() works without it.
  (void)::madvise(const_cast<std::uint8_t*>(data_) + begin, offset + length - begin, MADV_WILLNEED);
}

}  // namespace unstarve
