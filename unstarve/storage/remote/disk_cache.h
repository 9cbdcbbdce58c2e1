#pragma once
// Ranges of remote objects on a local disk, for any number of processes at once.
//
//   FOLDER/usage                       bytes that entries may take, and how many are being written: two numbers of 8
//                                      bytes, little-endian; changed under the file's flock
//   FOLDER/evict.lock                  flocked by the one process that makes room
//   FOLDER/users.lock                  flocked (shared) by every process that has the cache open
//   FOLDER/ab/ab12.../OFFSET-LENGTH    an entry (cache_entry.h); the folder is named by the SHA-256 of the object's
//   identity
//   FOLDER/ab/ab12.../.partial-PID-N   one that is being written; gets its name when it is complete
//
// What is kept:  exactly the ranges that were read, so nothing is read that was not asked for. A range is also served
//                when other entries cover it, wholly or in part; only what is missing is fetched.
// Identity:      URL, size and ETag (or Last-Modified): an object that changes is another object. One that has neither
//                is not cached.
// Limit:         room is reserved before an entry is written, in whole 4 KiB blocks, so the sum stays within the limit.
//                When it is full, the entries used longest ago go (their mtime is set when they are used) until a tenth
//                is free. One that is larger than that tenth is not kept.
// Damage:        an entry whose checksum is wrong is removed and what it held is fetched again.
// Full disk:     (or a folder that cannot be written) nothing is stored for a minute, reading goes on, `on_warning` is
//                told once.
//
// Threads and processes: everything may be called at once. Failure: Error(kIo) from the constructor when the folder
// cannot be made; later failures only mean that less is cached. A kill at any moment leaves at most a .partial file and
// a `usage` that is too high by it, never too low; the next process that has the cache for itself sets both right.
// Cost: a hit is open, two or three preads and close; a miss one failed open.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/remote/sha256.h"

namespace unstarve::remote {

struct CacheStatistics {
  std::uint64_t hit_bytes = 0, stored_bytes = 0, damaged = 0;
};

class DiskCache {
 public:
  // The ranges of one object. Keeps its cache alive.
  class Object {
   public:
    Object(std::shared_ptr<DiskCache> cache, const std::string& identity);
    // Fills what there is; what is not, in order.
    [[nodiscard]] std::vector<ReadRange> read(const ReadRange& range);
    void store(std::uint64_t offset, std::span<const std::uint8_t> bytes);

   private:
    [[nodiscard]] std::filesystem::path path_of(std::uint64_t offset, std::uint64_t length) const;
    bool read_entry(std::uint64_t entry_offset, std::uint64_t entry_length, const ReadRange& part);
    // The known entry that holds the byte at `offset` and most after it; or where the next one begins.
    struct Place {
      std::uint64_t offset = 0, length = 0;
      std::uint64_t next = 0;  // of the first entry beyond `offset`
    };
    [[nodiscard]] Place find(std::uint64_t offset) const;

    std::shared_ptr<DiskCache> cache_;
    Sha256 id_;
    std::filesystem::path folder_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> known_;  // offset -> length, the longest at each offset
  };

  DiskCache(std::filesystem::path folder, std::uint64_t limit_bytes,
            std::function<void(const std::string&)> on_warning);
  [[nodiscard]] CacheStatistics statistics() const;
  // What the entries take, as far as is known without looking at them all.
  [[nodiscard]] std::uint64_t usage_bytes();

 private:
  struct Usage {
    std::uint64_t bytes = 0;
    std::uint64_t writing = 0;
  };
  // An entry of `bytes` may be written; it ends with finish_write(). False when there is no room.
  bool reserve(std::uint64_t bytes);
  void finish_write(std::uint64_t unused_bytes);
  void give_back(std::uint64_t bytes);
  // Removes the oldest entries; false when another process is at it.
  bool make_room(std::uint64_t wanted);
  // Counts what is there and removes what killed processes left behind.
  void recount();
  Usage change_usage(const std::function<void(Usage&)>& change);
  void write_entry(const std::filesystem::path& path, const Sha256& id, std::uint64_t offset,
                   std::span<const std::uint8_t> bytes);
  void pass_by(const std::string& reason);

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  std::function<void(const std::string&)> on_warning_;
  std::mutex usage_mutex_;  // flock excludes processes, this excludes threads
  FileDescriptor usage_file_;
  FileDescriptor users_file_;
  std::mutex evict_mutex_;
  FileDescriptor evict_file_;
  std::atomic<bool> warned_{false};
  std::atomic<std::int64_t> store_again_ns_{0};
  std::atomic<std::uint64_t> partial_number_{0};
  std::atomic<std::uint64_t> hit_bytes_{0}, stored_bytes_{0}, damaged_{0};
};

}  // namespace unstarve::remote
