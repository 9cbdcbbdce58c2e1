#pragma once
// A decoder at a position of a compressed stream: the interface of inflate.cpp to gzip and zlib (inflater.h) and to
// Zstandard (zstd_decoder.h).
//
// Ownership: borrows the source.
// Threads:   one at a time.
// Failure:   Error(kInput) with file and offset for damage, Error(kIo) of the source; unusable afterwards.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

enum class Compression : std::uint8_t { kNone, kGzip, kZlib, kZstd };

// The output that a deflate block may refer to.
inline constexpr std::size_t kInflateWindow = std::size_t{32} << 10;

// A position where decoding can start: a deflate block or a Zstandard frame.
struct SeekPoint {
  std::uint64_t out = 0;             // bytes of output before it
  std::uint64_t in = 0;              // first byte of input that is not consumed
  std::uint32_t bits = 0;            // deflate: number of high bits of the previous byte that belong to the block
  std::vector<std::uint8_t> window;  // deflate: the output before it, up to kInflateWindow
};

inline constexpr std::size_t kFirstPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kLargestPieceBytes = std::size_t{2} << 20;

// The stored bytes of a compressed stream, from an offset to the end, in the pieces that its decoder consumes. Nothing
// is copied if the source is mapped; otherwise pieces start at kFirstPieceBytes and double up to kLargestPieceBytes, so
// that a short read fetches little and a long one makes few requests.
class CompressedInput {
 public:
  // Precondition: offset <= source.size(). Borrows `source`.
  CompressedInput(const ByteSource& source, std::uint64_t offset) : source_(source), position_(offset) {}

  // The next bytes: at least `least`, fewer only near the end of the source; none at the end. Valid until the next
  // call.
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

class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  StreamDecoder(const StreamDecoder&) = delete;
  StreamDecoder& operator=(const StreamDecoder&) = delete;

  // Bytes of output so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return out_; }
  [[nodiscard]] bool at_end() const noexcept { return ended_; }

  // Writes the next bytes of output to `out` and returns their number: less than out.size() only at the end of the
  // stream, or at a seek point with `stop_at_points`. If produce() throws for damage, the output before the damage was
  // written (see position()).
  virtual std::size_t produce(std::span<std::uint8_t> out, bool stop_at_points = false) = 0;
  // Whether the last produce() ended at a seek point; seek_point() returns it.
  [[nodiscard]] virtual bool at_seek_point() const noexcept = 0;
  [[nodiscard]] virtual SeekPoint seek_point() = 0;

  // Writes the output at `offset` to `out`; fewer bytes only at the end of the stream. Afterwards position() is at
  // least the end of the range. Precondition: oldest() <= offset.
  virtual std::size_t read(std::uint64_t offset, std::span<std::uint8_t> out);
  // The lowest offset that read() accepts: position(), or less if the decoder has a history of its output.
  [[nodiscard]] virtual std::uint64_t oldest() const noexcept { return out_; }
  [[nodiscard]] virtual std::size_t memory_bytes() const noexcept = 0;

 protected:
  explicit StreamDecoder(std::uint64_t position) : out_(position) {}

  std::uint64_t out_;
  bool ended_ = false;

 private:
  std::vector<std::uint8_t> waste_;  // receives skipped output
};

// At the start of the stream, or at a seek point. Precondition: compression is not kNone; point.bits < 8, and
// point.in > 0 if point.bits > 0; point.in <= source.size().
[[nodiscard]] std::unique_ptr<StreamDecoder> make_stream_decoder(const ByteSource& source, Compression compression);
[[nodiscard]] std::unique_ptr<StreamDecoder> make_stream_decoder(const ByteSource& source, Compression compression,
                                                                 const SeekPoint& point);

}  // namespace unstarve
