#include "unstarve/jobs/pack/pack_image.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "unstarve/core/error.h"
#include "unstarve/jobs/common/make_scan_index.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/resize/resize_rows.h"

namespace unstarve {
namespace {

constexpr std::size_t kPageBytes = 4096;

// Reads mapped file pages here, so that the single writing thread does not wait for them.
void touch(std::span<const std::uint8_t> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    (void)*static_cast<const volatile std::uint8_t*>(bytes.data() + at);
  }
}

// Whether the file ends with JPEG's end marker or PNG's last chunk. A file without them may still be complete. WebP
// headers contain the length, so a truncated WebP file fails earlier, when it is opened.
bool ends_whole(std::span<const std::uint8_t> bytes, Encoding encoding) {
  constexpr std::array<std::uint8_t, 2> kEndOfImage = {0xff, 0xd9};
  constexpr std::array<std::uint8_t, 12> kLastChunk = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
  const auto ends_in = [&](const auto& end) {
    return bytes.size() >= end.size() &&
           std::memcmp(bytes.data() + bytes.size() - end.size(), end.data(), end.size()) == 0;
  };
  return encoding == Encoding::kWebp || (encoding == Encoding::kJpeg ? ends_in(kEndOfImage) : ends_in(kLastChunk));
}

}  // namespace

PackImage::PackImage(const Dataset& data, const PackKeys& keys, const PackOptions& options)
    : data_(data),
      keys_(keys),
      options_(options),
      encoded_(data.field_index(FieldKind::kEncodedImage)),
      pixels_(data.field_index(FieldKind::kPixels)),
      label_(data.field_index(FieldKind::kLabel)) {
  if (encoded_ < 0 && pixels_ < 0)
    throw Error(ErrorKind::kArgument, "pack: the " + data.format() + " has no image field; expected images");
}

bool PackImage::decodes(const Dataset& data, const PackOptions& options) {
  return options.resize > 0 || options.quality > 0 || options.check || options.scan_index ||
         data.field_index(FieldKind::kEncodedImage) < 0;
}

void PackImage::make(std::uint64_t id, PackedRecord& packed) {
  data_.read(id, packed.record);  // its error names the location
  packed.encoded.clear();
  packed.out = {};
  try {
    if (label_ >= 0) take_label(packed.record.values[static_cast<std::size_t>(label_)], packed.out);
    if (encoded_ >= 0)
      take_encoded(packed.record.values[static_cast<std::size_t>(encoded_)].bytes, packed);
    else
      encode(packed.record.values[static_cast<std::size_t>(pixels_)].pixels, true, packed);
    if (options_.scan_index) index(packed);
  } catch (const Error& error) {
    check_maps(packed.record);
    throw Error(error.kind(), data_.location(id) + ": " + error.what());
  }
  check_maps(packed.record);  // data from a truncated mapping must not be packed
  packed.name = keys_.name(data_.record_location(id));
  packed.out.key = packed.name;
}

void PackImage::take_label(const Value& value, OutRecord& out) const {
  const auto classes = static_cast<std::int64_t>(data_.classes().size());
  if (value.integer < 0 || (classes > 0 && value.integer >= classes)) {
    throw Error(ErrorKind::kInput, "label " + std::to_string(value.integer) + " is out of range; expected 0 to " +
                                       std::to_string(classes - 1));
  }
  out.label = value.integer;
  if (classes > 0) out.class_name = data_.classes()[static_cast<std::size_t>(value.integer)];
}

// Never enlarges.
Size PackImage::target(Size size) const {
  const int side = options_.resize;
  const int shorter = std::min(size.width, size.height);
  if (side == 0 || shorter <= side) return size;
  // The long side is rounded towards zero, as in the operation `resize`.
  const auto longer = static_cast<int>(std::int64_t{side} * std::max(size.width, size.height) / shorter);
  return size.width <= size.height ? Size{side, longer} : Size{longer, side};
}

void PackImage::take_encoded(std::span<const std::uint8_t> bytes, PackedRecord& packed) {
  const ImageHeader header = decoder_.open(bytes);
  if (options_.quality == 0 && target(header.size) == header.size) return keep(bytes, header, packed.out);
  if (target(header.size) != header.size) {
    ResizeRows rows([this](Size size) { return whole_resize(size, {target(size), {}}); }, header.orientation, scratch_);
    if (decoder_.decode({}, rows, image_)) return encode(rows.pixels(), header.lossless, packed);
  } else {
    decoder_.decode({}, image_);
  }
  encode(image_.view(), header.lossless, packed);
}

void PackImage::keep(std::span<const std::uint8_t> bytes, const ImageHeader& header, OutRecord& out) {
  if (options_.check || !ends_whole(bytes, header.encoding)) decoder_.decode({}, image_);
  touch(bytes);
  out.image = bytes;
  out.encoding = to_string(header.encoding);
  out.size = header.size;
}

void PackImage::index(PackedRecord& packed) {
  packed.scan_index.clear();
  if (packed.out.encoding != to_string(Encoding::kJpeg)) return;
  (void)decoder_.open(packed.out.image);
  const std::span<const std::uint8_t> made = make_scan_index(decoder_, image_);
  packed.scan_index.assign(made.begin(), made.end());
}

void PackImage::encode(PixelView pixels, bool lossless, PackedRecord& packed) {
  Frame frame(pixels);
  const Size size = target(frame.size());
  if (size != frame.size()) resize_bilinear(frame, size, scratch_);
  const bool jpeg = options_.quality > 0 || !lossless;
  if (jpeg) {
    const int quality = options_.quality > 0 ? options_.quality : kDefaultQuality;
    jpeg_encoder_.encode(frame.pixels, quality, ChromaSampling::k420, packed.encoded);
  } else {
    packed.encoded = encode_png(frame.pixels);
  }
  packed.out.image = packed.encoded;
  packed.out.encoding = to_string(jpeg ? Encoding::kJpeg : Encoding::kPng);
  packed.out.size = size;
}

}  // namespace unstarve
