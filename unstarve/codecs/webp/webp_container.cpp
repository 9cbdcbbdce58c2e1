#include "unstarve/codecs/webp/webp_container.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include <webp/decode.h>

#include "unstarve/codecs/common/exif.h"
#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kFileHeader = 12;  // "RIFF", size, "WEBP"
constexpr std::size_t kChunkHeader = 8;
constexpr std::size_t kCanvasBytes = 10;  // VP8X: flags (1), reserved (3), width - 1 (3), height - 1 (3)
constexpr std::size_t kFrameBytes = 16;   // ANMF: x / 2, y / 2, width - 1, height - 1, duration (3 each), flags (1)
constexpr std::uint8_t kAnimationFlag = 0x02;
constexpr std::uint8_t kExifFlag = 0x08;

[[noreturn]] void reject(const std::string& reason) { throw input_error("WebP: {}", reason); }

std::uint32_t little_24(const std::uint8_t* p) {
  return p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16;
}
std::uint32_t little_32(const std::uint8_t* p) { return little_24(p) | static_cast<std::uint32_t>(p[3]) << 24; }

bool is_named(Bytes bytes, const char* name) { return std::memcmp(bytes.data(), name, 4) == 0; }

// The payload of the first chunk of that name, or nothing if `chunks` does not contain it completely.
std::optional<Bytes> find_chunk(Bytes chunks, const char* name) {
  while (chunks.size() >= kChunkHeader) {
    const std::size_t size = little_32(&chunks[4]);
    if (size > chunks.size() - kChunkHeader) return {};
    if (is_named(chunks, name)) return chunks.subspan(kChunkHeader, size);
    chunks = chunks.subspan(std::min(chunks.size(), kChunkHeader + size + size % 2));
  }
  return {};
}

int orientation_of(Bytes chunks) {
  // The name of JPEG's segment, which some programs write here too.
  constexpr std::array<std::uint8_t, 6> kName = {'E', 'x', 'i', 'f', 0, 0};
  Bytes exif = find_chunk(chunks, "EXIF").value_or(Bytes{});
  if (exif.size() >= kName.size() && std::equal(kName.begin(), kName.end(), exif.begin())) {
    exif = exif.subspan(kName.size());
  }
  return tiff_orientation(exif);
}

void check_size(Size size) {
  if (size.width > kMaxSide || size.height > kMaxSide) {
    reject(fmt::format("too large: {} x {} pixels; expected at most {} per side", size.width, size.height, kMaxSide));
  }
}

WebPBitstreamFeatures features_of(Bytes image) {
  WebPBitstreamFeatures features;
  switch (WebPGetFeatures(image.data(), image.size(), &features)) {
    case VP8_STATUS_OK: break;
    case VP8_STATUS_NOT_ENOUGH_DATA: reject("truncated: incomplete image header");
    default: reject("damaged: invalid image header");
  }
  return features;
}

// The first frame of an animation; `chunks` are those after VP8X.
void read_first_frame(Bytes chunks, WebpFile& file) {
  const auto frame = find_chunk(chunks, "ANMF");
  if (!frame || frame->size() < kFrameBytes) reject("damaged: an animation without a frame");
  const auto number = [&](std::size_t at) { return static_cast<int>(little_24(&(*frame)[at])); };
  file.frame = {2 * number(0), 2 * number(3), number(6) + 1, number(9) + 1};
  file.image = frame->subspan(kFrameBytes);
  if (file.frame.x > file.canvas.width - file.frame.width || file.frame.y > file.canvas.height - file.frame.height) {
    reject("damaged: the first frame extends beyond the canvas");
  }
}

}  // namespace

WebpFile read_webp(Bytes bytes) {
  const auto truncated = [&](std::uint64_t expected) {
    reject(fmt::format("truncated: the file has {} bytes of {}", bytes.size(), expected));
  };
  if (bytes.size() < kFileHeader + kChunkHeader) truncated(kFileHeader + kChunkHeader);
  const std::uint64_t size = std::uint64_t{little_32(&bytes[4])} + kChunkHeader;
  if (!is_named(bytes, "RIFF") || !is_named(bytes.subspan(8), "WEBP") || size < kFileHeader + kChunkHeader) {
    reject("damaged: the file does not begin with RIFF, a size and WEBP");
  }
  if (size > bytes.size()) truncated(size);
  bytes = bytes.first(static_cast<std::size_t>(size));  // ignores bytes after the file's declared end

  WebpFile file;
  file.image = bytes;
  const Bytes chunks = bytes.subspan(kFileHeader);
  const bool extended = is_named(chunks, "VP8X");
  const auto header = extended ? find_chunk(chunks, "VP8X") : std::nullopt;
  if (extended && (!header || header->size() < kCanvasBytes)) reject("damaged: incomplete VP8X chunk");
  const std::uint8_t flags = extended ? header->front() : 0;
  const bool animated = (flags & kAnimationFlag) != 0;
  if (animated) {
    file.canvas = {static_cast<int>(little_24(&(*header)[4])) + 1, static_cast<int>(little_24(&(*header)[7])) + 1};
    check_size(file.canvas);
    read_first_frame(chunks, file);
  }
  if ((flags & kExifFlag) != 0) file.orientation = orientation_of(chunks);

  const WebPBitstreamFeatures features = features_of(file.image);
  const Size found{features.width, features.height};
  if (found.width <= 0 || found.height <= 0) reject("empty: no pixels");
  check_size(found);
  if (file.canvas == Size{}) {
    file.canvas = found;
    file.frame = {0, 0, found.width, found.height};
  } else if (file.frame.size() != found) {
    reject("damaged: the size of the first frame differs from its header");
  }
  file.alpha = features.has_alpha != 0;
  file.lossless = features.format == 2;
  if (!file.lossless) file.lossy_bytes = find_chunk(animated ? file.image : chunks, "VP8 ").value_or(file.image).size();
  return file;
}

}  // namespace unstarve
