#pragma once
// Bytes in memory, used as a file: for example its decompressed content.
//
// Ownership: owns the bytes; name and stamp are those of the file. Threads: immutable.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

class HeldBytes final : public ByteSource {
 public:
  HeldBytes(const ByteSource& file, std::vector<std::uint8_t> bytes)
      : name_(file.name()), stamp_(file.stamp()), bytes_(std::move(bytes)), size_(bytes_.size()) {
    bytes_.resize(size_ + kReadableAfter);
  }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    check_range(*this, offset, out.size());
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }
  [[nodiscard]] std::span<const std::uint8_t> mapped() const noexcept override { return {bytes_.data(), size_}; }

 private:
  std::string name_;
  SourceStamp stamp_;
  std::vector<std::uint8_t> bytes_;
  std::size_t size_;
};

}  // namespace unstarve
