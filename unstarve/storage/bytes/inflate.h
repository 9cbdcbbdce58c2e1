#pragma once
// Random access into gzip and zlib streams, through seek points that one pass over the stream makes.
//
//   stream    |----------x---------x----------x--------|      deflate blocks; a point at a block's start every MiB or so
//   point     where in, where out, and the 32 KiB of output before it that later blocks may refer to
//   read(o)   nearest point before o ── inflate ──▶ o       or goes on where an earlier read ended, if that is nearer
//
// Several gzip members in one file follow each other, as gzip and bgzip write them.
//
// Threads:   InflatedBytes is a ByteSource: const, any number of threads. ForwardBytes one at a time.
// Failure:   Error(kInput) with file and offset for a damaged or truncated stream; what lies before the damage reads on.
// Cost:      a read costs on average half a MiB of inflating (1 to 2 ms) plus its length, sequential ones only their length.
//            Memory: the points in the index (3 % of the data, mapped) and kInflateCursors decoders of 110 KiB.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/forward_bytes.h"

namespace unstarve {

enum class Compression : std::uint8_t { kNone, kGzip, kZlib };

// From the first bytes. kZlib is told by two bytes and a part of a third only: inflate_head() tells whether it is so.
[[nodiscard]] Compression detect_compression(std::span<const std::uint8_t> head) noexcept;

// The first up to `limit` bytes of the output of a stream that begins with `head`; nothing when it is no such stream.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> inflate_head(std::span<const std::uint8_t> head,
                                                                    std::size_t limit);

inline constexpr std::uint64_t kSeekPointSpacing = std::uint64_t{1} << 20;
inline constexpr std::size_t kInflateWindow = std::size_t{32} << 10;
inline constexpr std::size_t kInflateCursors = 8;

// Reads a compressed source forward and collects the seek points on the way. `source` must outlive it.
class InflatingForward : public ForwardBytes {
 public:
  // After the scan: the points up to the end or the damage, in the form that InflatedBytes takes (drawn in inflate.cpp).
  [[nodiscard]] virtual std::string take_points() = 0;
};
[[nodiscard]] std::unique_ptr<InflatingForward> inflate_forward(const ByteSource& source, Compression compression);

// The output of `source`. `points` is borrowed: the index that holds it must stay. Throws Error(kInput) when the points
// are damaged (their windows are checked when they are used).
[[nodiscard]] std::shared_ptr<const ByteSource> open_inflated(std::shared_ptr<const ByteSource> source,
                                                              Compression compression,
                                                              std::span<const std::uint8_t> points);

}  // namespace unstarve
