#pragma once
// The index of one open shard, which mends itself: blocks of it that no one has read yet may turn out damaged long
// after it was opened, since opening looks at its header only. Then it is made again from the shard, once.
//
//   record(), member(), reason(), bytes()->read() ── fails its checksum ──▶ one pass over the shard ──▶ asked again
//
// Ownership: holds the shard and the format. The index that was replaced stays until the end, as others may read in it.
// Threads:   may be called by any number of threads; while one makes the index again, those that met damage, too, wait.
// Failure:   Error(kInput) when the index is damaged again after that, or when the shard no longer holds the records it
//            held when it was opened; else what reading the shard throws.
// Cost:      as ShardIndex. Only after a failed read the whole index is checked, to tell its damage from the data's.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "unstarve/storage/index/record_index.h"

namespace unstarve {

class KeptIndex {
 public:
  // Finds or makes it, see find_or_make_index().
  KeptIndex(std::shared_ptr<const ByteSource> shard, std::shared_ptr<const RecordFormat> format, bool keep);
  KeptIndex(const KeptIndex&) = delete;
  KeptIndex& operator=(const KeptIndex&) = delete;

  // Number of records; the same after mending, as is the summary.
  [[nodiscard]] std::uint64_t size() const { return first_.index.view().size(); }
  [[nodiscard]] const ShardSummary& summary() const { return first_.index.summary(); }
  [[nodiscard]] IndexRecord record(std::uint64_t id) const;
  [[nodiscard]] std::string member(std::uint64_t id) const;
  // Precondition: the label of record `id` is kDamagedLabel.
  [[nodiscard]] std::string reason(std::uint64_t id) const;

  // The decompressed shard: the shard itself, or a source that borrows this index.
  [[nodiscard]] std::shared_ptr<const ByteSource> bytes() const;

  // For who finds that what the index says cannot be: checks all of it, makes it again if it is damaged, and tells
  // whether asking again can help.
  [[nodiscard]] bool mend() const;

  // Why the index could not be kept, or a damaged one not replaced; told as a notice, too (notice.h). Empty when all
  // went well so far.
  [[nodiscard]] std::string note() const;

 private:
  struct Version {
    std::shared_ptr<const ByteSource> inflated;  // null where the shard is not compressed
    ShardIndex index;
    mutable std::atomic<bool> sound = false;  // all of it was checked

    // When it throws, `found` is as it was.
    Version(ShardIndex&& found, const std::shared_ptr<const ByteSource>& shard);
  };
  class MendedBytes;

  template <typename Question>
  auto ask(const Question& question) const;
  [[nodiscard]] Version open_first();
  [[nodiscard]] bool mend(const Version& asked) const;

  std::shared_ptr<const ByteSource> shard_;
  std::shared_ptr<const RecordFormat> format_;
  bool keep_;
  mutable std::string note_;  // behind mutex_, once opened
  Version first_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Version> second_;
  mutable std::atomic<const Version*> current_;
};

}  // namespace unstarve
