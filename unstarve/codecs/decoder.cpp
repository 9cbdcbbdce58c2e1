#include "unstarve/codecs/decoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/codecs/decode_plan.h"
#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/codecs/png/png_decoder.h"
#include "unstarve/codecs/webp/webp_decoder.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/memory/aligned.h"

namespace unstarve {
namespace {

std::string text_of(Rect rect) { return fmt::format("{} x {} at ({}, {})", rect.width, rect.height, rect.x, rect.y); }

[[noreturn]] void throw_unknown(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw input_error("empty file: 0 bytes; expected a JPEG, PNG or WebP image");
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string start;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    start += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  throw input_error("not a JPEG, PNG or WebP image: the file of {} bytes begins with{}", bytes.size(), start);
}

void check_pixels(const ImageHeader& header, std::int64_t max_pixels) {
  if (std::int64_t{header.size.width} * header.size.height <= max_pixels) return;
  const std::string limit = std::to_string(max_pixels);
  throw input_error("{} too large: {} x {} pixels{}", to_string(header.encoding), header.size.width, header.size.height,
                    max_pixels < kMaxPixels
                        ? "; decode.max_pixels is " + limit
                        : "; expected at most the decoder's pixel limit of " + limit + "; scale it down or remove it");
}

void check_request(const DecodeRequest& request, const ImageHeader& header) {
  const int reduction = request.reduction;
  if (reduction != 1 && reduction != 2 && reduction != 4 && reduction != 8) {
    throw argument_error("decode: reduction {}; expected 1, 2, 4 or 8", reduction);
  }
  const Rect& crop = request.crop;
  const bool whole = crop.width == 0;
  if (!whole && (crop.height == 0 || !is_within(crop, header.size))) {
    throw argument_error("decode: crop {}; expected a part of the image of {} x {}", text_of(crop), header.size.width,
                         header.size.height);
  }
  if (reduction != 1 && !can_reduce(header.encoding)) {
    throw argument_error("decode: reduction {} of a {} image; expected 1", reduction, to_string(header.encoding));
  }
}

// Passes a whole image to `rows`.
void put_rows(const Image& image, RowSink& rows) {
  constexpr int kStrip = 16;
  rows.begin(image.size());
  for (int y = 0; y < image.size().height; y += kStrip) {
    const int count = std::min(kStrip, image.size().height - y);
    std::ptrdiff_t stride = 0;
    std::uint8_t* const room = rows.room(count, stride);
    for (int i = 0; i < count; ++i) std::memcpy(room + i * stride, image.row(y + i), image.row_bytes());
    rows.take(count);
  }
}

}  // namespace

struct Decoder::State {
  JpegDecoder jpeg;
  PngDecoder png;
  WebpDecoder webp;
  ImageHeader header;
  Image stored;        // an image that has to be turned, if it is decoded as a whole
  AlignedBytes strip;  // some of its rows, if it is decoded row by row

  // Decodes `rect` of the reduced stored image into `rows` (true) or into `otherwise` (false).
  [[nodiscard]] bool decode_stored(const DecodeRequest& request, Rect rect, RowSink& rows, Image& otherwise) {
    switch (header.encoding) {
      case Encoding::kUnknown: throw argument_error("decode: no image is open");
      case Encoding::kJpeg:
        return jpeg.decode({request.reduction, rect, request.index, request.make_index}, rows, otherwise);
      case Encoding::kPng: png.decode(rect, otherwise); break;
      case Encoding::kWebp: webp.decode(rect, otherwise); break;
    }
    return false;
  }
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

ImageHeader Decoder::open(std::span<const std::uint8_t> bytes, std::int64_t max_pixels) {
  ImageHeader& opened = state_->header;
  opened = {};
  ImageHeader header;
  switch (detect_encoding(bytes)) {
    case Encoding::kUnknown: throw_unknown(bytes);
    case Encoding::kJpeg: header = state_->jpeg.open(bytes); break;
    case Encoding::kPng: header = state_->png.open(bytes); break;
    case Encoding::kWebp: header = state_->webp.open(bytes); break;
  }
  header.size = upright_size(header.size, header.orientation);
  check_pixels(header, max_pixels);
  opened = header;
  return header;
}

IndexUse Decoder::index_use() const noexcept {
  return state_->header.encoding == Encoding::kJpeg ? state_->jpeg.index_use() : IndexUse::kNone;
}

bool Decoder::used_own_decoder() const noexcept {
  return state_->header.encoding == Encoding::kJpeg && state_->jpeg.used_own_decoder();
}

std::span<const std::uint8_t> Decoder::made_index() const noexcept {
  return state_->header.encoding == Encoding::kJpeg ? state_->jpeg.made_index() : std::span<const std::uint8_t>();
}

Rect Decoder::stored_rect(const DecodeRequest& request) const {
  const ImageHeader& header = state_->header;
  if (header.encoding == Encoding::kUnknown) throw argument_error("decode: no image is open");
  check_request(request, header);
  return stored_part(header, request.crop, request.reduction);
}

// A RowSink receives rows from the top, a few at a time: begin(), then room() and take() in turn.
bool Decoder::decode(const DecodeRequest& request, RowSink& rows, Image& out) {
  State& state = *state_;
  const Rect rect = stored_rect(request);
  const bool upright = state.header.orientation == 1;
  Image& otherwise = upright ? out : state.stored;
  if (state.decode_stored(request, rect, rows, otherwise)) return true;
  if (upright) return false;
  put_rows(otherwise, rows);
  return true;
}

void Decoder::decode(const DecodeRequest& request, Image& out) {
  State& state = *state_;
  const Rect rect = stored_rect(request);
  const int orientation = state.header.orientation;
  if (orientation == 1) {
    ImageRows rows(out);
    (void)state.decode_stored(request, rect, rows, out);
    return;
  }
  TurnedRows rows(orientation, state.strip, out);
  if (!state.decode_stored(request, rect, rows, state.stored)) turn_upright(state.stored, orientation, out);
}

}  // namespace unstarve
