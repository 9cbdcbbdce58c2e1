// Arbitrary bytes as a JPEG file: compares our decoder, with and without two-symbol table entries, with libjpeg-turbo.
// Both accept or both reject the whole image, and the pixels are equal, at full and at reduced size. The same holds for
// crops, unless libjpeg-turbo finds damage in data that our decoder does not read. A crop must also be equal if an
// index is built while decoding (row by row) and if it is decoded with that index; only files without damage have an
// index.
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

// Accepts rows like a resampler: a few at a time, in its own memory, with a stride larger than the row length.
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

// Checks `request`, a crop of the image. `whole_accepted`: whether libjpeg-turbo accepts the whole image.
void check_part(JpegDecoder& decoder, std::span<const std::uint8_t> bytes, const Request& request, bool whole_accepted,
                const Image* expected) {
  static Image part, recorded, indexed;
  const bool accepted = decode(decoder, bytes, request, part);
  const bool own = decoder.used_own_decoder();
  check(accepted || expected == nullptr);
  if (accepted && expected != nullptr) check(same(part, *expected));

  Request recording = request;
  recording.make_index = true;
  check(decode(decoder, bytes, recording, recorded) == accepted);
  // Building an index reads the restart marker after the crop, which may be damaged.
  check(own || !decoder.used_own_decoder());
  if (!accepted) return;
  check(same(recorded, part));
  const std::vector<std::uint8_t> index(decoder.made_index().begin(), decoder.made_index().end());
  if (index.empty()) return;
  check(own && whole_accepted);
  Request by_index = request;
  by_index.index = index;
  check(decode(decoder, bytes, by_index, indexed));
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
  // Large images with little data decode slowly; the size limits have their own tests.
  if (std::int64_t{whole.width} * whole.height > 256 * 256) return 0;
  // New decoders, whose buffers have the size that this file needs: overruns are detected.
  std::array<JpegDecoder, 2> ours;
  ours[0].use_pairs(false);
  ours[1].use_pairs(true);
  const auto choose = [data, size](std::size_t index, int limit) { return data[size - 1 - index % size] % limit; };
  for (const int reduction : {1, 2, 4, 8}) {
    const auto reduced = [reduction](int side) { return (side + reduction - 1) / reduction; };
    const Rect all{0, 0, reduced(whole.width), reduced(whole.height)};
    const bool accepted = decode(theirs, bytes, {reduction, all, false}, expected);
    for (JpegDecoder& decoder : ours) {
      check(decode(decoder, bytes, {reduction, all}, own) == accepted);
      if (accepted) check(same(own, expected));
    }

    Rect part;
    part.x = choose(0, all.width);
    part.y = choose(1, all.height);
    part.width = 1 + choose(2, all.width - part.x);
    part.height = 1 + choose(3, all.height - part.y);
    const bool part_accepted = decode(theirs, bytes, {reduction, part, false}, expected);
    for (JpegDecoder& decoder : ours) {
      check_part(decoder, bytes, {reduction, part}, accepted, part_accepted ? &expected : nullptr);
    }
  }
  return 0;
}
