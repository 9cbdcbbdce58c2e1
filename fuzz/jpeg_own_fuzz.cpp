// Any bytes as a JPEG file: our own decoder, with and without entries of two symbols in its tables, against
// libjpeg-turbo. Both take the whole image or both refuse it, and what they take has the same pixels, at full size and
// reduced; so has a part, unless libjpeg-turbo finds damage that our decoder does not read. A part whose decoding makes
// an index is the same, row by row too, and so it is by that index, which only a file has that is right to its end.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/core/error.h"

namespace {

using namespace unstarve;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

bool same(const Image& a, const Image& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// Takes rows as a resampler does: a few at a time, in memory of its own, that lie further apart than they are long.
class StripRows final : public RowSink {
 public:
  explicit StripRows(Image& image) : image_(image) {}

  void begin(Size size) override {
    image_.resize(size);
    next_ = 0;
  }
  std::uint8_t* room(int count, std::ptrdiff_t& stride) override {
    check(count > 0 && next_ + count <= image_.size().height);
    stride_ = image_.row_bytes() + 7;
    stride = static_cast<std::ptrdiff_t>(stride_);
    strip_.resize(stride_ * static_cast<std::size_t>(count) + 64);
    return strip_.data();
  }
  void take(int count) override {
    for (int i = 0; i < count; ++i, ++next_) {
      std::memcpy(image_.row(next_), strip_.data() + stride_ * static_cast<std::size_t>(i), image_.row_bytes());
    }
  }
  [[nodiscard]] bool full() const { return next_ == image_.size().height; }

 private:
  Image& image_;
  int next_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::uint8_t> strip_;
};

struct Request {
  int reduction = 1;
  Rect rect;
  bool own = true;
  std::span<const std::uint8_t> index{};
  bool make_index = false;
};

bool decode(JpegDecoder& decoder, std::span<const std::uint8_t> bytes, const Request& request, Image& out) {
  decoder.use_own_decoder(request.own);
  try {
    decoder.open(bytes);
    if (!request.make_index) {
      decoder.decode({request.reduction, request.rect, request.index}, out);
      return true;
    }
    StripRows rows(out);
    static Image theirs;
    if (decoder.decode({request.reduction, request.rect, request.index, true}, rows, theirs)) {
      check(rows.full());
    } else {
      std::swap(out, theirs);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Of the image reduced by `reduction`: `whole_taken` is libjpeg-turbo's word on all of it.
void check_part(JpegDecoder& decoder, std::span<const std::uint8_t> bytes, int reduction, const Rect& rect,
                bool whole_taken, const Image* expected) {
  static Image part, recorded, indexed;
  const bool taken = decode(decoder, bytes, {reduction, rect}, part);
  const bool own = decoder.used_own_decoder();
  check(taken || expected == nullptr);
  if (taken && expected != nullptr) check(same(part, *expected));

  check(decode(decoder, bytes, {reduction, rect, true, {}, true}, recorded) == taken);
  // Making an index takes a look at the restart marker behind the part, which may be damaged.
  check(own || !decoder.used_own_decoder());
  if (!taken) return;
  check(same(recorded, part));
  const std::vector<std::uint8_t> index(decoder.made_index().begin(), decoder.made_index().end());
  if (index.empty()) return;
  check(own && whole_taken);
  check(decode(decoder, bytes, {reduction, rect, true, index}, indexed));
  check(decoder.index_use() == IndexUse::kUsed);
  check(same(indexed, part));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static JpegDecoder theirs;
  static Image expected, own;
  const std::span<const std::uint8_t> bytes(data, size);
  Size whole;
  try {
    whole = theirs.open(bytes).size;
  } catch (const Error&) {
    return 0;
  }
  // Large headers over little data are decodable and slow; the limits have tests of their own.
  if (std::int64_t{whole.width} * whole.height > 256 * 256) return 0;
  // New ones, whose buffers are no larger than this file needs: what runs over their ends shows.
  std::array<JpegDecoder, 2> ours;
  ours[0].use_pairs(false);
  ours[1].use_pairs(true);
  const auto choose = [data, size](std::size_t index, int limit) { return data[size - 1 - index % size] % limit; };
  for (const int reduction : {1, 2, 4, 8}) {
    const auto reduced = [reduction](int side) { return (side + reduction - 1) / reduction; };
    const Rect all{0, 0, reduced(whole.width), reduced(whole.height)};
    const bool taken = decode(theirs, bytes, {reduction, all, false}, expected);
    for (JpegDecoder& decoder : ours) {
      check(decode(decoder, bytes, {reduction, all}, own) == taken);
      if (taken) check(same(own, expected));
    }

    Rect part;
    part.x = choose(0, all.width);
    part.y = choose(1, all.height);
    part.width = 1 + choose(2, all.width - part.x);
    part.height = 1 + choose(3, all.height - part.y);
    const bool part_taken = decode(theirs, bytes, {reduction, part, false}, expected);
    for (JpegDecoder& decoder : ours) {
      check_part(decoder, bytes, reduction, part, taken, part_taken ? &expected : nullptr);
    }
  }
  return 0;
}
