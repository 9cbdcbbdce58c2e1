#pragma once
// A local file as a ByteSource: mapped, so records are returned without copying.
//
// Ownership: the map lives as long as the object. Failure: Error(kIo) if it is missing, unreadable or not regular.
// Cost:      opening is open, fstat, mmap. Reads outside the page cache use the kernel's default readahead, which was
//            faster than pread and every madvise(2) for records in random order.

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

class LocalBytes final : public ByteSource {
 public:
  explicit LocalBytes(std::string path);
  ~LocalBytes() override;
  LocalBytes(const LocalBytes&) = delete;
  LocalBytes& operator=(const LocalBytes&) = delete;

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return stamp_.bytes; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  void prefetch(std::uint64_t offset, std::size_t length) const noexcept override;
  [[nodiscard]] std::span<const std::uint8_t> mapped() const noexcept override { return {data_, stamp_.bytes}; }

 private:
  std::string path_;
  SourceStamp stamp_;
  const std::uint8_t* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;  // with the page after the end
};

}  // namespace unstarve
