#pragma once
// Arbitrary bytes as an image file: a crop selected by the last bytes must equal that part of the whole image.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"

namespace unstarve::fuzz {

inline void check_crops(const std::uint8_t* data, std::size_t size) {
  static Decoder decoder;
  static Image whole, part;
  const std::span<const std::uint8_t> bytes(data, size);
  try {
    const ImageHeader header = decoder.open(bytes);
    if (std::int64_t{header.size.width} * header.size.height > 256 * 256) return;
    const auto choose = [data, size](std::size_t index, int limit) { return data[size - 1 - index % size] % limit; };
    Rect rect;
    rect.x = choose(0, header.size.width);
    rect.y = choose(1, header.size.height);
    rect.width = 1 + choose(2, header.size.width - rect.x);
    rect.height = 1 + choose(3, header.size.height - rect.y);
    decoder.decode({}, whole);
    decoder.open(bytes);
    decoder.decode({rect, 1}, part);
    for (int y = 0; y < rect.height; ++y) {
      const std::uint8_t* row = whole.row(rect.y + y) + rect.x * kChannels;
      if (std::memcmp(part.row(y), row, part.row_bytes()) != 0) __builtin_trap();
    }
  } catch (const Error&) {
  }
}

}  // namespace unstarve::fuzz
