#pragma once
// A local file that is read once from front to back by plain reads and checksummed on the way. Bytes that the reader of
// the format skips are included in the checksum.
//
// A file that was not in the page cache when it was opened is evicted afterwards, so that verifying large data does not
// displace other cached files.
//
// Ownership: keeps the file open. Threads: one.
// Failure:   Error(kIo) with path and offset, also if the file is shorter than its length when opened.
// Cost:      every byte is read once, plus repeated reads of the same range.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

class SummedFile final : public ByteSource {
 public:
  explicit SummedFile(std::string path);

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return stamp_.bytes; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;

  // CRC-32C of the whole file; reads the rest of it.
  [[nodiscard]] std::uint32_t sum() const;

 private:
  void sum_until(std::uint64_t end) const;
  void fill(std::uint64_t offset, std::span<std::uint8_t> out) const;

  std::string path_;
  FileDescriptor file_;
  SourceStamp stamp_;
  bool leave_cached_ = true;
  mutable AlignedBytes piece_;
  mutable std::uint64_t summed_ = 0;  // summed up to this offset
  mutable std::uint32_t crc_ = 0;
};

}  // namespace unstarve
