#pragma once
// Arbitrary bytes as a shard of a record format: records found by the scan are in order and inside of the shard, and
// each is read.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/testing/forward_memory.h"

namespace unstarve::fuzz {

class ShardSink final : public RecordSink {
 public:
  explicit ShardSink(std::size_t bytes) : bytes_(bytes) {}
  void add(const ScannedRecord& record) override {
    take(record.offset, record.length);
    for (const std::uint8_t byte : record.encoded) sum_ = sum_ + byte;
    for (const char c : record.member) sum_ = sum_ + static_cast<unsigned char>(c);
    for (const char c : record.label_name) sum_ = sum_ + static_cast<unsigned char>(c);
    records.push_back({record.offset, record.length, 0, static_cast<std::int32_t>(record.label.value_or(-1)), 0, 0});
  }
  void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) override {
    // A table entry may point beyond the end of the shard; its length is then 0.
    if (offset <= bytes_ || length > 0) take(offset, length);
    if (reason.empty()) __builtin_trap();
  }

  std::vector<IndexRecord> records;

 private:
  void take(std::uint64_t offset, std::uint64_t length) {
    if (offset < begin_ || offset > bytes_ || length > bytes_ - offset) __builtin_trap();
    begin_ = offset;
  }
  std::size_t bytes_;
  std::uint64_t begin_ = 0;
  volatile unsigned sum_ = 0;  // prevents the reads from being optimised away
};

inline void scan_and_read(const RecordFormat& format, std::span<const std::uint8_t> shard) {
  ShardSink sink(shard.size());
  try {
    testing::ForwardMemory bytes(shard);
    format.scan(bytes, sink);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) __builtin_trap();
  }
  volatile unsigned sum = 0;
  for (const IndexRecord& record : sink.records) {
    const std::vector<std::uint8_t> stored(shard.begin() + static_cast<std::ptrdiff_t>(record.offset),
                                           shard.begin() + static_cast<std::ptrdiff_t>(record.offset + record.length));
    AlignedBytes buffer;
    Value image;
    try {
      format.fill(stored, record, buffer, image);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) __builtin_trap();
      continue;
    }
    for (const std::uint8_t byte : image.bytes) sum = sum + byte;
    const PixelView& pixels = image.pixels;
    if (pixels.data != nullptr) {
      sum = sum + pixels.at(0, 0, 0) + pixels.at(pixels.width - 1, pixels.height - 1, 2);
    }
  }
}

}  // namespace unstarve::fuzz
