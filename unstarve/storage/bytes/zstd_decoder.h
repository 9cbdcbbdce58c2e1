#pragma once
// A decoder at a position of a Zstandard stream (RFC 8878): a sequence of frames, including skippable ones.
//
// A frame can be decoded only from its start, so a decoder keeps a history of its last kZstdHistory bytes of output.
// Threads that read neighbouring records nearly in file order then use the history instead of decoding again.
//
// Ownership: borrows the source; owns libzstd's state.
// Threads:   one at a time.
// Failure:   Error(kInput) with file and offset: damage; a stream that ends within a frame; bytes after the last frame
//            that are not a frame; a frame that needs a dictionary, or a window above kMaxZstdWindowLog. A frame
//            without a checksum (libraries write none by default) may hide a changed byte.
// Cost:      memory is the frame's window (2 MiB at level 3, 8 MiB at 19), the history after the first read(), and a
//            piece of input if the source is not mapped.

#include <memory>

#include "unstarve/storage/bytes/stream_decoder.h"

struct ZSTD_DCtx_s;

namespace unstarve {

// 128 MiB: RFC 8878 (3.1.1.1.2) allows decoders to reject larger windows, as the zstd program does without --long=N.
inline constexpr int kMaxZstdWindowLog = 27;
inline constexpr std::size_t kZstdHistory = std::size_t{4} << 20;

// Whether `head` begins with a frame, possibly after skippable frames (as pzstd writes them).
[[nodiscard]] bool begins_as_zstd(std::span<const std::uint8_t> head) noexcept;

class ZstdDecoder final : public StreamDecoder {
 public:
  explicit ZstdDecoder(const ByteSource& source) : ZstdDecoder(source, SeekPoint{}) {}
  // At the start of a frame.
  ZstdDecoder(const ByteSource& source, const SeekPoint& point);
  ~ZstdDecoder() override;

  std::size_t produce(std::span<std::uint8_t> out, bool stop_at_points = false) override;
  [[nodiscard]] bool at_seek_point() const noexcept override { return !in_frame_ && !ended_; }
  [[nodiscard]] SeekPoint seek_point() override { return {out_, input_.position(), 0, {}}; }
  std::size_t read(std::uint64_t offset, std::span<std::uint8_t> out) override;
  [[nodiscard]] std::uint64_t oldest() const noexcept override { return out_ - remembered_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept override;

 private:
  void begin_frame();
  bool remember(std::uint64_t end);
  [[noreturn]] void damaged(const std::string& what) const;
  [[noreturn]] void rejected(std::size_t result) const;

  const ByteSource& source_;
  ZSTD_DCtx_s* state_;
  CompressedInput input_;
  bool in_frame_ = false;
  std::uint64_t frame_ = 0;                  // offset of the frame in the source
  std::size_t needed_ = 0;                   // input that completes the block
  std::unique_ptr<std::uint8_t[]> history_;  // a ring: output byte n is at n % kZstdHistory
  std::size_t remembered_ = 0;               // bytes before position() in the ring
};

}  // namespace unstarve
