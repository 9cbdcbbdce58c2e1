#pragma once
// Reads the orientation from a JPEG file's EXIF segment.
//
//   JPEG   FF D8, then segments: FF marker, length (2 bytes, big endian, counts itself), payload
//   APP1   marker E1, payload "Exif" 0 0, then a TIFF file:
//   TIFF   "II" (little endian) or "MM" (big), 42 (2 bytes), offset of the first directory (4)
//   IFD    number of entries (2), each 12 bytes: tag (2), type (2), count (4), value or its offset (4)
//
// All lengths and offsets come from the file and are checked against the rest of the segment.
// Threads: pure functions. Failure: none; the result is 1 ("as stored") if the segment is missing or damaged, or its
// value is outside 1..8.

#include <cstdint>
#include <span>

namespace unstarve {

// Searches the segments before the first scan; `jpeg` is the whole file.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> jpeg) noexcept;

// From the TIFF part alone, as other formats store it.
[[nodiscard]] int tiff_orientation(std::span<const std::uint8_t> tiff) noexcept;

}  // namespace unstarve
