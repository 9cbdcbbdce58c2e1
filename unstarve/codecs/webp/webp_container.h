#pragma once
// What a WebP file holds, before any pixel is decoded: its canvas, its orientation and its (first) image.
//
//   file    "RIFF" size (4 bytes, little endian, of all that follows) "WEBP", then chunks
//   chunk   name (4), size (4), payload, one byte of padding behind an odd size
//   still   "VP8 " or "VP8L" alone, or "VP8X" (flags, canvas), then ["ALPH"] "VP8 " | "VP8L", and "EXIF", "XMP ", ...
//   moving  "VP8X", "ANIM", then "ANMF" per frame: its place on the canvas (16 bytes), then ["ALPH"] "VP8 " | "VP8L"
//
// (RFC 9649.) Every size comes from the file and is checked against what is left of it; the images' own headers are
// looked at by libwebp.
// Threads: a pure function. Failure: Error(kInput): truncated, damaged, empty or too large (kMaxSide).

#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/core/image.h"

namespace unstarve {

struct WebpFile {
  Size canvas;          // as stored, before the orientation
  int orientation = 1;  // of the EXIF chunk where VP8X announces one; 1 where that is missing or damaged
  bool alpha = false;
  bool lossless = false;
  std::size_t lossy_bytes = 0;  // of the "VP8 " chunk; 0 of lossless images
  // The image, or the first frame of several, and where it lies on the canvas. `image` is what libwebp decodes.
  Rect frame;
  std::span<const std::uint8_t> image;
};

[[nodiscard]] WebpFile read_webp(std::span<const std::uint8_t> bytes);

}  // namespace unstarve
