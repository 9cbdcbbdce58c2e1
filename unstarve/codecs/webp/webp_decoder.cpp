#include "unstarve/codecs/webp/webp_decoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <webp/decode.h>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

Rect intersection(Rect a, Rect b) {
  const int left = std::max(a.x, b.x);
  const int top = std::max(a.y, b.y);
  return {left, top, std::min(a.x + a.width, b.x + b.width) - left, std::min(a.y + a.height, b.y + b.height) - top};
}

// Chroma is stored for every second pixel and interpolated between neighbours: one more pixel on each side, two where
// the window must start at an even coordinate.
Rect with_margin(Rect part, Size size) {
  const auto before = [](int begin) { return std::max(begin - 1, 0) & ~1; };
  const int left = before(part.x);
  const int top = before(part.y);
  return {left, top, std::min(part.x + part.width + 1, size.width) - left,
          std::min(part.y + part.height + 1, size.height) - top};
}

void decode_into(std::span<const std::uint8_t> image, Rect window, Size size, std::uint8_t* target,
                 std::size_t stride) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    throw internal_error("WebP: the loaded libwebp is incompatible with the version this was built with");
  }
  config.options.use_cropping = window.size() == size ? 0 : 1;
  config.options.crop_left = window.x;
  config.options.crop_top = window.y;
  config.options.crop_width = window.width;
  config.options.crop_height = window.height;
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = target;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size =
      stride * static_cast<std::size_t>(window.height - 1) + static_cast<std::size_t>(window.width) * kChannels;
  const VP8StatusCode status = WebPDecode(image.data(), image.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status == VP8_STATUS_OK) return;
  const std::string where = fmt::format(" (image data of {} bytes)", image.size());
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: throw memory_error("WebP: out of memory{}", where);
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: throw input_error("WebP: truncated: the data ends too early{}", where);
    default: throw input_error("WebP: damaged: libwebp rejects the data with status {}{}", status, where);
  }
}

// Called before memory is allocated for `rows` of the frame.
void check_length(const WebpFile& file, int rows) {
  // Each macroblock has modes, row by row in one stream (RFC 6386, 11.2 and 11.3). With the format's fixed
  // probabilities the likeliest ones take 3.42 bits, as in libwebp's flat images.
  constexpr int kMacroblock = 16;
  constexpr std::uint64_t kLeastBits = 3;
  if (file.lossless) return;
  const auto macroblocks = [](int pixels) {
    return static_cast<std::uint64_t>(pixels + kMacroblock - 1) / kMacroblock;
  };
  const std::uint64_t least = macroblocks(rows) * macroblocks(file.frame.width) * kLeastBits / 8;
  if (file.lossy_bytes >= least) return;
  throw input_error("WebP: truncated: {} rows of {} x {} pixels require at least {} bytes, the image's chunk has {}",
                    rows, file.frame.width, file.frame.height, least, file.lossy_bytes);
}

}  // namespace

ImageHeader WebpDecoder::open(std::span<const std::uint8_t> bytes) {
  file_ = {};
  file_ = read_webp(bytes);
  return {Encoding::kWebp, file_.canvas, file_.orientation, file_.alpha ? 4 : 3, file_.lossless};
}

void WebpDecoder::decode(Rect rect, Image& out) {
  const std::span<const std::uint8_t> image = std::exchange(file_.image, {});
  if (image.empty()) throw argument_error("WebP: decode() without a preceding open()");
  const Rect shown = intersection(rect, file_.frame);
  const bool any = shown.width > 0 && shown.height > 0;
  if (any) check_length(file_, shown.y + shown.height - file_.frame.y);
  out.resize(rect.size());
  if (shown != rect) std::memset(out.data(), 0, out.bytes());
  if (any) {
    decode_frame(image, {shown.x - file_.frame.x, shown.y - file_.frame.y, shown.width, shown.height},
                 out.row(shown.y - rect.y) + (shown.x - rect.x) * kChannels, out.row_bytes());
  }
}

void WebpDecoder::decode_frame(std::span<const std::uint8_t> image, Rect part, std::uint8_t* target,
                               std::size_t stride) {
  const Size size = file_.frame.size();
  const Rect window = file_.lossless ? part : with_margin(part, size);
  if (window == part) return decode_into(image, part, size, target, stride);
  window_.resize(window.size());
  decode_into(image, window, size, window_.data(), window_.row_bytes());
  for (int y = 0; y < part.height; ++y) {
    std::memcpy(target + static_cast<std::size_t>(y) * stride,
                window_.row(part.y - window.y + y) + (part.x - window.x) * kChannels,
                static_cast<std::size_t>(part.width) * kChannels);
  }
}

}  // namespace unstarve
