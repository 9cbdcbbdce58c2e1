#pragma once
// The header of a PNG file: what is known before libpng decodes it.
//
// Threads: pure functions. Failure: Error(kInput), whose message begins with "PNG: ".

#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/core/size.h"

namespace unstarve {

struct PngHeader {
  Size size;
  int components = 0;  // 1: grey, 2: grey and alpha, 3: RGB or a palette, 4: RGB and alpha
  bool interlaced = false;
  std::uint64_t row_bytes = 0;  // as filtered, before compression
};

// Rejects files without signature and IHDR, invalid colour types and bit depths, empty images, and sides longer than
// kMaxSide.
[[nodiscard]] PngHeader read_png_header(std::span<const std::uint8_t> bytes);

// Rejects a file that is too short for the rows that decoding `rect` requires, whatever they contain. Called before
// memory is allocated for the declared size; decoding would fail later in any case. `file_bytes`: with the header, at
// least kHeaderBytes.
void check_png_length(const PngHeader& header, std::size_t file_bytes, const Rect& rect);

}  // namespace unstarve
