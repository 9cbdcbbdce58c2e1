#pragma once
// One decoder at one place of a compressed stream: what inflate.cpp needs of gzip and zlib (inflater.h) and of
// Zstandard (zstd_decoder.h) alike.
//
// Ownership: borrows the source.
// Threads:   one at a time.
// Failure:   Error(kInput) with file and offset for damage, Error(kIo) of the source; it is of no use afterwards.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

enum class Compression : std::uint8_t { kNone, kGzip, kZlib, kZstd };

// The output that a deflate block may refer to.
inline constexpr std::size_t kInflateWindow = std::size_t{32} << 10;

// A place where decoding can begin: the start of a deflate block or of a Zstandard frame.
struct StreamPlace {
  std::uint64_t out = 0;             // bytes of output before it
  std::uint64_t in = 0;              // first byte of input that is not used up
  std::uint32_t bits = 0;            // deflate: so many high bits of the byte before it belong to the block
  std::vector<std::uint8_t> window;  // deflate: the output before it, up to kInflateWindow
};

class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  StreamDecoder(const StreamDecoder&) = delete;
  StreamDecoder& operator=(const StreamDecoder&) = delete;

  // Bytes of output so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return out_; }
  [[nodiscard]] bool at_end() const noexcept { return ended_; }

  // The next bytes of output to the front of `out`; how many: fewer than asked only at the end of the stream, or, with
  // `stop_at_places`, where decoding can begin. What was produced before damage is given (position() tells how much)
  // before the damage is thrown.
  virtual std::size_t produce(std::span<std::uint8_t> out, bool stop_at_places = false) = 0;
  // Whether the last produce() ended where decoding can begin; then place() tells where.
  [[nodiscard]] virtual bool at_place() const noexcept = 0;
  [[nodiscard]] virtual StreamPlace place() = 0;

  // Fills `out` with the output at `offset`; fewer bytes only at the end of the stream. Precondition:
  // oldest() <= offset. position() is then not less than the end of what was read.
  virtual std::size_t read(std::uint64_t offset, std::span<std::uint8_t> out);
  // The first offset that read() can give: position(), or less where output is remembered.
  [[nodiscard]] virtual std::uint64_t oldest() const noexcept { return out_; }
  [[nodiscard]] virtual std::size_t memory_bytes() const noexcept = 0;

 protected:
  explicit StreamDecoder(std::uint64_t position) : out_(position) {}

  std::uint64_t out_;
  bool ended_ = false;

 private:
  std::vector<std::uint8_t> waste_;  // where skipped output goes
};

// At the start of the stream, or at a place of it. Precondition: compression is not kNone; place.bits < 8, and
// place.in > 0 if place.bits > 0; place.in <= source.size().
[[nodiscard]] std::unique_ptr<StreamDecoder> make_stream_decoder(const ByteSource& source, Compression compression);
[[nodiscard]] std::unique_ptr<StreamDecoder> make_stream_decoder(const ByteSource& source, Compression compression,
                                                                 const StreamPlace& place);

}  // namespace unstarve
