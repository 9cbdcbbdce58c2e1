#pragma once
// A local file that is read once from front to back by plain reads, never mapped, and summed on the way: what a pass
// over a shard asks for and what it leaves out both go into the checksum.
//
// A file that was not in the page cache when it was opened is not left there, so that checking more data than memory
// holds does not push out what others use.
//
// Ownership: holds the file open. Threads: one.
// Failure:   Error(kIo) with path and offset; a file that ends before its length does is one.
// Cost:      every byte is read once, apart from those that are asked for again.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/aligned.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/file_descriptor.h"

namespace unstarve {

class SummedFile final : public ByteSource {
 public:
  explicit SummedFile(std::string path);

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return stamp_.bytes; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;

  // CRC-32C of the whole file; reads what is left of it.
  [[nodiscard]] std::uint32_t sum() const;

 private:
  void sum_until(std::uint64_t end) const;
  void fill(std::uint64_t offset, std::span<std::uint8_t> out) const;

  std::string path_;
  FileDescriptor file_;
  SourceStamp stamp_;
  bool leave_cached_ = true;
  mutable AlignedBytes piece_;
  mutable std::uint64_t summed_ = 0;  // bytes from the front
  mutable std::uint32_t crc_ = 0;
};

}  // namespace unstarve
