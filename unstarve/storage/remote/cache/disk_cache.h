#pragma once
// Ranges of remote objects on a local disk, shared by any number of processes.
//
//   FOLDER/usage, *.lock               the space that entries use (cache_usage.h)
//   FOLDER/ab/ab12.../OFFSET-LENGTH    an entry (cache_entry.h); the folder is the SHA-256 of URL, size and ETag (or
//                                      Last-Modified)
//   FOLDER/ab/ab12.../.partial-PID-N   an entry being written; renamed when it is complete
//
// Contents:      exactly the ranges that were read. Other entries that cover a range serve it, wholly or in part.
// Limit:         space is reserved before an entry is written; the least recently used entries are evicted. An entry
//                that is larger than a tenth of the limit is not stored.
// Failure:       Error(kIo) from the constructor if the folder cannot be created. Later, a damaged entry is removed and
//                fetched again; on a full disk nothing is stored for a minute, and `on_warning` is called once. A
//                killed process leaves at most a .partial file and a `usage` that is too high; the next process that
//                opens the cache alone corrects both.
// Threads and processes: all functions may be called concurrently.
// Cost:          a hit is open, two or three preads and close; a miss one failed open.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/remote/cache/cache_bypass.h"
#include "unstarve/storage/remote/cache/cache_entry.h"
#include "unstarve/storage/remote/cache/cache_usage.h"

namespace unstarve::remote {

struct CacheStatistics {
  std::uint64_t hit_bytes = 0, stored_bytes = 0, damaged = 0;
};

class DiskCache {
 public:
  // The ranges of one object. Shares its cache.
  class Object {
   public:
    Object(std::shared_ptr<DiskCache> cache, const std::string& identity);
    // Fills the cached parts and returns the missing ones in order.
    [[nodiscard]] std::vector<ReadRange> read(const ReadRange& range);
    void store(std::uint64_t offset, std::span<const std::uint8_t> bytes);

   private:
    [[nodiscard]] std::filesystem::path path_of(const CacheExtent& entry) const;
    bool read_entry(const CacheExtent& entry, const ReadRange& part);
    // The known entry that covers `offset` and extends furthest, or the start of the next entry.
    struct Coverage {
      CacheExtent entry;
      std::uint64_t next = 0;  // of the first entry beyond `offset`
    };
    [[nodiscard]] Coverage find(std::uint64_t offset) const;

    std::shared_ptr<DiskCache> cache_;
    Sha256 id_;
    std::filesystem::path folder_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> known_;  // offset -> length of the longest entry
  };

  DiskCache(std::filesystem::path folder, std::uint64_t limit_bytes,
            std::function<void(const std::string&)> on_warning);
  [[nodiscard]] CacheStatistics statistics() const;

 private:
  void write_entry(const std::filesystem::path& path, const Sha256& id, std::uint64_t offset,
                   std::span<const std::uint8_t> bytes);

  std::filesystem::path folder_;
  CacheBypass bypass_;
  CacheUsage usage_;
  std::atomic<std::uint64_t> partial_number_{0};
  std::atomic<std::uint64_t> hit_bytes_{0}, stored_bytes_{0}, damaged_{0};
};

}  // namespace unstarve::remote
