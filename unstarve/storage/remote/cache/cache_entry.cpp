#include "unstarve/storage/remote/cache/cache_entry.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic{'U', 'S', 'T', 'C', 'A', 'C', 'H', '1'};
constexpr std::size_t kHeadBytes = 64, kCrcAt = 28;
constexpr std::time_t kTouchAgainSeconds = 10;

template <class Number>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t blocks_of(std::uint64_t length) { return (length + kCacheBlockBytes - 1) / kCacheBlockBytes; }

// The head of an entry, without block checksums.
std::vector<std::uint8_t> plain_head(const Sha256& object, std::uint64_t offset, std::uint64_t length) {
  std::vector<std::uint8_t> head(cache_entry_head_bytes(length));
  std::copy(kMagic.begin(), kMagic.end(), head.begin());
  put(head, 8, offset);
  put(head, 16, length);
  put(head, 24, kCacheBlockBytes);
  std::copy(object.begin(), object.end(), head.begin() + 32);
  return head;
}

// Whether `head` is that of the expected entry. Sets its checksum to 0.
bool head_is_right(std::vector<std::uint8_t>& head, const Sha256& object, const CacheExtent& entry) {
  const std::uint32_t stored = load_little<std::uint32_t>(head.data() + kCrcAt);
  put(head, kCrcAt, std::uint32_t{0});
  const std::vector<std::uint8_t> expected = plain_head(object, entry.offset, entry.length);
  return stored == crc32(head) && std::equal(head.begin(), head.begin() + kHeadBytes, expected.begin());
}

// Complete blocks are read directly into `out`; the first and last may be partial.
bool read_blocks(int file, std::span<const std::uint8_t> head, std::uint64_t length, ReadRange range) {
  auto& [at, out] = range;
  std::vector<std::uint8_t> scratch;
  while (!out.empty()) {
    const std::uint64_t block = at / kCacheBlockBytes, start = block * kCacheBlockBytes;
    const auto block_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kCacheBlockBytes, length - start));
    const auto skip = static_cast<std::size_t>(at - start);
    const std::size_t count = std::min(block_bytes - skip, out.size());
    const bool whole = count == block_bytes;
    if (!whole) scratch.resize(block_bytes);
    const std::span<std::uint8_t> bytes = whole ? out.first(count) : std::span(scratch);
    if (!read_whole(file, head.size() + start, bytes)) return false;
    if (crc32(bytes) != load_little<std::uint32_t>(head.data() + kHeadBytes + 4 * block)) return false;
    if (!whole) std::copy_n(scratch.begin() + static_cast<std::ptrdiff_t>(skip), count, out.begin());
    out = out.subspan(count);
    at += count;
  }
  return true;
}

void touch(int file, const struct stat& status) {
  if (std::time(nullptr) - status.st_mtime < kTouchAgainSeconds) return;
  // A failure is harmless: the entry only appears older than it is.
  (void)::futimens(file, nullptr);
}

}  // namespace

std::string cache_entry_name(const CacheExtent& entry) {
  return std::to_string(entry.offset) + "-" + std::to_string(entry.length);
}

std::optional<CacheExtent> parse_cache_entry_name(const std::string& name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto offset = parse_number<std::uint64_t>(std::string_view(name).substr(0, dash));
  const auto length = parse_number<std::uint64_t>(std::string_view(name).substr(dash + 1));
  if (!offset || !length || *length == 0 || *offset > UINT64_MAX - *length) return std::nullopt;
  return CacheExtent{*offset, *length};
}

std::uint64_t cache_entry_head_bytes(std::uint64_t length) noexcept { return kHeadBytes + 4 * blocks_of(length); }

std::vector<std::uint8_t> cache_entry_head(const Sha256& object, std::uint64_t offset,
                                           std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> head = plain_head(object, offset, bytes.size());
  for (std::size_t block = 0; block * kCacheBlockBytes < bytes.size(); ++block) {
    const std::size_t start = block * kCacheBlockBytes;
    const std::size_t count = std::min<std::size_t>(kCacheBlockBytes, bytes.size() - start);
    put(head, kHeadBytes + 4 * block, crc32(bytes.subspan(start, count)));
  }
  put(head, kCrcAt, crc32(head));
  return head;
}

EntryRead read_cache_entry(const std::filesystem::path& path, const Sha256& object, const CacheExtent& entry,
                           const ReadRange& range) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return errno == ENOENT ? EntryRead::kAbsent : EntryRead::kDamaged;
  struct stat status {};
  const std::uint64_t head_bytes = cache_entry_head_bytes(entry.length);
  // The size is checked before it is allocated, in case the name is wrong.
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) != head_bytes + entry.length) {
    return EntryRead::kDamaged;
  }
  std::vector<std::uint8_t> head(static_cast<std::size_t>(head_bytes));
  if (!read_whole(file.get(), 0, head) || !head_is_right(head, object, entry) ||
      !read_blocks(file.get(), head, entry.length, {range.offset - entry.offset, range.out})) {
    return EntryRead::kDamaged;
  }
  touch(file.get(), status);
  return EntryRead::kRead;
}

}  // namespace unstarve::remote
