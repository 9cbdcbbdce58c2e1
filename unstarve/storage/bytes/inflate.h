#pragma once
// Random access into gzip, zlib and Zstandard streams through seek points, which one pass over the stream collects.
//
//   stream    |----------x---------x----------x--------|      gzip, zlib: the start of a deflate block about every MiB
//   point     input and output offset, and the 32 KiB of output before it that later blocks may refer to
//   read(o)   nearest point before o, or the end of an earlier read if that is nearer ── inflate ──▶ o
//
//   stream    |frame 0     |frame 1         |frame 2   |      Zstandard: the starts of frames, at least a MiB apart
//
// Threads:   open_inflated() returns a ByteSource; reads of one Zstandard frame are serialised. ForwardBytes: one
//            thread.
// Failure:   Error(kInput) with file and offset for a damaged or truncated stream, and as zstd_decoder.h; bytes before
//            the damage remain readable.
// Cost:      nearly sequential reads cost their length. Others, in addition: gzip, zlib: on average half a MiB
//            of inflating (1 to 2 ms). Zstandard: on average half a frame, 15 ms for 64 MiB of photographs; a full
//            shuffle of large shards needs many frames (pzstd).
//            Memory: the points in the index (3 % of the data, mapped; Zstandard: 40 bytes each), cached decoders
//            (decoder_cache.h), and one decoder per reading thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/bytes/stream_decoder.h"

namespace unstarve {

// From the first bytes. kZlib is only a guess from two bytes: inflate_head() confirms it.
[[nodiscard]] Compression detect_compression(std::span<const std::uint8_t> head) noexcept;

// Up to `limit` bytes of the output of `source`, which begins with `head`; nothing if it is not compressed. Throws
// Error(kInput) for a Zstandard stream whose first block cannot be decoded.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> inflate_head(const ByteSource& source,
                                                                    std::span<const std::uint8_t> head,
                                                                    std::size_t limit);

inline constexpr std::uint64_t kSeekPointSpacing = std::uint64_t{1} << 20;

// Reads a compressed source forward and collects seek points. `source` must outlive it.
class InflatingForward : public ForwardBytes {
 public:
  // After the scan: the points up to the end or the damage, in the layout drawn in inflate.cpp.
  [[nodiscard]] virtual std::string take_points() = 0;
};
[[nodiscard]] std::unique_ptr<InflatingForward> inflate_forward(const ByteSource& source, Compression compression);

// The output of `source`. Borrows `points`: the index that holds them must outlive the result. Throws Error(kInput) if
// the points are damaged (their windows are checked when they are used).
[[nodiscard]] std::shared_ptr<const ByteSource> open_inflated(std::shared_ptr<const ByteSource> source,
                                                              Compression compression,
                                                              std::span<const std::uint8_t> points);

}  // namespace unstarve
