#pragma once
// A decoder at a position of a gzip or zlib stream (RFC 1952, RFC 1950).
//
// Ownership: borrows the source; owns zlib's state.
// Threads:   one at a time. Failure: as StreamDecoder.
// Cost:      zlib's state is 40 KiB, plus a piece of input if the source is not mapped.

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/storage/bytes/stream_decoder.h"

namespace unstarve {

class Inflater final : public StreamDecoder {
 public:
  // At the start of the stream.
  Inflater(const ByteSource& source, Compression compression);
  // At `point`. Precondition: bits < 8, and in > 0 if bits > 0.
  Inflater(const ByteSource& source, Compression compression, const SeekPoint& point);
  ~Inflater() override;

  std::size_t produce(std::span<std::uint8_t> out, bool stop_at_points = false) override;
  [[nodiscard]] bool at_seek_point() const noexcept override;
  [[nodiscard]] SeekPoint seek_point() override;
  [[nodiscard]] std::size_t memory_bytes() const noexcept override;

 private:
  void begin(int window_bits);
  bool refill();
  void next_member();
  void skip_trailer();
  [[noreturn]] void damaged(const std::string& what) const;

  const ByteSource& source_;
  Compression compression_;
  z_stream stream_{};  // its input is input_.next()
  CompressedInput input_;
  bool raw_ = false;  // started within a member: zlib does not see the trailer
};

}  // namespace unstarve
