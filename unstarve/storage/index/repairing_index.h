#pragma once
// The index of one open shard, which repairs itself. Opening checks only the header, so damage to other blocks may be
// found much later; then the index is rebuilt from the shard, once.
//
// Ownership: shares the shard and the format. A replaced index is destroyed last, as other threads may still read it.
// Threads:   all const functions may be called concurrently; threads that find damage wait for the one that rebuilds.
// Failure:   Error(kInput) if the index is damaged again after that, or if the shard no longer has the records it had
//            when it was opened; else what reading the shard throws.
// Cost:      as ShardIndex. The whole index is checked only after a failed read.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "unstarve/storage/index/record_index.h"

namespace unstarve {

class RepairingIndex {
 public:
  // See find_or_build_index().
  RepairingIndex(std::shared_ptr<const ByteSource> shard, std::shared_ptr<const RecordFormat> format, bool save);
  RepairingIndex(const RepairingIndex&) = delete;
  RepairingIndex& operator=(const RepairingIndex&) = delete;

  // Number of records; a repair changes neither it nor the summary.
  [[nodiscard]] std::uint64_t size() const { return first_.index.view().size(); }
  [[nodiscard]] const ShardSummary& summary() const { return first_.index.summary(); }
  [[nodiscard]] IndexRecord record(std::uint64_t id) const;
  [[nodiscard]] std::string member(std::uint64_t id) const;
  // Precondition: the label of record `id` is kDamagedLabel.
  [[nodiscard]] std::string reason(std::uint64_t id) const;

  // The decompressed shard: the shard itself, or a source that borrows this index.
  [[nodiscard]] std::shared_ptr<const ByteSource> bytes() const;

  // Call if an entry of the index is impossible: checks the whole index, rebuilds it if it is damaged, and returns
  // whether a retry can help.
  [[nodiscard]] bool repair() const;

  // Why the index could not be saved, or a damaged one not replaced; also emitted as a notice (notice.h). Empty if
  // there was no problem so far.
  [[nodiscard]] std::string note() const;

 private:
  struct Version {
    std::shared_ptr<const ByteSource> inflated;  // null if the shard is not compressed
    ShardIndex index;
    mutable std::atomic<bool> sound = false;  // the whole index was checked

    // If it throws, `found` is unchanged.
    Version(ShardIndex&& found, const std::shared_ptr<const ByteSource>& shard);
  };
  class RepairingBytes;

  template <typename Read>
  auto read_or_repair(const Read& read) const;
  [[nodiscard]] Version open_first();
  [[nodiscard]] bool repair(const Version& version) const;

  std::shared_ptr<const ByteSource> shard_;
  std::shared_ptr<const RecordFormat> format_;
  bool save_;
  mutable std::string note_;  // guarded by mutex_ after construction
  Version first_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Version> second_;
  mutable std::atomic<const Version*> current_;
};

}  // namespace unstarve
