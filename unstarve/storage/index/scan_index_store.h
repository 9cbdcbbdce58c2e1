#pragma once
// One file that keeps the scan index of each JPEG of a data set (codecs/jpeg/index/scan_index.h): made while the images are
// decoded for the first time, read from then on.
//
//   0   magic "UNSTJPX\n"                      8 bytes
//   8   version (1)                            u32
//   12  CRC-32C of the other 28 bytes          u32
//   16  records                                u64
//   24  key of the data                        u64
//   32  table, 16 bytes per record:  offset u64 | length u32 | CRC-32C of offset, length and bytes u32; all 0: none
//   ..  the indexes, in the order in which they were made
//
// Numbers are little-endian. An index is written before its entry, and an entry tells by its checksum whether both are
// whole: after a kill, a crash or a full disk an index is there or it is not. What belongs to a file that has changed
// is found out by the decoder and replaced, as is what another version of the program has written. Damage is told from
// what is not there yet, counted and replaced.
//
// Shards may have brought the indexes of their records (scan_index_file.h): those are used where the file has none.
//
// Processes that open the same place share the file: each reads what the others have added, and adds under a lock.
//
// Threads: any number. Failure: open() throws Error(kIo) when no place can be used; find() and put() never fail: what
//          cannot be read counts as wrong, and where writing fails nothing more is written, see note().
// Cost:    two reads of the page cache to find, a lock and three calls to add; no memory per record.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/index/scan_index_file.h"

namespace unstarve {

struct ScanIndexCounts {
  std::uint64_t used = 0;  // decodings by an index
  std::uint64_t made = 0;  // indexes added
  // Images, each once, however often they are decoded; without the index in question.
  std::uint64_t wrong = 0;          // their index was damaged or did not fit them
  std::uint64_t other_version = 0;  // another version of the program wrote it
};

class ScanIndexStore {
 public:
  // The first of `places` that holds indexes of so many records under this key; else a new, empty file in the first
  // that can be written, and note() tells where it took the place of one that was damaged or of another version. A file
  // that can only be read is used as it is. `parts`: what shards have brought, in the order of their records; with
  // some, there need not be a place, and then note() says why nothing is added.
  [[nodiscard]] static std::shared_ptr<ScanIndexStore> open(std::span<const std::filesystem::path> places,
                                                            std::uint64_t records, std::uint64_t key,
                                                            std::vector<ScanIndexPart> parts = {});

  // The index of record `id` to `bytes`; false, and none, where there is none, or a damaged one, which is counted as
  // wrong, and replaced where its shard has brought a whole one. Precondition: id < records.
  [[nodiscard]] bool find(std::uint64_t id, std::vector<std::uint8_t>& bytes);
  // Adds it, or replaces the one there is. Precondition: id < records.
  void put(std::uint64_t id, std::span<const std::uint8_t> bytes);
  // Whether put() can do anything.
  [[nodiscard]] bool writable() const noexcept { return writable_.load(std::memory_order_relaxed); }

  void count_used() noexcept { used_.fetch_add(1, std::memory_order_relaxed); }
  // What find() gave for this record, as the decoder found out.
  void count_wrong(std::uint64_t id) { count_once(id, wrong_); }
  void count_other_version(std::uint64_t id) { count_once(id, other_version_); }
  [[nodiscard]] ScanIndexCounts counts() const noexcept;
  // Where indexes are added; empty for nowhere.
  [[nodiscard]] const std::filesystem::path& place() const noexcept { return place_; }
  // Why nothing more is added, that the file was damaged as a whole, or of another version, and is made anew, or empty.
  [[nodiscard]] std::string note() const;

 private:
  ScanIndexStore() = default;
  [[nodiscard]] FoundIndex find_own(std::uint64_t id, std::vector<std::uint8_t>& bytes);
  [[nodiscard]] FoundIndex read_own(std::uint64_t id, std::vector<std::uint8_t>& bytes) const;
  [[nodiscard]] FoundIndex find_brought(std::uint64_t id, std::vector<std::uint8_t>& bytes) const;
  void count_once(std::uint64_t id, std::atomic<std::uint64_t>& counter);

  FileDescriptor file_;
  std::filesystem::path place_;
  std::uint64_t records_ = 0;
  std::vector<ScanIndexPart> parts_;
  std::atomic<bool> writable_ = false;
  mutable std::mutex mutex_;
  std::string note_;
  std::vector<bool> counted_;  // by record, from the first one that is counted once
  std::atomic<std::uint64_t> used_ = 0, made_ = 0, wrong_ = 0, other_version_ = 0;
};

// The places for the indexes of the data that `name` names (a path, a glob, a URL or several of them with anything
// between): beside it where it is a file or folder of its own, then the cache folder. `variant` tells apart what the
// same name may mean: a split.
[[nodiscard]] std::vector<std::filesystem::path> scan_index_places(const std::string& name, const std::string& variant);

}  // namespace unstarve
