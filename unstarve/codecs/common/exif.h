#pragma once
// The orientation out of a JPEG file's EXIF segment.
//
//   JPEG   FF D8, then segments: FF marker, length (2 bytes, big endian, counts itself), payload
//   APP1   marker E1, payload "Exif" 0 0, then a TIFF file:
//   TIFF   "II" (little endian) or "MM" (big), 42 (2 bytes), offset of the first directory (4)
//   IFD    number of entries (2), each 12 bytes: tag (2), type (2), count (4), value or its offset (4)
//
// Every length and offset comes from the file and is checked against what is left of the segment.
// Threads: a pure function. Failure: none; where the segment is missing, damaged or says something else than 1..8, the
// answer is 1, "as stored": the pixels do not depend on it.

#include <cstdint>
#include <span>

namespace unstarve {

// Looks at the segments before the first scan; `jpeg` is the whole file.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> jpeg) noexcept;

// Of such a TIFF file alone, as other formats hold it.
[[nodiscard]] int tiff_orientation(std::span<const std::uint8_t> tiff) noexcept;

}  // namespace unstarve
