#pragma once
// Writes the headers of a baseline file: JFIF marker, tables, frame and scan header (T.81, annex B; JFIF 1.02), with
// the same order and contents as libjpeg.
//
// Threads: a pure function.

#include <cstdint>
#include <vector>

#include "unstarve/codecs/jpeg/encode/standard_tables.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct JpegFrame {
  Size size;
  int horizontal = 1;  // sampling factors of luma; chroma has 1 x 1
  int vertical = 1;
  QuantisationTable luminance{};
  QuantisationTable chrominance{};
};

// Appends everything from SOI to the scan header.
void append_jpeg_header(const JpegFrame& frame, std::vector<std::uint8_t>& out);

}  // namespace unstarve
