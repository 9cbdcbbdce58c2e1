#pragma once
// Passes over files that bypass the page cache (O_DIRECT) if they would evict data that other reads use.
//
//   the first bytes that a process reads in passes ── page cache ──▶ available to the following epoch
//   beyond half of the memory ── O_DIRECT, whole blocks ──▶ nothing stays in the cache
//
// Threads: PageCacheBudget: any number; open_uncached() returns a ByteSource.
// Failure: as ByteSource. If the file system does not support O_DIRECT, the pass uses the page cache.

#include <atomic>
#include <cstdint>
#include <memory>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

// The number of bytes that passes may read into the page cache.
class PageCacheBudget {
 public:
  explicit PageCacheBudget(std::uint64_t bytes) noexcept : left_(bytes) {}
  // Takes `bytes` from the budget; false if they do not fit.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
  // The budget of the process: half of the machine's memory.
  [[nodiscard]] static PageCacheBudget& of_process();

 private:
  std::atomic<std::uint64_t> left_;
};

// The same bytes, read without the page cache; nullptr if `source` should be read directly: it is remote, already in
// the page cache, fits into `budget`, or its file system has no O_DIRECT.
[[nodiscard]] std::unique_ptr<const ByteSource> open_uncached(const ByteSource& source, PageCacheBudget& budget);

}  // namespace unstarve
