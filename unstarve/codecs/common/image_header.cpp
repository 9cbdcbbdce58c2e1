#include "unstarve/codecs/common/image_header.h"

#include <algorithm>
#include <array>

namespace unstarve {

const char* to_string(Encoding encoding) noexcept {
  switch (encoding) {
    case Encoding::kUnknown: return "unknown";
    case Encoding::kJpeg: return "jpeg";
    case Encoding::kPng: return "png";
    case Encoding::kWebp: return "webp";
  }
  return "unknown";
}

Encoding detect_encoding(std::span<const std::uint8_t> bytes) noexcept {
  constexpr std::array<std::uint8_t, 3> kJpegStart = {0xFF, 0xD8, 0xFF};
  constexpr std::array<std::uint8_t, 8> kPngStart = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  constexpr std::array<std::uint8_t, 4> kRiffStart = {'R', 'I', 'F', 'F'};
  constexpr std::array<std::uint8_t, 4> kWebp = {'W', 'E', 'B', 'P'};  // after RIFF and a size
  const auto begins_with = [bytes](const auto& magic, std::size_t at = 0) {
    return bytes.size() >= at + magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin() + at);
  };
  if (begins_with(kJpegStart)) return Encoding::kJpeg;
  if (begins_with(kPngStart)) return Encoding::kPng;
  if (begins_with(kRiffStart) && begins_with(kWebp, 8)) return Encoding::kWebp;
  return Encoding::kUnknown;
}

const char* to_string(JpegKind kind) noexcept {
  switch (kind) {
    case JpegKind::kNone: return "not a JPEG file";
    case JpegKind::kBaseline: return "baseline";
    case JpegKind::kProgressive: return "progressive";
    case JpegKind::kArithmetic: return "arithmetic-coded";
    case JpegKind::kScans: return "several scans";
    case JpegKind::kDepth: return "more than 8 bits";
    case JpegKind::kColour: return "neither greyscale nor YCbCr";
    case JpegKind::kSampling: return "chroma sampling other than 4:4:4, 4:2:2, 4:4:0 and 4:2:0";
  }
  return "unknown";
}

}  // namespace unstarve
