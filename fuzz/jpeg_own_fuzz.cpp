// Any bytes as a JPEG file: our own decoder against libjpeg-turbo. Both take the whole image or both refuse it, and
// what they take has the same pixels, at full size and reduced; so has a part, unless libjpeg-turbo finds damage that
// our decoder does not read.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/core/error.h"

namespace {

using namespace unstarve;

bool decode(JpegDecoder& decoder, std::span<const std::uint8_t> bytes, bool own, int reduction, const Rect& rect,
            Image& out) {
  decoder.use_own_decoder(own);
  try {
    decoder.open(bytes);
    decoder.decode(reduction, rect, out);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool same(const Image& a, const Image& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static JpegDecoder decoder;
  static Image expected, own;
  const std::span<const std::uint8_t> bytes(data, size);
  Size whole;
  try {
    whole = decoder.open(bytes).size;
  } catch (const Error&) {
    return 0;
  }
  // Large headers over little data are decodable and slow; the limits have tests of their own.
  if (std::int64_t{whole.width} * whole.height > 256 * 256) return 0;
  const auto choose = [data, size](std::size_t index, int limit) { return data[size - 1 - index % size] % limit; };
  for (const int reduction : {1, 2, 4, 8}) {
    const auto reduced = [reduction](int side) { return (side + reduction - 1) / reduction; };
    const Rect all{0, 0, reduced(whole.width), reduced(whole.height)};
    const bool taken = decode(decoder, bytes, false, reduction, all, expected);
    if (decode(decoder, bytes, true, reduction, all, own) != taken) __builtin_trap();
    if (taken && !same(own, expected)) __builtin_trap();

    Rect part;
    part.x = choose(0, all.width);
    part.y = choose(1, all.height);
    part.width = 1 + choose(2, all.width - part.x);
    part.height = 1 + choose(3, all.height - part.y);
    const bool part_taken = decode(decoder, bytes, false, reduction, part, expected);
    const bool own_taken = decode(decoder, bytes, true, reduction, part, own);
    if (part_taken && !own_taken) __builtin_trap();
    if (part_taken && !same(own, expected)) __builtin_trap();
  }
  return 0;
}
