#pragma once
// The space that the entries of a disk cache use, counted by all its processes, and the eviction of entries.
//
//   FOLDER/usage         bytes of all entries, and the number being written: two numbers of 8 bytes, little-endian;
//                        changed under the file's flock
//   FOLDER/evict.lock    flocked by the one process that evicts
//   FOLDER/users.lock    flocked (shared) by every process that has the cache open
//
// Space is counted in whole 4 KiB blocks. The least recently used entries are evicted until a tenth of the limit is
// free.
//
// Ownership: borrows the bypass, which starts if the usage cannot be written.
// Threads and processes: all functions may be called concurrently.
// Failure:   Error(kIo) from the constructor if the folder or its files cannot be created. A killed process leaves a
//            usage that is too high; the next process that opens the cache alone corrects it.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/storage/remote/cache/cache_bypass.h"

namespace unstarve::remote {

class CacheUsage {
 public:
  CacheUsage(std::filesystem::path folder, std::uint64_t limit_bytes, CacheBypass& bypass);

  // Bytes of all entries according to the usage file.
  [[nodiscard]] std::uint64_t bytes();
  // Reserves space for an entry of `bytes` on disk, ended by finish_write(). False if there is no space, or if `bytes`
  // exceed a tenth of the limit.
  [[nodiscard]] bool reserve(std::uint64_t bytes);
  void finish_write(std::uint64_t unused_bytes);
  // An entry of `bytes` was removed.
  void give_back(std::uint64_t bytes);

 private:
  struct Counts {
    std::uint64_t bytes = 0;
    std::uint64_t writing = 0;
  };
  Counts change(const std::function<void(Counts&)>& edit);
  // False if another process is evicting.
  bool evict(std::uint64_t needed);
  // Recomputes the usage and removes partial files of killed processes.
  void recount();

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  CacheBypass& bypass_;
  std::mutex usage_mutex_;  // flock excludes processes, this excludes threads
  FileDescriptor usage_file_;
  FileDescriptor users_file_;
  std::mutex evict_mutex_;
  FileDescriptor evict_file_;
};

}  // namespace unstarve::remote
