#pragma once
// One decoder at one place of a Zstandard stream (RFC 8878): frames, one after the other, skippable ones among them.
//
// A frame can only be decoded from its start, so a decoder remembers the last kZstdHistory bytes that it read: threads
// that read neighbouring records in nearly the order of the file need not begin again because another came first.
//
// Ownership: borrows the source; owns libzstd's state.
// Threads:   one at a time.
// Failure:   Error(kInput) with file and offset: damage; a stream that ends within a frame; bytes behind the last frame
//            that begin none; a frame that needs a dictionary, or a window of more than kMaxZstdWindowLog. A frame
//            without a checksum (libraries write none unless told to) may hide a changed byte.
// Cost:      memory is the frame's window (2 MiB at level 3, 8 MiB at 19), the history once read() is used, and a piece
//            of input where the source is not mapped.

#include <memory>

#include "unstarve/storage/bytes/compressed_input.h"
#include "unstarve/storage/bytes/stream_decoder.h"

struct ZSTD_DCtx_s;

namespace unstarve {

// 128 MiB, what RFC 8878 (3.1.1.1.2) lets decoders refuse to exceed and the zstd program refuses unless told --long=N.
inline constexpr int kMaxZstdWindowLog = 27;
inline constexpr std::size_t kZstdHistory = std::size_t{4} << 20;

// Whether `head` begins a frame, or skippable frames (as pzstd writes them) that end within it and then a frame.
[[nodiscard]] bool begins_as_zstd(std::span<const std::uint8_t> head) noexcept;

class ZstdDecoder final : public StreamDecoder {
 public:
  explicit ZstdDecoder(const ByteSource& source) : ZstdDecoder(source, StreamPlace{}) {}
  // At the start of a frame.
  ZstdDecoder(const ByteSource& source, const StreamPlace& place);
  ~ZstdDecoder() override;

  std::size_t produce(std::span<std::uint8_t> out, bool stop_at_places = false) override;
  [[nodiscard]] bool at_place() const noexcept override { return !in_frame_ && !ended_; }
  [[nodiscard]] StreamPlace place() override { return {out_, input_.position(), 0, {}}; }
  std::size_t read(std::uint64_t offset, std::span<std::uint8_t> out) override;
  [[nodiscard]] std::uint64_t oldest() const noexcept override { return out_ - remembered_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept override;

 private:
  void begin_frame();
  bool remember(std::uint64_t end);
  [[noreturn]] void damaged(const std::string& what) const;
  [[noreturn]] void refused(std::size_t result) const;

  const ByteSource& source_;
  ZSTD_DCtx_s* state_;
  CompressedInput input_;
  bool in_frame_ = false;
  std::uint64_t frame_ = 0;                  // where the frame begins, in the source
  std::size_t wanted_ = 0;                   // input that finishes the block
  std::unique_ptr<std::uint8_t[]> history_;  // a ring: output byte n lies at n % kZstdHistory
  std::size_t remembered_ = 0;               // bytes before position() that are in it
};

}  // namespace unstarve
