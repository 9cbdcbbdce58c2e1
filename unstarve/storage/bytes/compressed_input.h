#pragma once
// The stored bytes of a compressed stream, from an offset to the end, in the pieces that its decoder consumes.
//
// Ownership: borrows the source; owns one piece of it if it is not mapped.
// Threads:   one at a time. Failure: Error(kIo) of the source.
// Cost:      nothing is copied if the source is mapped; else pieces start at kFirstPieceBytes and double up to
//            kLargestPieceBytes, so that a short read fetches little and a long one makes few requests.

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

  // The next bytes: at least `least`, fewer only near the end of the source; none at the end. Valid until the next
  //                 call.
  // Precondition: least <= kFirstPieceBytes.
  [[nodiscard]] std::span<const std::uint8_t> next(std::size_t least = 1);
  // Consumes `count` bytes. Precondition: next() returned at least as many.
  void take(std::size_t count) noexcept;

  // Offset in the source of the next byte.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return piece_.capacity(); }

 private:
  const ByteSource& source_;
  std::uint64_t position_;
  std::vector<std::uint8_t> piece_;
  std::size_t begin_ = 0, end_ = 0;  // of the unread bytes in piece_
};

}  // namespace unstarve
