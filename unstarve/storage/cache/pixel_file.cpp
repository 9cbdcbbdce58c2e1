#include "unstarve/storage/cache/pixel_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kMagic = 0x31584950'54534e55;  // "UNSTPIX1" as little-endian bytes

// In the file, shared by processes: only lock-free atomics.
struct Header {
  std::uint64_t magic;
  std::uint64_t samples;
  std::uint64_t limit;
  std::uint64_t key_bytes;
  std::uint32_t key_crc;
  std::uint32_t unused;
  std::atomic<std::uint64_t> used;  // bytes of pixels handed out
};
static_assert(sizeof(Header) <= PixelFile::kPage);

// Whether the error is a lack of space.
bool lacks_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::uint32_t crc_of(const std::string& key) { return crc32(as_bytes(key)); }

std::uint64_t table_bytes(std::uint64_t samples) {
  const std::uint64_t pages = (samples * sizeof(PixelEntry) + PixelFile::kPage - 1) / PixelFile::kPage;
  return (1 + pages) * PixelFile::kPage;
}

}  // namespace

PixelFile::PixelFile(std::filesystem::path path, const std::string& key, std::uint64_t samples, std::uint64_t limit)
    : path_(std::move(path)), samples_(samples), limit_(limit), table_bytes_(table_bytes(samples)) {
  open();
  const bool alone = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
  if (!alone && ::flock(file_.get(), LOCK_SH) != 0) throw io_error("lock", path_.string(), errno);
  const bool usable = has_key(key);
  if (!usable && !alone) {
    throw Error(ErrorKind::kIo,
                "cache " + path_.string() + ": another process uses it for other data or operations. Use another file");
  }
  if (!usable) recreate(key);
  void* const memory = ::mmap(nullptr, table_bytes_ + limit_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) throw io_error("map", path_.string(), errno);
  memory_ = static_cast<std::uint8_t*>(memory);
  if (alone) {
    drop_unfinished();
    if (::flock(file_.get(), LOCK_SH) != 0) throw io_error("lock", path_.string(), errno);
  }
}

PixelFile::~PixelFile() {
  if (memory_ != nullptr) ::munmap(memory_, table_bytes_ + limit_);
}

void PixelFile::open() {
  if (path_.empty()) {
    file_ = FileDescriptor(::memfd_create("unstarve-pixels", MFD_CLOEXEC));
  } else {
    std::error_code ignored;  // open() below reports the error
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
    file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  }
  if (!file_.valid()) throw io_error("open", path_.empty() ? "memory for pixels" : path_.string(), errno);
}

// Whether the file is a store of this key and shape.
bool PixelFile::has_key(const std::string& key) const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw io_error("stat", path_.string(), errno);
  if (static_cast<std::uint64_t>(status.st_size) != table_bytes_ + limit_) return false;
  alignas(Header) std::uint8_t bytes[sizeof(Header)];
  if (::pread(file_.get(), bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) return false;
  Header head{};
  std::memcpy(static_cast<void*>(&head), bytes, offsetof(Header, used));
  return head.magic == kMagic && head.samples == samples_ && head.limit == limit_ && head.key_bytes == key.size() &&
         head.key_crc == crc_of(key);
}

void PixelFile::recreate(const std::string& key) {
  // Truncated first, so that no old entry is left; the pixels stay a hole until they are written.
  if (::ftruncate(file_.get(), 0) != 0) throw io_error("empty", path_.string(), errno);
  if (const int error = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(table_bytes_)); error != 0) {
    const Error failed = io_error("make room in", path_.string(), error);
    if (!lacks_room(error) || ::ftruncate(file_.get(), 0) != 0) throw failed;
    throw NoRoom{"its entries need " + std::to_string(table_bytes_) +
                 " bytes: " + std::generic_category().message(error)};
  }
  // A hole needs no space: only the limit can fail here.
  if (::ftruncate(file_.get(), static_cast<off_t>(table_bytes_ + limit_)) != 0) {
    const int error = errno;
    (void)!::ftruncate(file_.get(), 0);
    throw Error(ErrorKind::kIo, "create cache " + path_.string() + ": its limit of " + std::to_string(limit_) +
                                    " bytes requires a larger file than the system accepts (" +
                                    std::generic_category().message(error) +
                                    "); expected a smaller limit. Reduce cache.limit_mb.");
  }
  Header head{};
  head.magic = kMagic;
  head.samples = samples_;
  head.limit = limit_;
  head.key_bytes = key.size();
  head.key_crc = crc_of(key);
  if (::pwrite(file_.get(), static_cast<const void*>(&head), sizeof(head), 0) != static_cast<ssize_t>(sizeof(head))) {
    throw io_error("write", path_.string(), errno);
  }
}

void PixelFile::drop_unfinished() {
  for (std::uint64_t id = 0; id < samples_; ++id) {
    std::atomic<std::uint64_t>& location = entry(id).location;
    const std::uint64_t found = location.load(std::memory_order_relaxed);
    if (found == PixelEntry::kBeingWritten) location.store(PixelEntry::kAbsent, std::memory_order_relaxed);
    if (found >= PixelEntry::kFirst) ++complete_at_open_;
  }
}

std::uint64_t PixelFile::used() const {
  return reinterpret_cast<Header*>(memory_)->used.load(std::memory_order_relaxed);
}

std::optional<std::uint64_t> PixelFile::hand_out(std::uint64_t bytes) const {
  std::atomic<std::uint64_t>& used = reinterpret_cast<Header*>(memory_)->used;
  std::uint64_t offset = used.load(std::memory_order_relaxed);
  // A counter that only grows by what fits: bytes that are returned could be handed out twice.
  while (offset <= limit_ && bytes <= limit_ - offset)
    if (used.compare_exchange_weak(offset, offset + bytes, std::memory_order_relaxed)) return offset;
  return std::nullopt;
}

int PixelFile::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const {
  return write_at(file_.get(), table_bytes_ + offset, bytes).error;
}

}  // namespace unstarve
