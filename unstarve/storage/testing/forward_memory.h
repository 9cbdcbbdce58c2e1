#pragma once
// For tests and fuzz targets: bytes in memory as ForwardBytes that enforces its contract. A decreasing offset aborts,
// and each call frees the bytes of the previous one, so that a sanitizer reports late reads.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "unstarve/storage/bytes/forward_bytes.h"

namespace unstarve::testing {

class ForwardMemory final : public ForwardBytes {
 public:
  // Borrows `bytes`.
  explicit ForwardMemory(std::span<const std::uint8_t> bytes, std::string name = "memory")
      : bytes_(bytes), name_(std::move(name)) {}

  [[nodiscard]] std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t length) override {
    if (offset < last_) std::abort();
    last_ = offset;
    if (offset >= bytes_.size()) return {};
    const auto piece = bytes_.subspan(offset, std::min<std::uint64_t>(length, bytes_.size() - offset));
    given_ = std::make_unique<std::uint8_t[]>(piece.size());
    std::copy(piece.begin(), piece.end(), given_.get());
    return {given_.get(), piece.size()};
  }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::string name_;
  std::uint64_t last_ = 0;
  std::unique_ptr<std::uint8_t[]> given_;
};

}  // namespace unstarve::testing
