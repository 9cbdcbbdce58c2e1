#pragma once
// For tests and fuzz targets: bytes in memory as a ByteSource, mapped or read by ranges.
//
// Ownership: owns the bytes. Threads: as ByteSource.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve::testing {

enum class Access { kMapped, kRanges };

class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::string_view bytes, Access access = Access::kMapped, std::string name = "memory")
      : bytes_(bytes.begin(), bytes.end()), size_(bytes.size()), name_(std::move(name)), access_(access) {
    bytes_.resize(size_ + kReadableAfter);
  }

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return {size_, 0}; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    check_range(*this, offset, out.size());
    std::copy_n(bytes_.data() + offset, out.size(), out.data());
  }
  [[nodiscard]] std::span<const std::uint8_t> mapped() const noexcept override {
    if (access_ == Access::kRanges) return {};
    return {bytes_.data(), size_};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t size_;
  std::string name_;
  Access access_;
};

}  // namespace unstarve::testing
