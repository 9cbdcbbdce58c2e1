#pragma once
// The memory of records that are read ahead: how many records fit a byte limit, and which used buffers are kept.
//
// The size of the largest record decays, so that one outlier narrows the window only for a while. A used buffer is
// freed if it is much larger than a typical record, so that in time not all buffers are as large as the largest record.
//
// Threads: one at a time. Cost: allocates only in the constructor.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class RecordMemory {
 public:
  // For a ring of `ring` records, 2 or more.
  RecordMemory(std::uint64_t limit_bytes, std::size_t ring) : limit_(limit_bytes), ring_(ring) { spare_.reserve(ring); }

  // Records that fit the limit, 2 to the size of the ring.
  [[nodiscard]] std::uint64_t window() const { return std::clamp<std::uint64_t>(limit_ / largest_, 2, ring_); }
  [[nodiscard]] std::uint64_t bytes() const { return held_; }

  // A buffer enters the ring, or leaves it.
  void add(const RecordBuffer& record) { held_ += record.storage.capacity(); }
  void remove(const RecordBuffer& record) { held_ -= record.storage.capacity(); }
  void free(RecordBuffer& record) {
    remove(record);
    record = {};
  }
  // A record was read. `bytes`: of its values; 0: it holds none.
  void note_read(const RecordBuffer& record, std::size_t bytes) {
    if (bytes > 0) typical_ += (static_cast<double>(bytes) - typical_) * (typical_ > 0 ? kTypicalShare : 1);
    largest_ = std::max<std::uint64_t>(largest_ - largest_ / kFade, record.storage.capacity());
    add(record);
  }

  // Whether a used buffer is worth its memory.
  [[nodiscard]] bool fits(const RecordBuffer& record) const {
    // If the limit narrows the window, entries outside of it must hold no memory.
    return window() == ring_ &&
           static_cast<double>(record.storage.capacity()) <= std::max<double>(kFits * typical_, kSmallBuffer);
  }
  // Spare buffers, for entries that have none where fewer records are read ahead than the ring has entries.
  [[nodiscard]] std::size_t spare() const { return spare_.size(); }
  void put_spare(RecordBuffer& record) { spare_.push_back(std::exchange(record, {})); }  // counted as before
  void take_spare(RecordBuffer& record) {
    if (spare_.empty() || record.storage.capacity() > 0) return;
    record = std::move(spare_.back());
    spare_.pop_back();
  }
  void free_spare() {
    for (RecordBuffer& record : spare_) free(record);
    spare_.clear();
  }

 private:
  static constexpr std::uint64_t kFade = 256;          // per record, the size of the largest decays by this part
  static constexpr double kTypicalShare = 1.0 / 64;    // of the latest record in the running mean
  static constexpr double kFits = 2;                   // typical records
  static constexpr std::size_t kSmallBuffer = 16'384;  // is always kept

  const std::uint64_t limit_;
  const std::size_t ring_;
  std::vector<RecordBuffer> spare_;
  std::uint64_t largest_ = 1;  // bytes, decaying
  double typical_ = 0;         // bytes, a running mean
  std::uint64_t held_ = 0;     // bytes in the ring and in spare buffers
};

}  // namespace unstarve
