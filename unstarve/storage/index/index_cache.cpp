#include "unstarve/storage/index/index_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/storage/source/shard_list.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kHourNs = std::int64_t{3600} * 1'000'000'000;
constexpr std::int64_t kDayNs = 24 * kHourNs;

std::int64_t stamp_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool lies_in_cache(const fs::path& place) {
  const std::optional<fs::path> folder = index_cache_folder();
  return folder && place.parent_path() == *folder;
}

struct Kept {
  fs::path path;
  std::int64_t used_ns = 0;
  std::uint64_t bytes = 0;  // on the disk: files of scan indexes have holes
  bool partial = false;     // being written, or left so by a process that was killed
};

// The indexes in `folder`, and nothing else that may lie there.
std::vector<Kept> list_cache(const fs::path& folder) {
  std::vector<Kept> all;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const std::size_t suffix = name.rfind(kIndexSuffix);
    if (suffix == std::string::npos) continue;
    const std::string_view behind = std::string_view(name).substr(suffix + kIndexSuffix.size());
    const bool partial = behind.starts_with(".partial-");
    if (!partial && !behind.empty()) continue;
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    all.push_back({it->path(), stamp_ns(status), static_cast<std::uint64_t>(status.st_blocks) * 512, partial});
  }
  return all;
}

// Unless it was used since it was looked at.
bool remove(const Kept& kept) {
  struct stat status {};
  return ::lstat(kept.path.c_str(), &status) == 0 && stamp_ns(status) == kept.used_ns &&
         ::unlink(kept.path.c_str()) == 0;
}

}  // namespace

std::optional<fs::path> index_cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "unstarve" / "index";  // must be absolute, says XDG
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "unstarve" / "index";
  return std::nullopt;
}

void index_is_used(const fs::path& place) noexcept try {
  if (!lies_in_cache(place)) return;
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0 || wall_clock_ns() - stamp_ns(status) < kDayNs) return;
  (void)::utimensat(AT_FDCWD, place.c_str(), nullptr, 0);  // a folder of someone else's is theirs to look after
} catch (const std::exception&) {
}

void index_is_kept(const fs::path& place) noexcept try {
  static std::atomic<std::int64_t> looked_ns{0};  // by a clock that nobody sets; 0: never
  if (!lies_in_cache(place)) return;
  const std::int64_t now = std::max<std::int64_t>(steady_clock().now_ns(), 1);
  std::int64_t last = looked_ns.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kHourNs) return;
  if (!looked_ns.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;
  prune_index_cache(place.parent_path(), {}, wall_clock_ns());
} catch (const std::exception&) {
}

void prune_index_cache(const fs::path& folder, const IndexCacheRule& rule, std::int64_t now_ns) noexcept try {
  std::vector<Kept> all = list_cache(folder);
  std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.used_ns < b.used_ns; });
  std::uint64_t bytes = 0;
  for (const Kept& kept : all) bytes += kept.bytes;
  for (const Kept& kept : all) {
    const std::int64_t unused_ns = now_ns - kept.used_ns;
    if (unused_ns <= kDayNs) break;
    if ((kept.partial || unused_ns > rule.kept_ns || bytes > rule.kept_bytes) && remove(kept)) bytes -= kept.bytes;
  }
} catch (const std::exception&) {
}

}  // namespace unstarve
