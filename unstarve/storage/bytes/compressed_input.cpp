#include "unstarve/storage/bytes/compressed_input.h"

#include <algorithm>

namespace unstarve {

std::span<const std::uint8_t> CompressedInput::next(std::size_t least) {
  const std::span<const std::uint8_t> mapped = source_.mapped();
  if (!mapped.empty()) return mapped.subspan(position_);
  const std::uint64_t next = position_ + (end_ - begin_);  // the first byte that is not in piece_
  if (end_ - begin_ < least && next < source_.size()) {
    std::copy(piece_.begin() + static_cast<std::ptrdiff_t>(begin_), piece_.begin() + static_cast<std::ptrdiff_t>(end_),
              piece_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (piece_.size() < kLargestPieceBytes) piece_.resize(piece_.empty() ? kFirstPieceBytes : piece_.size() * 2);
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece_.size() - end_, source_.size() - next));
    source_.read(next, std::span(piece_).subspan(end_, count));
    end_ += count;
  }
  return std::span<const std::uint8_t>(piece_).subspan(begin_, end_ - begin_);
}

void CompressedInput::take(std::size_t count) noexcept {
  position_ += count;
  if (source_.mapped().empty()) begin_ += count;
}

}  // namespace unstarve
