#include "unstarve/storage/index/scan_index_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/index_cache.h"
#include "unstarve/storage/index/index_places.h"
#include "unstarve/storage/index/scan_index_layout.h"
#include "unstarve/storage/little_endian.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using scan_index_layout::Entry;
using scan_index_layout::entry_of;
using scan_index_layout::entry_place;
using scan_index_layout::kEntryBytes;
using scan_index_layout::kHeaderBytes;
using scan_index_layout::kMostBytes;

bool is_right(int file, const std::string& header) {
  std::array<std::uint8_t, kHeaderBytes> found{};
  return read_whole(file, 0, found) &&
         std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) == header;
}

}  // namespace

std::shared_ptr<ScanIndexStore> ScanIndexStore::open(std::span<const fs::path> places, std::uint64_t records,
                                                     std::uint64_t key, std::vector<ScanIndexPart> parts) {
  const std::string header = scan_index_layout::header_of(records, key);
  std::shared_ptr<ScanIndexStore> store(new ScanIndexStore);
  store->records_ = records;
  store->parts_ = std::move(parts);
  const auto take = [&](const fs::path& place) {
    for (const int mode : {O_RDWR, O_RDONLY}) {
      FileDescriptor file(::open(place.c_str(), mode | O_CLOEXEC));
      if (!file.valid() || !is_right(file.get(), header)) continue;
      store->file_ = std::move(file);
      store->place_ = place;
      store->writable_ = mode == O_RDWR;
      index_is_used(place);
      return true;
    }
    return false;
  };
  for (const fs::path& place : places)
    if (take(place)) return store;
  std::string failed = "neither XDG_CACHE_HOME nor HOME tells a folder for it";
  for (const fs::path& place : places) {
    try {
      if (place.has_parent_path()) fs::create_directories(place.parent_path());
      write_file_atomically(place, header, Durability::kRenamed);
      index_is_kept(place);
      if (take(place)) return store;
      failed = place.string() + ": cannot be read back";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo) throw;
      failed = error.what();
    } catch (const fs::filesystem_error& error) {
      failed = error.what();
    }
  }
  if (store->parts_.empty()) throw Error(ErrorKind::kIo, failed);
  store->note_ = failed + "; no more indexes of images are kept";
  return store;
}

bool ScanIndexStore::find(std::uint64_t id, std::vector<std::uint8_t>& bytes) const {
  return find_own(id, bytes) || find_brought(id, bytes);
}

bool ScanIndexStore::find_brought(std::uint64_t id, std::vector<std::uint8_t>& bytes) const {
  const auto behind =
      std::upper_bound(parts_.begin(), parts_.end(), id,
                       [](std::uint64_t wanted, const ScanIndexPart& part) { return wanted < part.first; });
  if (behind == parts_.begin()) return false;
  const ScanIndexPart& part = *std::prev(behind);
  return id - part.first < part.records && part.file->find(id - part.first, bytes);
}

bool ScanIndexStore::find_own(std::uint64_t id, std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  if (!file_.valid()) return false;
  Entry entry;
  // The table grows with the file: behind its end there is nothing yet.
  if (!read_whole(file_.get(), entry_place(id), entry)) return false;
  const auto offset = load_little<std::uint64_t>(entry.data());
  const auto length = load_little<std::uint32_t>(entry.data() + 8);
  if (length == 0 || length > kMostBytes) return false;
  bytes.resize(length);
  if (read_whole(file_.get(), offset, bytes) && entry_of(offset, bytes) == entry) return true;
  bytes.clear();
  return false;
}

void ScanIndexStore::put(std::uint64_t id, std::span<const std::uint8_t> bytes) {
  if (!writable() || bytes.empty() || bytes.size() > kMostBytes) return;
  const std::lock_guard lock(mutex_);
  if (!writable()) return;
  const int file = file_.get();
  // Other processes add to the same file; threads of this one share its lock and have the mutex.
  int locked = ::flock(file, LOCK_EX);
  while (locked != 0 && errno == EINTR) locked = ::flock(file, LOCK_EX);
  struct stat status {};
  int reason = locked == 0 && ::fstat(file, &status) == 0 ? 0 : errno;
  if (reason == 0) {
    const std::uint64_t offset = std::max(static_cast<std::uint64_t>(status.st_size), entry_place(records_));
    const Entry entry = entry_of(offset, bytes);
    reason = write_at(file, offset, bytes).error;
    if (reason == 0) reason = write_at(file, entry_place(id), entry).error;
  }
  if (locked == 0) (void)::flock(file, LOCK_UN);
  if (reason == 0) {
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
