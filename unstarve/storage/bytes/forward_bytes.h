#pragma once
// Bytes that are read once, front to back. A format's scan() reads a shard through this interface.
//
// The shard may be mapped, remote (fetched in large pieces, a bounded number of them in memory) or compressed (inflated
// on the fly, with a length unknown until the end); scan() treats all cases alike.
//
// Threads:   one at a time.
// Failure:   at() throws Error(kIo) if reading fails, Error(kInput) where a compressed stream is damaged (bytes before
//            the damage are still available), Error(kCancelled) if core/cancel.h requests it.
// Cost:      nothing is copied if the source is mapped; else memory is kForwardPieceBytes or the longest at().

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

  // Up to `length` bytes at `offset`: fewer only at the end, none beyond the end. Valid until the next call.
  // Precondition: offset is not less than in the previous call.
  [[nodiscard]] virtual std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t length) = 0;

  // Path or URL, for messages.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
};

// `source` must outlive the result.
[[nodiscard]] std::unique_ptr<ForwardBytes> read_forward(const ByteSource& source);

}  // namespace unstarve
