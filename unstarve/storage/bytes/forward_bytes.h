#pragma once
// Bytes that are looked at once, from front to back: what a format's scan() reads a shard through.
//
// A shard may be mapped, remote (fetched in large pieces, a bounded number of them held) or compressed (inflated on the
// way, its length unknown until the end); a scan does not see the difference.
//
// Threads:   one at a time.
// Failure:   at() throws Error(kIo) when reading fails, Error(kInput) when a compressed stream is damaged there; what
//            lies before the damage can still be asked for until then; Error(kCancelled) by the wish of core/cancel.h.
// Cost:      nothing is copied where the source is mapped; else memory is kForwardPieceBytes or the longest at().

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

inline constexpr std::size_t kForwardPieceBytes = std::size_t{8} << 20;

class ForwardBytes {
 public:
  virtual ~ForwardBytes() = default;

  // Up to `length` bytes at `offset`: fewer only where the end comes first, none at and beyond the end. Valid until the
  // next call. Precondition: offset is not less than that of the call before.
  [[nodiscard]] virtual std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t length) = 0;

  // Path or URL, for messages.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
};

// Reads `source`, which must outlive it.
[[nodiscard]] std::unique_ptr<ForwardBytes> read_forward(const ByteSource& source);

}  // namespace unstarve
