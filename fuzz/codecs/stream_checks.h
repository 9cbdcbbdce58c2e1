#pragma once
// Shared by the fuzz targets of compressed streams: the layout of an input, and reads at several offsets of the output.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/testing/compressed_text.h"

namespace unstarve::fuzz {

using namespace unstarve::testing;

// The first byte contains flags. Bit 0: mapped, or read by range requests. Bit 1 clear: the rest is the stream. Bit 1
// set: a length (two bytes), the points (`length` bytes), then the stream.
struct StreamCase {
  Access access;
  bool with_points;
  std::string points;
  std::string stream;
};

// Precondition: size >= 3.
inline StreamCase stream_case(const std::uint8_t* data, std::size_t size) {
  StreamCase parts{(data[0] & 1) != 0 ? Access::kMapped : Access::kRanges, (data[0] & 2) != 0, {}, {}};
  parts.stream.assign(reinterpret_cast<const char*>(data + 1), size - 1);
  if (parts.with_points) {
    parts.points = parts.stream.substr(2, load_little<std::uint16_t>(data + 1));
    parts.stream.erase(0, 2 + parts.points.size());
  }
  return parts;
}

// Appends the output to `whole`; returns true at its end, false for damage or more than `max_bytes`.
inline bool drain(InflatingForward& forward, std::size_t max_bytes, std::string& whole) {
  try {
    while (whole.size() < max_bytes) {
      const auto piece = forward.at(whole.size(), 50'000);
      if (piece.empty()) return true;
      whole.append(piece.begin(), piece.end());
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  return false;
}

// Checks that random reads equal the sequential output.
inline void check_reads(const ByteSource& output, const std::string& whole) {
  for (const std::size_t part : {3u, 1u, 2u, 0u}) {
    const std::size_t offset = whole.size() / 4 * part;
    const std::size_t length = std::min<std::size_t>(whole.size() - offset, 1000);
    if (read_text(output, offset, length) != whole.substr(offset, length)) std::abort();
  }
}

// Reads at several offsets of at most `max_offset`, without checking the bytes.
inline void read_unchecked(const ByteSource& output, std::size_t max_offset) {
  for (const std::uint64_t part : {0u, 3u, 1u, 2u}) {
    const std::uint64_t offset = std::min<std::uint64_t>(output.size() / 4 * part, max_offset);
    (void)read_text(output, offset, static_cast<std::size_t>(std::min<std::uint64_t>(output.size() - offset, 1000)));
  }
}

// The number of complete entries in `points`, at most the number that its header declares.
inline std::uint64_t points_in(const std::string& points, std::size_t header_bytes, std::size_t entry_bytes) {
  if (points.size() < header_bytes) return 0;
  return std::min<std::uint64_t>(load_little<std::uint64_t>(bytes_of(points).data() + 8),
                                 (points.size() - header_bytes) / entry_bytes);
}

}  // namespace unstarve::fuzz
