#pragma once
// Random access into gzip, zlib and Zstandard streams, through seek points that one pass over the stream makes.
//
//   stream    |----------x---------x----------x--------|      gzip, zlib: a deflate block's start every MiB or so
//   point     where in, where out, and the 32 KiB of output before it that later blocks may refer to
//   read(o)   nearest point before o ── inflate ──▶ o       or goes on where an earlier read ended, if that is nearer
//
//   stream    |frame 0     |frame 1         |frame 2   |      Zstandard: the starts of frames, a MiB apart or more
//
// Several gzip members, and several frames, follow each other in one file, as gzip, bgzip, zstd and pzstd write them.
//
// Threads:   what open_inflated() gives is a ByteSource: const, any number of threads; those that read one Zstandard
//            frame take turns. ForwardBytes one at a time.
// Failure:   Error(kInput) with file and offset for a damaged or truncated stream, and what zstd_decoder.h tells; what
//            lies before the damage reads on.
// Cost:      sequential reads cost their length only, by one thread or by several that read nearly in order. Others:
//            gzip, zlib: on average half a MiB of inflating (1 to 2 ms) plus their length.
//            Zstandard:  there is no way into a frame but from its start or where an earlier read stopped: at worst
//            half a frame of decoding on average, plus their length: 15 ms for 64 MiB of photographs in one frame, as
//            MDS and the zstd program write shards (2.2 GB/s measured), 16 times that for 1 GiB. Full shuffle of large
//            shards wants many frames (pzstd), or small shards.
//            Memory: the points in the index (3 % of the data, mapped; Zstandard: 40 bytes each); decoders that reads
//            left behind, kKeptDecoderBytes for the process (decoder_cache.h); and one decoder per reading thread.

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

// From the first bytes. kZlib is told by two bytes and a part of a third only: inflate_head() tells whether it is so.
[[nodiscard]] Compression detect_compression(std::span<const std::uint8_t> head) noexcept;

// The first up to `limit` bytes of the output of `source`, which begins with `head`; nothing when it is no such stream.
// Throws Error(kInput) when it is a Zstandard stream whose first block cannot be decoded.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> inflate_head(const ByteSource& source,
                                                                    std::span<const std::uint8_t> head,
                                                                    std::size_t limit);

inline constexpr std::uint64_t kSeekPointSpacing = std::uint64_t{1} << 20;

// Reads a compressed source forward and collects the seek points on the way. `source` must outlive it.
class InflatingForward : public ForwardBytes {
 public:
  // After the scan: the points up to the end or the damage, in the form that InflatedBytes takes (drawn in
  // inflate.cpp).
  [[nodiscard]] virtual std::string take_points() = 0;
};
[[nodiscard]] std::unique_ptr<InflatingForward> inflate_forward(const ByteSource& source, Compression compression);

// The output of `source`. `points` is borrowed: the index that holds it must stay. Throws Error(kInput) when the points
// are damaged (their windows are checked when they are used).
[[nodiscard]] std::shared_ptr<const ByteSource> open_inflated(std::shared_ptr<const ByteSource> source,
                                                              Compression compression,
                                                              std::span<const std::uint8_t> points);

}  // namespace unstarve
