#include "unstarve/storage/bytes/stream_decoder.h"

#include <algorithm>

#include "unstarve/storage/bytes/inflater.h"
#include "unstarve/storage/bytes/zstd_decoder.h"

namespace unstarve {
namespace {

constexpr std::size_t kSkipBytes = std::size_t{64} << 10;

}  // namespace

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
