#include "unstarve/storage/index/scan_index_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/index_paths.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using scan_index_layout::Entry;
using scan_index_layout::entry_of;
using scan_index_layout::entry_offset;
using scan_index_layout::kMaxBytes;

// Whether a file begins with `header`. If not, and if it is not a valid file of other data, sets `why`.
bool begins_with(int file, const std::string& header, std::string& why) {
  using scan_index_layout::Head;
  std::array<std::uint8_t, scan_index_layout::kHeaderBytes> found{};
  const Head head = read_whole(file, 0, found) ? scan_index_layout::head_of(found) : Head::kDamaged;
  if (head == Head::kDamaged) why = "it was damaged";
  if (head == Head::kOtherVersion) why = "it was written by another version of unstarve";
  return head == Head::kWhole && std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) == header;
}

// Moves the index `from`, open as `file`, to a path without a file. False if that folder cannot be written.
bool move_index(int file, const fs::path& from, const fs::path& to) {
  std::error_code failed;
  if (fs::exists(to, failed)) return false;
  const fs::path partial = to.string() + "." + std::to_string(::getpid()) + ".partial";
  const FileLock lock(file, LOCK_EX);
  fs::copy_file(from, partial, failed);
  if (!failed) fs::rename(partial, to, failed);
  std::error_code ignored;
  fs::remove(failed ? partial : from, ignored);
  return !failed;
}

}  // namespace

std::shared_ptr<ScanIndexStore> ScanIndexStore::open(std::span<const fs::path> paths, std::uint64_t records,
                                                     std::uint64_t key, std::vector<ScanIndexPart> parts) {
  const std::string header = scan_index_layout::header_of(records, key);
  std::shared_ptr<ScanIndexStore> store(new ScanIndexStore);
  store->records_ = records;
  store->parts_ = std::move(parts);
  std::map<fs::path, std::string> replaced;  // why
  const auto take = [&](const fs::path& path) {
    for (const int mode : {O_RDWR, O_RDONLY}) {
      FileDescriptor file(::open(path.c_str(), mode | O_CLOEXEC));
      if (!file.valid()) continue;
      std::string why;
      if (!begins_with(file.get(), header, why)) {
        if (!why.empty()) replaced[path] = why;
        continue;
      }
      store->file_ = std::move(file);
      store->path_ = path;
      store->writable_ = mode == O_RDWR;
      mark_index_used(path);
      return true;
    }
    return false;
  };
  for (const fs::path& path : paths) {
    if (!take(path)) continue;
    if (path != paths.front() && move_index(store->file_.get(), path, paths.front())) (void)take(paths.front());
    return store;
  }
  SavedIndex saved = save_index("", paths, header, Durability::kRenamed);
  if (!saved.path.empty()) {
    const auto why = replaced.find(saved.path);
    if (why != replaced.end()) store->note_ = saved.path.string() + ": " + why->second + "; its indexes are rebuilt";
    if (take(saved.path)) return store;
    saved.failure = saved.path.string() + ": cannot be read back";
  }
  if (store->parts_.empty()) throw Error(ErrorKind::kIo, saved.failure);
  store->note_ = saved.failure + "; no more scan indexes are saved";
  return store;
}

bool ScanIndexStore::find(std::uint64_t id, std::vector<std::uint8_t>& bytes) {
  const FoundIndex own = find_stored(id, bytes);
  if (own == FoundIndex::kRight) return true;
  const FoundIndex packed = find_packed(id, bytes);
  if (own == FoundIndex::kDamaged || packed == FoundIndex::kDamaged) count_wrong(id);
  if (packed != FoundIndex::kRight) return false;
  if (own == FoundIndex::kDamaged) put(id, bytes);
  return true;
}

void ScanIndexStore::count_once(std::uint64_t id, std::atomic<std::uint64_t>& counter) {
  const std::lock_guard lock(mutex_);
  if (counted_.empty()) counted_.resize(records_);
  if (counted_[id]) return;
  counted_[id] = true;
  counter.fetch_add(1, std::memory_order_relaxed);
}

FoundIndex ScanIndexStore::find_packed(std::uint64_t id, std::vector<std::uint8_t>& bytes) const {
  const auto next =
      std::upper_bound(parts_.begin(), parts_.end(), id,
                       [](std::uint64_t requested, const ScanIndexPart& part) { return requested < part.first; });
  if (next == parts_.begin()) return FoundIndex::kNone;
  const ScanIndexPart& part = *std::prev(next);
  return id - part.first < part.records ? part.file->find(id - part.first, bytes) : FoundIndex::kNone;
}

FoundIndex ScanIndexStore::find_stored(std::uint64_t id, std::vector<std::uint8_t>& bytes) {
  const FoundIndex found = read_own(id, bytes);
  if (found != FoundIndex::kDamaged) return found;
  // Another process or thread may be writing it.
  const std::lock_guard lock(mutex_);
  const FileLock file_lock(file_.get(), LOCK_SH);
  return read_own(id, bytes);
}

FoundIndex ScanIndexStore::read_own(std::uint64_t id, std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  if (!file_.valid()) return FoundIndex::kNone;
  Entry entry;
  if (!read_whole(file_.get(), entry_offset(id), entry)) {
    // The first index follows the table; a file that ends within the table was truncated.
    struct stat status {};
    const bool begun =
        ::fstat(file_.get(), &status) != 0 || status.st_size > static_cast<off_t>(scan_index_layout::kHeaderBytes);
    return begun ? FoundIndex::kDamaged : FoundIndex::kNone;
  }
  if (scan_index_layout::is_empty(entry.data())) return FoundIndex::kNone;
  const auto offset = load_little<std::uint64_t>(entry.data());
  const auto length = load_little<std::uint32_t>(entry.data() + 8);
  if (length > kMaxBytes) return FoundIndex::kDamaged;
  bytes.resize(length);
  if (read_whole(file_.get(), offset, bytes) && entry_of(offset, bytes) == entry) return FoundIndex::kRight;
  bytes.clear();
  return FoundIndex::kDamaged;
}

void ScanIndexStore::put(std::uint64_t id, std::span<const std::uint8_t> bytes) {
  if (!writable() || bytes.empty() || bytes.size() > kMaxBytes) return;
  const std::lock_guard lock(mutex_);
  if (!writable()) return;
  const int file = file_.get();
  const FileLock file_lock(file, LOCK_EX);
  struct stat status {};
  int reason = file_lock.held() && ::fstat(file, &status) == 0 ? 0 : errno;
  if (reason == 0) {
    const std::uint64_t offset = std::max(static_cast<std::uint64_t>(status.st_size), entry_offset(records_));
    const Entry entry = entry_of(offset, bytes);
    reason = write_at(file, offset, bytes).error;
    if (reason == 0) reason = write_at(file, entry_offset(id), entry).error;
  }
  if (reason == 0) {
    made_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  writable_ = false;
  note_ = path_.string() + ": " + std::strerror(reason) + "; no more scan indexes are saved";
}

ScanIndexCounts ScanIndexStore::counts() const noexcept {
  return {used_.load(std::memory_order_relaxed), made_.load(std::memory_order_relaxed),
          wrong_.load(std::memory_order_relaxed), other_version_.load(std::memory_order_relaxed)};
}

std::string ScanIndexStore::note() const {
  const std::lock_guard lock(mutex_);
  return note_;
}

std::vector<fs::path> scan_index_candidates(const std::string& name, const std::string& variant) {
  std::string whole = name;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  std::vector<fs::path> paths = index_paths(whole, "jpeg " + variant);
  std::error_code failed;
  const bool next_to_data = !is_url(whole) && fs::exists(whole, failed) && fs::path(whole).has_relative_path();
  // Without a file or folder of that name, a sidecar next to it is meaningless.
  if (!next_to_data && !is_url(whole))
    std::erase_if(paths, [&](const fs::path& path) { return path.parent_path() == fs::path(whole).parent_path(); });
  return paths;
}

}  // namespace unstarve
