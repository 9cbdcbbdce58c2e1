#include "unstarve/codecs/decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/codecs/decode_plan.h"
#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/codecs/png/png_decoder.h"
#include "unstarve/codecs/webp/webp_decoder.h"
#include "unstarve/core/aligned.h"
#include "unstarve/core/error.h"

namespace unstarve {
namespace {

std::string text_of(Rect rect) {
  return std::to_string(rect.width) + " x " + std::to_string(rect.height) + " at (" + std::to_string(rect.x) + ", " +
         std::to_string(rect.y) + ")";
}

[[noreturn]] void throw_unknown(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw Error(ErrorKind::kInput, "empty file: 0 bytes, expected a JPEG, PNG or WebP image");
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string start;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    start += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  throw Error(ErrorKind::kInput, "not a JPEG, PNG or WebP image: the file of " + std::to_string(bytes.size()) +
                                     " bytes begins with" + start);
}

void check_pixels(const ImageHeader& header, std::int64_t max_pixels) {
  if (std::int64_t{header.size.width} * header.size.height <= max_pixels) return;
  const std::string limit = std::to_string(max_pixels);
  throw Error(ErrorKind::kInput,
              std::string(to_string(header.encoding)) + " too large: " + std::to_string(header.size.width) + " x " +
                  std::to_string(header.size.height) + " pixels" +
                  (max_pixels < kMaxPixels
                       ? "; decode.max_pixels is " + limit
                       : ", expected at most the decoder's pixel limit of " + limit + "; scale it down or remove it"));
}

void check_request(const DecodeRequest& request, const ImageHeader& header) {
  const int reduction = request.reduction;
  if (reduction != 1 && reduction != 2 && reduction != 4 && reduction != 8) {
    throw Error(ErrorKind::kArgument, "decode: reduction " + std::to_string(reduction) + ", expected 1, 2, 4 or 8");
  }
  const Rect& crop = request.crop;
  const bool whole = crop.width == 0;
  if (!whole && (crop.height == 0 || !lies_within(crop, header.size))) {
    throw Error(ErrorKind::kArgument, "decode: crop " + text_of(crop) + " does not lie within the image of " +
                                          std::to_string(header.size.width) + " x " +
                                          std::to_string(header.size.height));
  }
  if (reduction != 1 && !Decoder::can_reduce(header.encoding)) {
    throw Error(ErrorKind::kArgument, std::string("decode: ") + to_string(header.encoding) +
                                          " cannot be reduced while decoding, asked for 1/" +
                                          std::to_string(reduction));
  }
}

// A picture that is there as a whole, as if it came row by row.
void put_rows(const Image& image, RowSink& rows) {
  constexpr int kAtOnce = 16;
  rows.begin(image.size());
  for (int y = 0; y < image.size().height; y += kAtOnce) {
    const int count = std::min(kAtOnce, image.size().height - y);
    std::ptrdiff_t stride = 0;
    std::uint8_t* const room = rows.room(count, stride);
    for (int i = 0; i < count; ++i) std::memcpy(room + i * stride, image.row(y + i), image.row_bytes());
    rows.take(count);
  }
}

}  // namespace

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
  constexpr std::array<std::uint8_t, 4> kWebp = {'W', 'E', 'B', 'P'};  // behind RIFF and a size
  const auto begins_with = [bytes](const auto& magic, std::size_t at = 0) {
    return bytes.size() >= at + magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin() + at);
  };
  if (begins_with(kJpegStart)) return Encoding::kJpeg;
  if (begins_with(kPngStart)) return Encoding::kPng;
  if (begins_with(kRiffStart) && begins_with(kWebp, 8)) return Encoding::kWebp;
  return Encoding::kUnknown;
}

struct Decoder::State {
  JpegDecoder jpeg;
  PngDecoder png;
  WebpDecoder webp;
  ImageHeader header;
  Image stored;        // a turned image, as a whole, where it does not come as rows
  AlignedBytes strip;  // some of its rows where it does

  // `rect` of the image as stored, reduced: as rows (true), or as a whole to `otherwise`. Only JPEG comes with a
  // reduction and with an index.
  [[nodiscard]] bool decode_stored(const DecodeRequest& request, Rect rect, RowSink& rows, Image& otherwise) {
    switch (header.encoding) {
      case Encoding::kUnknown: throw Error(ErrorKind::kArgument, "decode: no image is open");
      case Encoding::kJpeg:
        return jpeg.decode(request.reduction, rect, rows, otherwise, request.index, request.make_index);
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
  if (header.encoding == Encoding::kUnknown) throw Error(ErrorKind::kArgument, "decode: no image is open");
  check_request(request, header);
  return stored_part(header, request.crop, request.reduction);
}

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
