#include "unstarve/storage/remote/cache/disk_cache.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) { return std::generic_category().message(error); }

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
    const auto extent = parse_cache_entry_name(it->path().filename().string());
    if (extent) known_[extent->offset] = std::max(known_[extent->offset], extent->length);
  }
}

fs::path DiskCache::Object::path_of(const CacheExtent& entry) const { return folder_ / cache_entry_name(entry); }

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
    if (::unlink(path.c_str()) == 0) cache_->usage_.give_back(cache_entry_disk_bytes(entry.length));
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
  if (bytes.empty() || cache_->bypass_.active()) return;
  const fs::path path = path_of({offset, bytes.size()});
  const std::uint64_t room = cache_entry_disk_bytes(bytes.size());
  const bool there = ::access(path.c_str(), F_OK) == 0;
  if (!there) {
    if (!cache_->usage_.reserve(room)) return;
    cache_->write_entry(path, id_, offset, bytes);
  }
  const std::lock_guard lock(mutex_);
  std::uint64_t& length = known_[offset];
  length = std::max<std::uint64_t>(length, bytes.size());
}

// --- the cache ------------------------------------------------------------------------------------------------------

DiskCache::DiskCache(fs::path folder, std::uint64_t limit_bytes, std::function<void(const std::string&)> on_warning)
    : folder_(std::move(folder)), bypass_(std::move(on_warning)), usage_(folder_, limit_bytes, bypass_) {}

CacheStatistics DiskCache::statistics() const { return {hit_bytes_.load(), stored_bytes_.load(), damaged_.load()}; }

void DiskCache::write_entry(const fs::path& path, const Sha256& id, std::uint64_t offset,
                            std::span<const std::uint8_t> bytes) {
  const std::uint64_t room = cache_entry_disk_bytes(bytes.size());
  const fs::path partial =
      path.parent_path() / (kPartialEntryPrefix + std::to_string(::getpid()) + "-" + std::to_string(partial_number_++));
  const auto give_up = [&](int error) {
    ::unlink(partial.c_str());
    usage_.finish_write(room);
    if (error == EEXIST) return;  // another process was first
    bypass_.start("cannot write " + partial.string() + ": " + reason_of(error));
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
  usage_.finish_write(0);
  stored_bytes_ += bytes.size();
}

}  // namespace unstarve::remote
