#pragma once
// The cache folder of indexes, $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index), and what is given up of it:
// nobody but us knows that it grows.
//
//   used         an index's time stamp is set to now when it is written, and when it is taken, once a day
//   given up     what was not used for 90 days; then, while all are larger than 10 GiB, the longest unused, but
//                none that was used within a day: data whose indexes are larger than that keep them; and what a process
//                that was killed had begun to write, after a day
//   looked at    when a process keeps an index there for the first time, and once an hour at most: whoever
//                writes that index lists the folder, a stat of each entry
//
// Nothing there is worth more than the pass over the data that makes it again. What lies beside data is never touched.
//
// Threads and processes: any number at once. Who has an index open keeps what it has; an index that is added to (scan
//          indexes) and given up meanwhile loses what is added. Failure: none; what cannot be read or removed stays.

#include <cstdint>
#include <filesystem>
#include <optional>

namespace unstarve {

struct IndexCacheRule {
  std::int64_t kept_ns = std::int64_t{90} * 24 * 3600 * 1'000'000'000;
  std::uint64_t kept_bytes = std::uint64_t{10} << 30;
};

// Nothing where the environment does not tell where it is.
[[nodiscard]] std::optional<std::filesystem::path> index_cache_folder();

// For who takes the index at `place`, wherever it lies.
void index_is_used(const std::filesystem::path& place) noexcept;
// For who has written the index at `place`, wherever it lies: looks at the cache folder where it lies there and it is
// time.
void index_is_kept(const std::filesystem::path& place) noexcept;

// Looks at `folder`, whose time is `now_ns` since 1970.
void prune_index_cache(const std::filesystem::path& folder, const IndexCacheRule& rule, std::int64_t now_ns) noexcept;

}  // namespace unstarve
