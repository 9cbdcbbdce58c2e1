#pragma once
// Passes over files, made past the page cache (O_DIRECT) where they would push out what others use.
//
//   first bytes of a process's passes ── page cache ──▶ there for the epoch that follows
//   what does not fit into half of the memory ── O_DIRECT, whole blocks ──▶ nothing stays behind
//
// Threads: CacheRoom any number; what past_page_cache() gives is a ByteSource.
// Failure: as ByteSource. Where a file system has no such reads, the pass goes through the page cache.

#include <atomic>
#include <cstdint>
#include <memory>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

// Bytes that passes may bring into the page cache.
class CacheRoom {
 public:
  explicit CacheRoom(std::uint64_t bytes) noexcept : left_(bytes) {}
  // Whether so many still fit; then they are taken.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
  // Of this process: half of the machine's memory.
  [[nodiscard]] static CacheRoom& of_process();

 private:
  std::atomic<std::uint64_t> left_;
};

// The same bytes, not mapped, read past the page cache; nullptr where `source` is to be read itself: it is remote, lies
// in the page cache already, fits into `room`, or cannot be read so.
[[nodiscard]] std::unique_ptr<const ByteSource> past_page_cache(const ByteSource& source, CacheRoom& room);

}  // namespace unstarve
