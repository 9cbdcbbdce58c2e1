#include "unstarve/storage/remote/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/remote/text.h"

namespace unstarve::remote {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDiskBlock = 4096;
constexpr std::int64_t kPassByNs = 60'000'000'000;
constexpr std::size_t kUsageBytes = 16;
constexpr const char* kPartialPrefix = ".partial-";

std::uint64_t on_disk(std::uint64_t file_bytes) { return (file_bytes + kDiskBlock - 1) / kDiskBlock * kDiskBlock; }

std::uint64_t entry_on_disk(std::uint64_t length) { return on_disk(cache_entry_head_bytes(length) + length); }

std::string reason_of(int error) { return std::generic_category().message(error); }

FileDescriptor open_lock_file(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) throw io_error("open disk cache file", path.string(), errno);
  return file;
}

// "OFFSET-LENGTH"
std::optional<CacheExtent> parse_entry_name(const std::string& name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto offset = parse_number<std::uint64_t>(std::string_view(name).substr(0, dash));
  const auto length = parse_number<std::uint64_t>(std::string_view(name).substr(dash + 1));
  if (!offset || !length || *length == 0 || *offset > UINT64_MAX - *length) return std::nullopt;
  return CacheExtent{*offset, *length};
}

struct FoundFile {
  fs::path path;
  std::uint64_t bytes = 0;  // on disk
  timespec used{};
};

struct Inventory {
  std::vector<FoundFile> entries;
  std::uint64_t bytes = 0;
};

// All entries; removes partial files if `remove_partial`.
Inventory take_inventory(const fs::path& folder, bool remove_partial) {
  Inventory inventory;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string name = it->path().filename().string();
    if (remove_partial && name.rfind(kPartialPrefix, 0) == 0) ::unlink(it->path().c_str());
    if (!parse_entry_name(name)) continue;
    inventory.entries.push_back({it->path(), on_disk(static_cast<std::uint64_t>(status.st_size)), status.st_mtim});
    inventory.bytes += inventory.entries.back().bytes;
  }
  return inventory;
}

bool used_before(const FoundFile& a, const FoundFile& b) {
  return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
}

// 0 or the errno; EEXIST if the entry exists, whose space is already counted. If the file system has no hard links,
// rename() replaces it, and it is counted twice until the next recount.
int give_name(const fs::path& partial, const fs::path& path) {
  if (::link(partial.c_str(), path.c_str()) == 0) return ::unlink(partial.c_str()) == 0 ? 0 : errno;
  if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) return errno;
  return ::rename(partial.c_str(), path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

// --- one object -----------------------------------------------------------------------------------------------------

DiskCache::Object::Object(std::shared_ptr<DiskCache> cache, const std::string& identity)
    : cache_(std::move(cache)), id_(sha256(identity)) {
  const std::string name = hex(id_);
  folder_ = cache_->folder_ / name.substr(0, 2) / name;
  std::error_code error;  // no folder yet: no entries
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const auto extent = parse_entry_name(it->path().filename().string());
    if (extent) known_[extent->offset] = std::max(known_[extent->offset], extent->length);
  }
}

fs::path DiskCache::Object::path_of(const CacheExtent& entry) const {
  return folder_ / (std::to_string(entry.offset) + "-" + std::to_string(entry.length));
}

DiskCache::Object::Coverage DiskCache::Object::find(std::uint64_t offset) const {
  constexpr int kOverlapping = 8;  // overlapping entries are rare; beyond this number the range is fetched again
  const std::lock_guard lock(mutex_);
  Coverage best;
  auto it = known_.upper_bound(offset);
  best.next = it == known_.end() ? UINT64_MAX : it->first;
  std::uint64_t best_end = offset;
  for (int i = 0; i < kOverlapping && it != known_.begin(); ++i) {
    --it;
    const std::uint64_t end = it->first + it->second;
    if (end <= best_end) continue;
    best.entry = {it->first, it->second};
    best_end = end;
  }
  return best;
}

// Whether it filled `part`. Forgets an entry that is missing or damaged.
bool DiskCache::Object::read_entry(const CacheExtent& entry, const ReadRange& part) {
  const fs::path path = path_of(entry);
  const EntryRead result = read_cache_entry(path, id_, entry, part);
  if (result == EntryRead::kRead) {
    cache_->hit_bytes_ += part.out.size();
    return true;
  }
  if (result == EntryRead::kDamaged) {
    ++cache_->damaged_;
    if (::unlink(path.c_str()) == 0) cache_->give_back(entry_on_disk(entry.length));
  }
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(entry.offset);
  if (known != known_.end() && known->second == entry.length) known_.erase(known);
  return false;
}

std::vector<ReadRange> DiskCache::Object::read(const ReadRange& range) {
  std::vector<ReadRange> missing;
  std::uint64_t at = range.offset;
  const std::uint64_t end = range.offset + range.out.size();
  while (at < end) {
    const Coverage coverage = find(at);
    const auto from = [&](std::uint64_t to) {
      return ReadRange{
          at, range.out.subspan(static_cast<std::size_t>(at - range.offset), static_cast<std::size_t>(to - at))};
    };
    if (coverage.entry.length != 0) {
      const std::uint64_t to = std::min(end, coverage.entry.offset + coverage.entry.length);
      if (read_entry(coverage.entry, from(to))) at = to;
      continue;  // or search again, without the entry that failed
    }
    const std::uint64_t to = std::min(end, coverage.next);
    // Another process may have stored this range meanwhile.
    const bool whole = at == range.offset && to == end;
    if (!whole || !read_entry({at, to - at}, from(to))) missing.push_back(from(to));
    at = to;
  }
  return missing;
}

void DiskCache::Object::store(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  if (bytes.empty() || steady_clock().now_ns() < cache_->store_again_ns_) return;
  const fs::path path = path_of({offset, bytes.size()});
  const std::uint64_t room = entry_on_disk(bytes.size());
  const bool there = ::access(path.c_str(), F_OK) == 0;
  if (!there) {
    if (!cache_->reserve(room)) return;
    cache_->write_entry(path, id_, offset, bytes);
  }
  const std::lock_guard lock(mutex_);
  std::uint64_t& length = known_[offset];
  length = std::max<std::uint64_t>(length, bytes.size());
}

// --- the cache ------------------------------------------------------------------------------------------------------

DiskCache::DiskCache(fs::path folder, std::uint64_t limit_bytes, std::function<void(const std::string&)> on_warning)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes), on_warning_(std::move(on_warning)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw io_error("make disk cache", folder_.string(), error.value());
  usage_file_ = open_lock_file(folder_ / "usage");
  evict_file_ = open_lock_file(folder_ / "evict.lock");
  users_file_ = open_lock_file(folder_ / "users.lock");
  const bool alone = ::flock(users_file_.get(), LOCK_EX | LOCK_NB) == 0;
  struct stat status {};
  if (::fstat(usage_file_.get(), &status) != 0) throw io_error("read disk cache usage", folder_.string(), errno);
  const bool known = status.st_size == kUsageBytes;
  // If this process is alone, entries counted as being written were left by a killed process.
  if (!known || (alone && change_usage([](Usage&) {}).writing != 0)) recount();
  if (::flock(users_file_.get(), LOCK_SH) != 0) throw io_error("lock disk cache", folder_.string(), errno);
}

CacheStatistics DiskCache::statistics() const { return {hit_bytes_.load(), stored_bytes_.load(), damaged_.load()}; }

std::uint64_t DiskCache::usage_bytes() {
  return change_usage([](Usage&) {}).bytes;
}

DiskCache::Usage DiskCache::change_usage(const std::function<void(Usage&)>& change) {
  const std::lock_guard threads(usage_mutex_);
  const FileLock processes(usage_file_.get(), LOCK_EX);
  std::array<std::uint8_t, kUsageBytes> bytes{};
  Usage usage;
  if (::pread(usage_file_.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) {
    usage = {load_little<std::uint64_t>(bytes.data()), load_little<std::uint64_t>(bytes.data() + 8)};
  }
  change(usage);
  std::string text;
  append_little(text, usage.bytes);
  append_little(text, usage.writing);
  if (::pwrite(usage_file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    bypass("cannot write " + (folder_ / "usage").string() + ": " + reason_of(errno));
  }
  return usage;
}

bool DiskCache::reserve(std::uint64_t bytes) {
  if (bytes > limit_bytes_ / 10) return false;
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool granted = false;
    change_usage([&](Usage& usage) {
      granted = usage.bytes <= limit_bytes_ && bytes <= limit_bytes_ - usage.bytes;
      if (!granted) return;
      usage.bytes += bytes;
      ++usage.writing;
    });
    if (granted) return true;
    if (attempt == 0 && !make_room(bytes)) return false;
  }
  return false;
}

void DiskCache::finish_write(std::uint64_t unused_bytes) {
  change_usage([unused_bytes](Usage& usage) {
    usage.bytes -= std::min(usage.bytes, unused_bytes);
    usage.writing -= std::min<std::uint64_t>(usage.writing, 1);
  });
}

void DiskCache::give_back(std::uint64_t bytes) {
  change_usage([bytes](Usage& usage) { usage.bytes -= std::min(usage.bytes, bytes); });
}

void DiskCache::recount() {
  const std::uint64_t bytes = take_inventory(folder_, true).bytes;
  change_usage([bytes](Usage& usage) { usage = {bytes, 0}; });
}

// Subtracts only what is removed: the sum includes entries that other processes are writing, which may not be listed.
bool DiskCache::make_room(std::uint64_t wanted) {
  const std::unique_lock threads(evict_mutex_, std::try_to_lock);
  if (!threads.owns_lock()) return false;
  const FileLock processes(evict_file_.get(), LOCK_EX | LOCK_NB);
  if (!processes.held()) return false;
  Inventory inventory = take_inventory(folder_, false);
  std::sort(inventory.entries.begin(), inventory.entries.end(), used_before);
  const std::uint64_t goal = limit_bytes_ - limit_bytes_ / 10;
  std::uint64_t usage = usage_bytes();
  for (const FoundFile& entry : inventory.entries) {
    if (usage + wanted <= goal) break;
    if (::unlink(entry.path.c_str()) != 0) continue;
    give_back(entry.bytes);
    usage -= std::min(usage, entry.bytes);
  }
  return true;
}

void DiskCache::write_entry(const fs::path& path, const Sha256& id, std::uint64_t offset,
                            std::span<const std::uint8_t> bytes) {
  const std::uint64_t room = entry_on_disk(bytes.size());
  const fs::path partial =
      path.parent_path() / (kPartialPrefix + std::to_string(::getpid()) + "-" + std::to_string(partial_number_++));
  const auto give_up = [&](int error) {
    ::unlink(partial.c_str());
    finish_write(room);
    if (error == EEXIST) return;  // another process was first
    bypass("cannot write " + partial.string() + ": " + reason_of(error));
  };
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return give_up(error.value());
  FileDescriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return give_up(errno);
  const std::vector<std::uint8_t> head = cache_entry_head(id, offset, bytes);
  int failure = write_at(file.get(), 0, head).error;
  if (failure == 0) failure = write_at(file.get(), head.size(), bytes).error;
  // Some file systems report a full disk only now.
  if (::close(file.release()) != 0 && failure == 0) failure = errno;
  if (failure == 0) failure = give_name(partial, path);
  if (failure != 0) return give_up(failure);
  finish_write(0);
  stored_bytes_ += bytes.size();
}

void DiskCache::bypass(const std::string& reason) {
  store_again_ns_ = steady_clock().now_ns() + kPassByNs;
  if (warned_.exchange(true) || !on_warning_) return;
  on_warning_("disk cache: " + reason + "; reads continue without storing");
}

}  // namespace unstarve::remote
