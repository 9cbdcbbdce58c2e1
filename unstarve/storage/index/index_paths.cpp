#include "unstarve/storage/index/index_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "unstarve/core/clock.h"
#include "unstarve/core/digest.h"
#include "unstarve/core/error.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/source/shard_list.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// In hexadecimal.
std::string digest(std::string_view text) {
  std::uint64_t hash = fnv1a(text);
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) *digit = kDigits[hash & 15];
  return digits;
}

constexpr std::int64_t kHourNs = std::int64_t{3600} * 1'000'000'000;
constexpr std::int64_t kDayNs = 24 * kHourNs;

std::int64_t stamp_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool is_in_cache(const fs::path& path) {
  const std::optional<fs::path> folder = index_cache_folder();
  return folder && path.parent_path() == *folder;
}

struct CacheFile {
  fs::path path;
  std::int64_t used_ns = 0;
  std::uint64_t bytes = 0;  // on disk: files of scan indexes are sparse
  bool partial = false;     // being written, or left by a killed process
};

// The indexes in `folder`, without other files.
std::vector<CacheFile> list_cache(const fs::path& folder) {
  std::vector<CacheFile> all;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const std::size_t suffix = name.rfind(kIndexSuffix);
    if (suffix == std::string::npos) continue;
    const std::string_view ending = std::string_view(name).substr(suffix + kIndexSuffix.size());
    const bool partial = ending.starts_with(".partial-");
    if (!partial && !ending.empty()) continue;
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    all.push_back({it->path(), stamp_ns(status), static_cast<std::uint64_t>(status.st_blocks) * 512, partial});
  }
  return all;
}

// The paths of keep_indexes_next_to(): absolute.
struct Requested {
  std::mutex mutex;
  std::vector<std::string> paths;
};

Requested& requested() {
  static Requested list;
  return list;
}

std::string absolute_text(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed);
  return failed ? path : absolute.lexically_normal().string();
}

bool has_pack_manifest(const fs::path& folder) {
  std::ifstream file(folder / "manifest.json", std::ios::binary);
  std::string head(256, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("\"unstarve\"") != std::string::npos;
}

// Whether `data` is a pack or one of its shards.
bool is_packed(const fs::path& data) { return has_pack_manifest(data) || has_pack_manifest(data.parent_path()); }

bool stays_next_to_data(const std::string& data) {
  const char* const everywhere = std::getenv("UNSTARVE_INDEX");
  if (everywhere != nullptr && *everywhere != '\0') {
    if (std::string_view(everywhere) == "next_to_data") return true;
    throw argument_error("UNSTARVE_INDEX: found '{}'; expected next_to_data, or no such variable", everywhere);
  }
  if (is_packed(data)) return true;
  const std::string absolute = absolute_text(data);
  Requested& list = requested();
  const std::lock_guard lock(list.mutex);
  return std::any_of(list.paths.begin(), list.paths.end(),
                     [&](const std::string& path) { return absolute.starts_with(path); });
}

// Unless it was used since it was listed.
bool remove(const CacheFile& entry) {
  struct stat status {};
  return ::lstat(entry.path.c_str(), &status) == 0 && stamp_ns(status) == entry.used_ns &&
         ::unlink(entry.path.c_str()) == 0;
}

}  // namespace

fs::path index_path(const fs::path& data) {
  fs::path path = data.has_filename() ? data : data.parent_path();
  return path += kIndexSuffix;
}

void keep_indexes_next_to(const std::string& data) {
  if (is_url(data)) return;
  Requested& list = requested();
  const std::lock_guard lock(list.mutex);
  list.paths.push_back(absolute_text(data.substr(0, data.find_first_of("*?{[#"))));
}

std::vector<fs::path> index_paths(const std::string& name, const std::string& variant) {
  const std::string ending = variant.empty() ? "" : "." + digest(variant).substr(0, 8);
  std::vector<fs::path> found;
  std::string whole = name;
  if (!is_url(whole)) {
    std::error_code failed;
    const fs::path sibling = index_path(whole + ending);
    if (fs::path(whole).has_relative_path() && (stays_next_to_data(whole) || fs::exists(sibling, failed)))
      found.push_back(sibling);
    whole = absolute_text(whole);
  }
  if (const std::optional<fs::path> cache = index_cache_folder()) {
    // The digest identifies the data; the end of the name helps people who list the folder.
    const std::string last = whole.substr(whole.find_last_of('/') + 1);
    found.push_back(*cache / index_path(digest(whole) + "-" +
                                        last.substr(last.size() - std::min<std::size_t>(last.size(), 100)) + ending));
  }
  return found;
}

SavedIndex save_index(const std::string& name, std::span<const fs::path> paths, std::string_view bytes,
                      Durability durability) {
  SavedIndex saved{{}, "neither XDG_CACHE_HOME nor HOME names a folder for it"};
  for (const fs::path& path : paths) {
    try {
      const bool next_to_data = !is_url(name) && path.parent_path() == fs::path(name).parent_path();
      if (!next_to_data) fs::create_directories(path.parent_path());
      write_file_atomically(path, bytes, durability);
      saved.path = path;
      mark_index_saved(path);
      return saved;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo) throw;
      saved.failure = error.what();
    } catch (const fs::filesystem_error& error) {
      saved.failure = error.what();
    }
  }
  return saved;
}

std::string not_saved(const std::string& name, const std::string& failure) {
  return "the index of " + name + " cannot be saved (" + failure + "): it is rebuilt in every run";
}

std::optional<fs::path> index_cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  // The XDG specification requires an absolute path.
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "unstarve" / "index";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "unstarve" / "index";
  return std::nullopt;
}

void mark_index_used(const fs::path& path) noexcept try {
  if (!is_in_cache(path)) return;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || wall_clock_ns() - stamp_ns(status) < kDayNs) return;
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // may fail in a folder of another user
} catch (const std::exception&) {
}

void mark_index_saved(const fs::path& path) noexcept try {
  static std::atomic<std::int64_t> pruned_ns{0};  // steady clock; 0: never
  if (!is_in_cache(path)) return;
  const std::int64_t now = std::max<std::int64_t>(steady_clock().now_ns(), 1);
  std::int64_t last = pruned_ns.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kHourNs) return;
  if (!pruned_ns.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;
  prune_index_cache(path.parent_path(), {}, wall_clock_ns());
} catch (const std::exception&) {
}

void prune_index_cache(const fs::path& folder, const IndexCacheRule& rule, std::int64_t now_ns) noexcept try {
  std::vector<CacheFile> all = list_cache(folder);
  std::sort(all.begin(), all.end(), [](const CacheFile& a, const CacheFile& b) { return a.used_ns < b.used_ns; });
  std::uint64_t bytes = 0;
  for (const CacheFile& entry : all) bytes += entry.bytes;
  for (const CacheFile& entry : all) {
    const std::int64_t unused_ns = now_ns - entry.used_ns;
    if (unused_ns <= kDayNs) break;
    if ((entry.partial || unused_ns > rule.max_age_ns || bytes > rule.max_bytes) && remove(entry)) bytes -= entry.bytes;
  }
} catch (const std::exception&) {
}

}  // namespace unstarve
