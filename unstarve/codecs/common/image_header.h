#pragma once
// The header of an encoded image as plain data, the detection of its format, and the limits on its size.
//
// Threads: plain data and pure functions.

#include <cstdint>
#include <span>

#include "unstarve/core/size.h"

namespace unstarve {

// Limits against decompression bombs. 65,500 is JPEG's own limit (libjpeg's JPEG_MAX_DIMENSION); the pixel limit is
// 2^28 (805 MB of RGB), slightly above the largest photographs in public datasets. A spec's decode.max_pixels lowers
// it.
inline constexpr int kMaxSide = 65'500;
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

enum class Encoding { kUnknown, kJpeg, kPng, kWebp };

[[nodiscard]] const char* to_string(Encoding encoding) noexcept;
// From the first bytes, never from a file name.
[[nodiscard]] Encoding detect_encoding(std::span<const std::uint8_t> bytes) noexcept;
// Whether images of this format can be decoded at a reduced size.
[[nodiscard]] constexpr bool can_reduce(Encoding encoding) noexcept { return encoding == Encoding::kJpeg; }

// Whether our own decoder supports a JPEG file (jpeg/layout/baseline_image.h), or why libjpeg-turbo decodes it.
enum class JpegKind {
  kNone,  // not a JPEG file
  kBaseline,
  kProgressive,
  kArithmetic,  // arithmetic-coded
  kScans,       // several scans, or one scan with only a part of the coefficients
  kDepth,       // more than 8 bits; libjpeg-turbo 2 rejects the header, libjpeg-turbo 3 rejects decoding
  kColour,      // neither greyscale nor YCbCr
  kSampling,    // other than 4:4:4, 4:2:2, 4:4:0 and 4:2:0
};

// For example "progressive", to follow "a JPEG file: ".
[[nodiscard]] const char* to_string(JpegKind kind) noexcept;

struct ImageHeader {
  Encoding encoding = Encoding::kUnknown;
  Size size;            // from Decoder::open() after EXIF orientation; from the decoder of a format as stored
  int orientation = 1;  // EXIF tag 0x0112: 1..8
  int components = 3;   // as stored: 1 grey, 2 with alpha, 3 colour, 4 CMYK or with alpha
  bool lossless = false;
  JpegKind jpeg = JpegKind::kNone;
  // JPEG: pixels per chroma sample in x and y of the stored image (the first component's sampling factors).
  int horizontal = 1;
  int vertical = 1;
};

}  // namespace unstarve
