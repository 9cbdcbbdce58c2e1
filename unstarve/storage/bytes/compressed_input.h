#pragma once
// The stored bytes of a compressed stream as its decoder takes them: from one offset on to the source's end.
//
// Ownership: borrows the source; owns a piece of it where it is not mapped.
// Threads:   one at a time. Failure: Error(kIo) of the source.
// Cost:      nothing is copied where the source is mapped; else pieces of kFirstPieceBytes, each twice as long as the
//            one before up to kLargestPieceBytes, so that a short read fetches little and a long one asks seldom.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

inline constexpr std::size_t kFirstPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kLargestPieceBytes = std::size_t{2} << 20;

class CompressedInput {
 public:
  // Precondition: offset <= source.size(). Borrows `source`.
  CompressedInput(const ByteSource& source, std::uint64_t offset) : source_(source), position_(offset) {}

  // What comes next: at least `least` bytes, fewer only where the source ends; none at its end. Valid until the next
  // call. Precondition: least <= kFirstPieceBytes.
  [[nodiscard]] std::span<const std::uint8_t> next(std::size_t least = 1);
  // Precondition: `count` bytes were given by next().
  void take(std::size_t count) noexcept;

  // Offset in the source of what comes next.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return piece_.capacity(); }

 private:
  const ByteSource& source_;
  std::uint64_t position_;
  std::vector<std::uint8_t> piece_;
  std::size_t begin_ = 0, end_ = 0;  // of what is left in piece_
};

}  // namespace unstarve
