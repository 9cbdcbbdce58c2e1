#pragma once
// One file with the scan index of each JPEG of a dataset (codecs/jpeg/index/scan_index.h): built while images are
// decoded for the first time, read afterwards.
//
//   0   magic "UNSTJPX\n"                      8 bytes
//   8   version (1)                            u32
//   12  CRC-32C of the other 28 bytes          u32
//   16  number of records                      u64
//   24  key of the data                        u64
//   32  table, 16 bytes per record:  offset u64 | length u32 | CRC-32C of offset, length and bytes u32; all 0: none
//   ..  the indexes, in the order of their creation
//
// Numbers are little-endian. An index is written before its entry, and the checksum of the entry covers both: after a
// kill, a crash or a full disk an index is complete or absent. The decoder detects and replaces indexes of changed
// files and of another version of the program. Damage is distinguished from absence, counted and replaced.
//
// Shards may come with packed indexes of their records (scan_index_file.h), which are used if the file has none.
//
// Processes that open the same path share the file: each reads what others have added, and adds under a lock.
//
// Threads: any number. Failure: open() throws Error(kIo) if no path can be used; find() and put() never fail: an
//          unreadable index counts as wrong, and after a write error nothing more is written, see note().
// Cost:    two reads of the page cache per find(), a lock and three calls per put(); no memory per record.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/storage/index/scan_index_file.h"

namespace unstarve {

struct ScanIndexCounts {
  std::uint64_t used = 0;  // images decoded with an index
  std::uint64_t made = 0;  // indexes added
  // Images decoded without their index; each counted once.
  std::uint64_t wrong = 0;          // the index was damaged or did not match
  std::uint64_t other_version = 0;  // the index was written by another version of the program
};

class ScanIndexStore {
 public:
  // Opens the first of `paths` with indexes of `records` records under this key; else creates an empty file at the
  // first that can be written (if it replaces a damaged file or one of another version, see note()). If the first path
  // has no file, indexes of a later one are moved there, if that folder can be written. A read-only file is used
  // without additions. `parts`: packed indexes in record order; with some, no path is required, and note() has the
  // reason why nothing is added.
  [[nodiscard]] static std::shared_ptr<ScanIndexStore> open(std::span<const std::filesystem::path> paths,
                                                            std::uint64_t records, std::uint64_t key,
                                                            std::vector<ScanIndexPart> parts = {});

  // Copies the index of record `id` to `bytes`; false if there is none or it is damaged. A damaged one is counted as
  // wrong, and replaced if the shard has an intact packed one. Precondition: id < records.
  [[nodiscard]] bool find(std::uint64_t id, std::vector<std::uint8_t>& bytes);
  // Adds or replaces the index. Precondition: id < records.
  void put(std::uint64_t id, std::span<const std::uint8_t> bytes);
  // Whether put() has an effect.
  [[nodiscard]] bool writable() const noexcept { return writable_.load(std::memory_order_relaxed); }

  void count_used() noexcept { used_.fetch_add(1, std::memory_order_relaxed); }
  // Call if the decoder found the index from find() to be wrong or of another version.
  void count_wrong(std::uint64_t id) { count_once(id, wrong_); }
  void count_other_version(std::uint64_t id) { count_once(id, other_version_); }
  [[nodiscard]] ScanIndexCounts counts() const noexcept;
  // The path of the file; empty if nothing is added.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  // Why nothing more is added, or why the file was recreated (damaged, or of another version); else empty.
  [[nodiscard]] std::string note() const;

 private:
  ScanIndexStore() = default;
  [[nodiscard]] FoundIndex find_stored(std::uint64_t id, std::vector<std::uint8_t>& bytes);
  [[nodiscard]] FoundIndex read_own(std::uint64_t id, std::vector<std::uint8_t>& bytes) const;
  [[nodiscard]] FoundIndex find_packed(std::uint64_t id, std::vector<std::uint8_t>& bytes) const;
  void count_once(std::uint64_t id, std::atomic<std::uint64_t>& counter);

  FileDescriptor file_;
  std::filesystem::path path_;
  std::uint64_t records_ = 0;
  std::vector<ScanIndexPart> parts_;
  std::atomic<bool> writable_ = false;
  mutable std::mutex mutex_;
  std::string note_;
  std::vector<bool> counted_;  // by record; allocated at the first use
  std::atomic<std::uint64_t> used_ = 0, made_ = 0, wrong_ = 0, other_version_ = 0;
};

// The possible paths of the indexes of the data that `name` names (a path, a glob, a URL or several of them with any
// separator): next to it if it is a file or folder, then the cache folder. `variant` distinguishes data of the same
// name: a split.
[[nodiscard]] std::vector<std::filesystem::path> scan_index_candidates(const std::string& name,
                                                                       const std::string& variant);

}  // namespace unstarve
