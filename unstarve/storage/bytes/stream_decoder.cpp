#include "unstarve/storage/bytes/stream_decoder.h"

#include <algorithm>

#include "unstarve/storage/bytes/inflater.h"
#include "unstarve/storage/bytes/zstd_decoder.h"

namespace unstarve {
namespace {

constexpr std::size_t kSkipBytes = std::size_t{64} << 10;

}  // namespace

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

std::size_t StreamDecoder::read(std::uint64_t offset, std::span<std::uint8_t> out) {
  if (out_ < offset) waste_.resize(kSkipBytes);
  while (out_ < offset && !ended_) {
    produce(std::span(waste_).first(static_cast<std::size_t>(std::min<std::uint64_t>(offset - out_, waste_.size()))));
  }
  return out_ < offset ? 0 : produce(out);
}

std::unique_ptr<StreamDecoder> make_stream_decoder(const ByteSource& source, Compression compression) {
  if (compression == Compression::kZstd) return std::make_unique<ZstdDecoder>(source);
  return std::make_unique<Inflater>(source, compression);
}

std::unique_ptr<StreamDecoder> make_stream_decoder(const ByteSource& source, Compression compression,
                                                   const SeekPoint& point) {
  if (compression == Compression::kZstd) return std::make_unique<ZstdDecoder>(source, point);
  return std::make_unique<Inflater>(source, compression, point);
}

}  // namespace unstarve
