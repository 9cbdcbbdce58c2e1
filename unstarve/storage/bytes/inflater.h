#pragma once
// One decoder at one place of a gzip or zlib stream: the part that inflate.cpp's forward reader and cursors share.
//
// Ownership: borrows the source; owns zlib's state and, where the source is not mapped, a piece of input.
// Threads:   one at a time. Failure: Error(kInput) with file and offset for damage, Error(kIo) of the source.
// Cost:      zlib's state is 40 KiB, the piece of input 64 KiB.

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/inflate.h"

namespace unstarve {

// A place where decoding can begin: the start of a deflate block.
struct InflatePlace {
  std::uint64_t out = 0;             // bytes of output before it
  std::uint64_t in = 0;              // first byte of input that is not used up
  std::uint32_t bits = 0;            // so many high bits of the byte before it belong to the block
  std::vector<std::uint8_t> window;  // up to kInflateWindow bytes of output before it
};

class Inflater {
 public:
  // At the start of the stream.
  Inflater(const ByteSource& source, Compression compression);
  // At `place`. Precondition: bits < 8, and in > 0 if bits > 0.
  Inflater(const ByteSource& source, Compression compression, const InflatePlace& place);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Bytes of output so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return out_; }
  // The next bytes of output to the front of `out`; how many: fewer than asked only at the end of the stream, or, with
  // `stop_at_blocks`, where a block begins. What was produced before damage is given before the damage is thrown.
  std::size_t produce(std::span<std::uint8_t> out, bool stop_at_blocks = false);
  // Throws `count` bytes of output away, fewer at the end.
  void skip(std::uint64_t count);
  [[nodiscard]] bool at_end() const noexcept { return ended_; }
  // Whether the last produce() ended where a block begins; then place() tells where.
  [[nodiscard]] bool at_block() const noexcept;
  [[nodiscard]] InflatePlace place();

 private:
  void begin(int window_bits);
  bool refill();
  void next_member();
  void skip_trailer();
  [[noreturn]] void damaged(const std::string& what) const;

  const ByteSource& source_;
  Compression compression_;
  z_stream stream_{};
  std::vector<std::uint8_t> piece_;  // of input, of sources that are not mapped
  std::vector<std::uint8_t> waste_;  // where skipped output goes
  std::uint64_t in_ = 0;             // input handed to zlib so far
  std::uint64_t out_ = 0;
  bool raw_ = false;  // begun within a member: zlib sees no trailer
  bool ended_ = false;
};

}  // namespace unstarve
