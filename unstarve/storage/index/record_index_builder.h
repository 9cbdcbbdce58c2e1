#pragma once
// Collects the result of a scan and writes the bytes of an index (layout: record_index.h).
//
// Threads: one at a time.

#include <map>
#include <unordered_map>

#include "unstarve/codecs/decoder.h"
#include "unstarve/storage/index/record_index.h"

namespace unstarve {

class RecordIndexBuilder final : public RecordSink {
 public:
  void add(const ScannedRecord& record) override;
  void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) override;

  [[nodiscard]] std::uint64_t size() const noexcept { return records_.size(); }
  // The end of the last record.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  // `points`: the seek points of a compressed shard.
  [[nodiscard]] std::string finish(const Fingerprint& fingerprint, const std::string& made_by, Compression compression,
                                   std::string points, const std::string& shard);

 private:
  void take_label(const ScannedRecord& record, IndexRecord& entry);
  void take_size(std::span<const std::uint8_t> encoded, IndexRecord& entry);
  void name_member(std::string_view member);
  [[nodiscard]] std::string summary(Compression compression, LabelKind kind) const;

  std::vector<IndexRecord> records_;
  std::vector<std::vector<std::uint8_t>> members_;  // empty until the first record with a name
  std::string damage_;
  std::uint64_t damaged_ = 0;
  std::uint64_t end_ = 0;
  std::uint32_t numbers_below_ = 0;
  std::map<std::uint32_t, std::string> numbered_names_;
  std::unordered_map<std::string, std::uint32_t> names_;  // of records with only a class name
  std::vector<std::string> names_in_order_;
  Decoder decoder_;
};

}  // namespace unstarve
