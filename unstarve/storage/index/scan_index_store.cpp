#include "unstarve/storage/index/scan_index_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/crc32c.h"
#include "unstarve/storage/index/index_places.h"
#include "unstarve/storage/little_endian.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "UNSTJPX\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kEntryBytes = 16;
// Larger than the index of any image the decoder takes: 4 million MCUs at 20 bytes for eight of them.
constexpr std::uint32_t kMostBytes = 16u << 20;

using Entry = std::array<std::uint8_t, kEntryBytes>;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string header_of(std::uint64_t records, std::uint64_t key) {
  std::string rest;
  append_little(rest, records);
  append_little(rest, key);
  std::string start(kMagic);
  append_little(start, kVersion);
  const std::uint32_t crc = crc32c(bytes_of(rest), crc32c(bytes_of(start)));
  append_little(start, crc);
  return start + rest;
}

bool read_fully(int file, void* bytes, std::size_t count, std::uint64_t offset) {
  auto* to = static_cast<std::uint8_t*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pread(file, to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

// Sets errno where it fails.
bool write_fully(int file, const void* bytes, std::size_t count, std::uint64_t offset) {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  while (count > 0) {
    const ssize_t written = ::pwrite(file, from, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    from += written;
    offset += static_cast<std::uint64_t>(written);
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  std::string text;
  append_little(text, offset);
  append_little(text, static_cast<std::uint32_t>(bytes.size()));
  append_little(text, crc32c(bytes, crc32c(bytes_of(text))));
  Entry entry;
  std::memcpy(entry.data(), text.data(), kEntryBytes);
  return entry;
}

std::uint64_t entry_place(std::uint64_t id) { return kHeaderBytes + id * kEntryBytes; }

bool is_right(int file, const std::string& header) {
  std::string found(kHeaderBytes, '\0');
  return read_fully(file, found.data(), kHeaderBytes, 0) && found == header;
}

}  // namespace

std::shared_ptr<ScanIndexStore> ScanIndexStore::open(std::span<const fs::path> places, std::uint64_t records,
                                                     std::uint64_t key) {
  const std::string header = header_of(records, key);
  std::shared_ptr<ScanIndexStore> store(new ScanIndexStore);
  const auto take = [&](const fs::path& place) {
    for (const int mode : {O_RDWR, O_RDONLY}) {
      FileDescriptor file(::open(place.c_str(), mode | O_CLOEXEC));
      if (!file.valid() || !is_right(file.get(), header)) continue;
      store->file_ = std::move(file);
      store->place_ = place;
      store->records_ = records;
      store->writable_ = mode == O_RDWR;
      return true;
    }
    return false;
  };
  for (const fs::path& place : places)
    if (take(place)) return store;
  std::string failed = "neither XDG_CACHE_HOME nor HOME tells a folder for it";
  for (const fs::path& place : places) {
    try {
      fs::create_directories(place.parent_path());
      write_file_atomically(place, header, Durability::kRenamed);
      if (take(place)) return store;
      failed = place.string() + ": cannot be read back";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo) throw;
      failed = error.what();
    } catch (const fs::filesystem_error& error) {
      failed = error.what();
    }
  }
  throw Error(ErrorKind::kIo, failed);
}

bool ScanIndexStore::find(std::uint64_t id, std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  Entry entry;
  // The table grows with the file: behind its end there is nothing yet.
  if (!read_fully(file_.get(), entry.data(), kEntryBytes, entry_place(id))) return false;
  const auto offset = load_little<std::uint64_t>(entry.data());
  const auto length = load_little<std::uint32_t>(entry.data() + 8);
  if (length == 0 || length > kMostBytes) return false;
  bytes.resize(length);
  if (read_fully(file_.get(), bytes.data(), length, offset) && entry_of(offset, bytes) == entry) return true;
  bytes.clear();
  return false;
}

void ScanIndexStore::put(std::uint64_t id, std::span<const std::uint8_t> bytes) {
  if (!writable() || bytes.empty() || bytes.size() > kMostBytes) return;
  const std::lock_guard lock(mutex_);
  if (!writable()) return;
  const int file = file_.get();
  // Other processes add to the same file; threads of this one share its lock and have the mutex.
  if (::flock(file, LOCK_EX) != 0) return;
  struct stat status {};
  bool ok = ::fstat(file, &status) == 0;
  if (ok) {
    const std::uint64_t offset = std::max(static_cast<std::uint64_t>(status.st_size), entry_place(records_));
    const Entry entry = entry_of(offset, bytes);
    ok = write_fully(file, bytes.data(), bytes.size(), offset) &&
         write_fully(file, entry.data(), kEntryBytes, entry_place(id));
  }
  const int reason = errno;
  (void)::flock(file, LOCK_UN);
  if (ok) {
    made_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  writable_ = false;
  note_ = place_.string() + ": " + std::strerror(reason) + "; no more indexes of images are kept";
}

ScanIndexCounts ScanIndexStore::counts() const noexcept {
  return {used_.load(std::memory_order_relaxed), made_.load(std::memory_order_relaxed),
          wrong_.load(std::memory_order_relaxed)};
}

std::string ScanIndexStore::note() const {
  const std::lock_guard lock(mutex_);
  return note_;
}

std::vector<fs::path> scan_index_places(const std::string& name, const std::string& variant) {
  std::string whole = name;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  std::vector<fs::path> places = index_places(whole, "jpeg " + variant);
  std::error_code failed;
  const bool beside = !is_url(whole) && fs::exists(whole, failed) && fs::path(whole).has_relative_path();
  // Without a file or folder of that name, what lies beside it means nothing.
  if (!beside && !is_url(whole) && !places.empty() && fs::path(whole).has_relative_path()) places.erase(places.begin());
  return places;
}

}  // namespace unstarve
