#pragma once
// The structure of a WebP file: its canvas, its orientation and its (first) image.
//
//   file      "RIFF" size (4 bytes, little endian, of everything after it) "WEBP", then chunks
//   chunk     name (4), size (4), payload, one byte of padding after an odd size
//   still     "VP8 " or "VP8L" alone, or "VP8X" (flags, canvas), then ["ALPH"] "VP8 " | "VP8L", and "EXIF", "XMP ", ...
//   animated  "VP8X", "ANIM", then "ANMF" per frame: its rectangle (16 bytes), then ["ALPH"] "VP8 " | "VP8L"
//
// (RFC 9649.) All sizes come from the file and are checked against the rest of it; libwebp checks the images' headers.
// Threads: a pure function. Failure: Error(kInput): truncated, damaged, empty or too large (kMaxSide).

#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/core/image.h"

namespace unstarve {

struct WebpFile {
  Size canvas;          // as stored, before the orientation
  int orientation = 1;  // from the EXIF chunk if VP8X announces one; 1 if it is missing or damaged
  bool alpha = false;
  bool lossless = false;
  std::size_t lossy_bytes = 0;  // size of the "VP8 " chunk; 0 for lossless images
  // The image or the first frame: its rectangle on the canvas, and its bytes as libwebp decodes them.
  Rect frame;
  std::span<const std::uint8_t> image;
};

[[nodiscard]] WebpFile read_webp(std::span<const std::uint8_t> bytes);

}  // namespace unstarve
