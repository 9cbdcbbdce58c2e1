// Arbitrary bytes as a JPEG file: decodes the whole image and a crop selected by the last bytes. If both decode, the
// crop must equal the same part of the whole image; decoding a crop may stop before damage.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"

namespace {

using namespace unstarve;

bool decode(Decoder& decoder, std::span<const std::uint8_t> bytes, const DecodeRequest& request, Image& out) {
  try {
    decoder.open(bytes);
    decoder.decode(request, out);
    return true;
  } catch (const Error&) {
    return false;
  }
}

int reduced_side(int first, int count, int reduction) {
  return (first + count + reduction - 1) / reduction - first / reduction;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Decoder decoder;
  static Image whole, part;
  const std::span<const std::uint8_t> bytes(data, size);
  ImageHeader header;
  try {
    header = decoder.open(bytes);
  } catch (const Error&) {
    return 0;
  }
  // Large images with little data decode slowly; the size limits have their own tests.
  if (std::int64_t{header.size.width} * header.size.height > 256 * 256) return 0;

  // Selected by the last bytes of the file, so that mutations request different crops.
  const auto choose = [data, size](std::size_t index, int limit) { return data[size - 1 - index % size] % limit; };
  const int reduction = 1 << choose(0, 4);
  Rect rect;
  rect.x = choose(1, header.size.width);
  rect.y = choose(2, header.size.height);
  rect.width = 1 + choose(3, header.size.width - rect.x);
  rect.height = 1 + choose(4, header.size.height - rect.y);

  const bool have_whole = decode(decoder, bytes, {{}, reduction}, whole);
  const bool have_part = decode(decoder, bytes, {rect, reduction}, part);
  if (have_whole && !have_part) __builtin_trap();
  if (!have_part) return 0;
  const Size expected{reduced_side(rect.x, rect.width, reduction), reduced_side(rect.y, rect.height, reduction)};
  if (part.size() != expected) __builtin_trap();
  if (!have_whole) return 0;
  for (int y = 0; y < expected.height; ++y) {
    const std::uint8_t* row = whole.row(rect.y / reduction + y) + rect.x / reduction * kChannels;
    if (std::memcmp(part.row(y), row, part.row_bytes()) != 0) __builtin_trap();
  }
  return 0;
}
