#pragma once
// Shared by the JPEG and the PNG encoder: the check of an image's size, its rows, and output without exceptions,
// because C code calls it. Threads: pure functions.

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/error.h"
#include "unstarve/core/image.h"

namespace unstarve {

// Throws Error(kArgument) if the image is empty or a side is above kMaxSide. `format` is for the message.
inline void check_encodable(Size size, const std::string& format) {
  if (size.width > 0 && size.height > 0 && size.width <= kMaxSide && size.height <= kMaxSide) return;
  throw Error(ErrorKind::kArgument, "encode " + format + ": image of " + std::to_string(size.width) + " x " +
                                        std::to_string(size.height) + "; expected 1 to " + std::to_string(kMaxSide) +
                                        " per side");
}

// One row as interleaved RGB: the row itself if the view is interleaved; otherwise a copy in `scratch`, which has
// 3 * width bytes.
[[nodiscard]] inline const std::uint8_t* interleaved_row(const PixelView& pixels, int y,
                                                         std::uint8_t* scratch) noexcept {
  if (pixels.interleaved()) return pixels.data + y * pixels.row_stride;
  for (int x = 0; x < pixels.width; ++x) {
    for (int c = 0; c < kChannels; ++c) scratch[x * kChannels + c] = pixels.at(x, y, c);
  }
  return scratch;
}

// False if out of memory.
[[nodiscard]] inline bool append(std::vector<std::uint8_t>& bytes, const std::uint8_t* data,
                                 std::size_t count) noexcept {
  try {
    bytes.insert(bytes.end(), data, data + count);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace unstarve
