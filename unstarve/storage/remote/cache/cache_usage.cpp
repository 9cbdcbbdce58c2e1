#include "unstarve/storage/remote/cache/cache_usage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/remote/cache/cache_entry.h"

namespace unstarve::remote {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUsageBytes = 16;

FileDescriptor open_lock_file(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) throw io_error("open disk cache file", path.string(), errno);
  return file;
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
    if (remove_partial && name.rfind(kPartialEntryPrefix, 0) == 0) ::unlink(it->path().c_str());
    if (!parse_cache_entry_name(name)) continue;
    inventory.entries.push_back({it->path(), disk_bytes(static_cast<std::uint64_t>(status.st_size)), status.st_mtim});
    inventory.bytes += inventory.entries.back().bytes;
  }
  return inventory;
}

bool used_before(const FoundFile& a, const FoundFile& b) {
  return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
}

}  // namespace

CacheUsage::CacheUsage(fs::path folder, std::uint64_t limit_bytes, CacheBypass& bypass)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes), bypass_(bypass) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw io_error("make disk cache", folder_.string(), error.value());
  usage_file_ = open_lock_file(folder_ / "usage");
  evict_file_ = open_lock_file(folder_ / "evict.lock");
  users_file_ = open_lock_file(folder_ / "users.lock");
  const bool alone = ::flock(users_file_.get(), LOCK_EX | LOCK_NB) == 0;
  // The process that is alone counts; the others wait for it.
  const auto share = [&] {
    while (::flock(users_file_.get(), LOCK_SH) != 0)
      if (errno != EINTR) throw io_error("lock disk cache", folder_.string(), errno);
  };
  if (!alone) share();
  struct stat status {};
  if (::fstat(usage_file_.get(), &status) != 0) throw io_error("read disk cache usage", folder_.string(), errno);
  const bool known = status.st_size == kUsageBytes;
  // If this process is alone, entries counted as being written were left by a killed process.
  if (alone && (!known || change([](Counts&) {}).writing != 0)) recount();
  if (!alone && !known) {  // damaged while others use it: what they are writing remains
    const std::uint64_t bytes = take_inventory(folder_, false).bytes;
    change([bytes](Counts& usage) { usage.bytes = bytes; });
  }
  if (alone) share();
}

std::uint64_t CacheUsage::bytes() {
  return change([](Counts&) {}).bytes;
}

CacheUsage::Counts CacheUsage::change(const std::function<void(Counts&)>& edit) {
  const std::lock_guard threads(usage_mutex_);
  const FileLock processes(usage_file_.get(), LOCK_EX);
  std::array<std::uint8_t, kUsageBytes> bytes{};
  Counts usage;
  if (::pread(usage_file_.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) {
    usage = {load_little<std::uint64_t>(bytes.data()), load_little<std::uint64_t>(bytes.data() + 8)};
  }
  edit(usage);
  std::string text;
  append_little(text, usage.bytes);
  append_little(text, usage.writing);
  if (::pwrite(usage_file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    bypass_.start("cannot write " + (folder_ / "usage").string() + ": " + std::generic_category().message(errno));
  }
  return usage;
}

bool CacheUsage::reserve(std::uint64_t bytes) {
  if (bytes > limit_bytes_ / 10) return false;
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool granted = false;
    change([&](Counts& usage) {
      granted = usage.bytes <= limit_bytes_ && bytes <= limit_bytes_ - usage.bytes;
      if (!granted) return;
      usage.bytes += bytes;
      ++usage.writing;
    });
    if (granted) return true;
    if (attempt == 0 && !evict(bytes)) return false;
  }
  return false;
}

void CacheUsage::finish_write(std::uint64_t unused_bytes) {
  change([unused_bytes](Counts& usage) {
    usage.bytes -= std::min(usage.bytes, unused_bytes);
    usage.writing -= std::min<std::uint64_t>(usage.writing, 1);
  });
}

void CacheUsage::give_back(std::uint64_t bytes) {
  change([bytes](Counts& usage) { usage.bytes -= std::min(usage.bytes, bytes); });
}

void CacheUsage::recount() {
  const std::uint64_t bytes = take_inventory(folder_, true).bytes;
  change([bytes](Counts& usage) { usage = {bytes, 0}; });
}

// Subtracts only what is removed: the sum includes entries that other processes are writing, which may not be listed.
bool CacheUsage::evict(std::uint64_t needed) {
  const std::unique_lock threads(evict_mutex_, std::try_to_lock);
  if (!threads.owns_lock()) return false;
  const FileLock processes(evict_file_.get(), LOCK_EX | LOCK_NB);
  if (!processes.held()) return false;
  Inventory inventory = take_inventory(folder_, false);
  std::sort(inventory.entries.begin(), inventory.entries.end(), used_before);
  const std::uint64_t goal = limit_bytes_ - limit_bytes_ / 10;
  std::uint64_t usage = bytes();
  for (const FoundFile& entry : inventory.entries) {
    if (usage + needed <= goal) break;
    if (::unlink(entry.path.c_str()) != 0) continue;
    give_back(entry.bytes);
    usage -= std::min(usage, entry.bytes);
  }
  return true;
}

}  // namespace unstarve::remote
