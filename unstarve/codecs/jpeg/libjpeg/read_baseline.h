#pragma once
// From libjpeg's header structs to BaselineImage: whether our own decoder supports a file, and the facts it needs.
//
// Threads: pure functions. Precondition of both: jpeg_read_header() has succeeded.

#include <cstdint>
#include <span>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"

struct jpeg_decompress_struct;

namespace unstarve {

[[nodiscard]] JpegKind jpeg_kind(const jpeg_decompress_struct& cinfo);

// Fills `image` and returns true if the file is baseline (layout/baseline_image.h) and defines the tables that it uses.
// `bytes` is the file; cinfo's source is positioned after the scan header.
[[nodiscard]] bool read_baseline(const jpeg_decompress_struct& cinfo, std::span<const std::uint8_t> bytes,
                                 BaselineImage& image);

}  // namespace unstarve
