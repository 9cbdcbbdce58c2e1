#include "unstarve/codecs/png/png_header.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include <png.h>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

// PNG 1.2 (ISO 15948): the signature, then IHDR, always 13 bytes: width, height, depth, colour type, compression,
// filter, interlace.
constexpr std::uint8_t kSignature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr std::size_t kHeaderBytes = 8 + 8 + 13 + 4;

std::uint32_t big_endian_32(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | p[3];
}

int components_of(int colour_type) {
  switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY: return 1;
    case PNG_COLOR_TYPE_GRAY_ALPHA: return 2;
    case PNG_COLOR_TYPE_RGB:
    case PNG_COLOR_TYPE_PALETTE: return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA: return 4;
    default: return 0;
  }
}

}  // namespace

PngHeader read_png_header(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) {
    throw input_error("PNG: truncated: the file has {} bytes; expected at least {} for the header", bytes.size(),
                      kHeaderBytes);
  }
  if (!std::equal(std::begin(kSignature), std::end(kSignature), bytes.begin()) || big_endian_32(&bytes[8]) != 13 ||
      std::memcmp(&bytes[12], "IHDR", 4) != 0) {
    throw input_error("PNG: damaged: the file does not begin with the signature and IHDR");
  }
  const std::uint32_t width = big_endian_32(&bytes[16]);
  const std::uint32_t height = big_endian_32(&bytes[20]);
  const int components = components_of(bytes[25]);
  const auto found = [=] { return fmt::format("{} x {} pixels", width, height); };
  if (width == 0 || height == 0) throw input_error("PNG: empty: {}", found());
  if (width > kMaxSide || height > kMaxSide) {
    throw input_error("PNG: too large: {}; expected at most {} per side", found(), kMaxSide);
  }
  if (components == 0) {
    throw input_error("PNG: colour type {}; expected 0, 2, 3, 4 or 6", bytes[25]);
  }
  const int depth = bytes[24];
  if (depth != 1 && depth != 2 && depth != 4 && depth != 8 && depth != 16) {
    throw input_error("PNG: bit depth {}; expected 1, 2, 4, 8 or 16", depth);
  }
  const auto samples = static_cast<std::uint64_t>(bytes[25] == PNG_COLOR_TYPE_PALETTE ? 1 : components);
  return {{static_cast<int>(width), static_cast<int>(height)},
          components,
          bytes[28] != 0,
          1 + (width * samples * static_cast<std::uint64_t>(depth) + 7) / 8};
}

void check_png_length(const PngHeader& header, std::size_t file_bytes, const Rect& rect) {
  // Two bits of deflate (RFC 1951) represent at most 258 bytes.
  constexpr std::uint64_t kMostCompressed = 258 * 8 / 2;
  const auto rows = static_cast<std::uint64_t>(header.interlaced ? header.size.height : rect.y + rect.height);
  const std::uint64_t least = rows * header.row_bytes / kMostCompressed;
  const std::size_t available = file_bytes - kHeaderBytes;
  if (available >= least) return;
  throw input_error(
      "PNG: truncated: {} rows of {} x {} pixels require at least {} bytes, the file has {} after its header", rows,
      header.size.width, header.size.height, least, available);
}

}  // namespace unstarve
