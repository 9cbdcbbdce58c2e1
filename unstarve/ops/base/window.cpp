#include "unstarve/ops/base/window.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"
#include "unstarve/ops/base/point_chain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/base/window.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// Rows of neighbouring source pixels. For mirrored rows, `to` is still the leftmost output pixel.
struct Block {
  const std::uint8_t* from;     // channel 0 of the first row's first source pixel
  std::ptrdiff_t from_row;      // distance of rows
  std::ptrdiff_t from_channel;  // distance of channels; 1 in interleaved rows
  std::uint8_t* to;
  std::ptrdiff_t to_row;
  std::ptrdiff_t to_channel;
  std::ptrdiff_t rows;
  std::ptrdiff_t pixels;  // per row
};

// Any strides, pixel by pixel.
void copy_pixels(const Block& block, std::ptrdiff_t from_pixel, std::ptrdiff_t to_pixel, bool mirrored) {
  const std::ptrdiff_t n = block.pixels;
  for (std::ptrdiff_t y = 0; y < block.rows; ++y) {
    for (std::ptrdiff_t x = 0; x < n; ++x) {
      const std::uint8_t* from = block.from + y * block.from_row + from_pixel * (mirrored ? n - 1 - x : x);
      std::uint8_t* to = block.to + y * block.to_row + to_pixel * x;
      for (std::ptrdiff_t c = 0; c < kChannels; ++c) to[c * block.to_channel] = from[c * block.from_channel];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <bool kFromInterleaved, bool kToInterleaved, bool kMirrored>
void copy_block(const Block& block) {
  copy_pixels(block, kFromInterleaved ? kChannels : 1, kToInterleaved ? kChannels : 1, kMirrored);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::VFromD<D> reverse_bytes(D d, hn::VFromD<D> v) {
  alignas(16) static constexpr std::uint8_t kReverse[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  const auto in_block = hn::TableLookupBytes(v, hn::LoadDup128(d, kReverse));
  if constexpr (hn::MaxLanes(D()) == 16) {
    return in_block;
  } else {
    return hn::ReverseBlocks(d, in_block);
  }
}

template <bool kFromInterleaved, bool kToInterleaved, bool kMirrored, class D>
HWY_INLINE void copy_vector(D d, const std::uint8_t* from, std::ptrdiff_t from_channel, std::uint8_t* to,
                            std::ptrdiff_t to_channel) {
  hn::VFromD<D> r, g, b;
  if constexpr (kFromInterleaved) {
    hn::LoadInterleaved3(d, from, r, g, b);
  } else {
    r = hn::LoadU(d, from);
    g = hn::LoadU(d, from + from_channel);
    b = hn::LoadU(d, from + 2 * from_channel);
  }
  if constexpr (kMirrored) {
    r = reverse_bytes(d, r);
    g = reverse_bytes(d, g);
    b = reverse_bytes(d, b);
  }
  if constexpr (kToInterleaved) {
    hn::StoreInterleaved3(r, g, b, d, to);
  } else {
    hn::StoreU(r, d, to);
    hn::StoreU(g, d, to + to_channel);
    hn::StoreU(b, d, to + 2 * to_channel);
  }
}

// Mirrors a row of interleaved pixels, five per vector, reading forwards, as the hardware prefetches. Each store also
// writes the byte before its five pixels; the next store overwrites it. Precondition: more than five pixels.
HWY_INLINE void mirror_row(const std::uint8_t* from, std::ptrdiff_t n, std::uint8_t* to) {
  constexpr std::ptrdiff_t kPixels = 5;
  alignas(16) static constexpr std::uint8_t kTurned[16] = {15, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2};
  alignas(16) static constexpr std::uint8_t kTurnedLast[16] = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
  const hn::FixedTag<std::uint8_t, 16> d;
  const hn::Half<decltype(d)> half;
  const auto turned = hn::Load(d, kTurned);
  std::uint8_t* end = to + kChannels * n;
  for (std::ptrdiff_t x = 0; x < n - kPixels; x += kPixels) {
    end -= kChannels * kPixels;
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, from + kChannels * x), turned), d, end - 1);
  }
  // The last five source pixels are the first output pixels: nothing after the source is read, nothing before the
  // output is written.
  const auto last = hn::TableLookupBytes(hn::LoadU(d, from + kChannels * (n - kPixels) - 1), hn::Load(d, kTurnedLast));
  hn::StoreU(hn::LowerHalf(half, last), half, to);
  hn::StoreU(hn::LowerHalf(half, hn::ShiftRightBytes<7>(d, last)), half, to + 7);
}

template <bool kFromInterleaved, bool kToInterleaved, bool kMirrored>
void copy_block(const Block& block) {
  if constexpr (kFromInterleaved && kToInterleaved && kMirrored) {
    if (block.pixels > 5) {
      for (std::ptrdiff_t y = 0; y < block.rows; ++y)
        mirror_row(block.from + y * block.from_row, block.pixels, block.to + y * block.to_row);
      return;
    }
  }
  constexpr std::ptrdiff_t kFromPixel = kFromInterleaved ? kChannels : 1, kToPixel = kToInterleaved ? kChannels : 1;
  constexpr std::ptrdiff_t kWide = HWY_MAX_BYTES < 32 ? HWY_MAX_BYTES : 32;
  const hn::FixedTag<std::uint8_t, kWide> wide;
  const hn::FixedTag<std::uint8_t, 16> narrow;
  const std::ptrdiff_t n = block.pixels;
  const std::uint8_t* from = block.from;
  std::uint8_t* to = block.to;
  // Writes `lanes` pixels from output pixel x on.
  const auto copy_at = [&](auto d, std::ptrdiff_t x) HWY_ATTR {
    constexpr auto kLanes = static_cast<std::ptrdiff_t>(hn::MaxLanes(decltype(d)()));
    copy_vector<kFromInterleaved, kToInterleaved, kMirrored>(d, from + kFromPixel * (kMirrored ? n - kLanes - x : x),
                                                             block.from_channel, to + kToPixel * x, block.to_channel);
  };
  // The last vector overlaps the one before, so that only rows of fewer than 16 pixels need a loop over pixels.
  if (n > kWide) {
    for (std::ptrdiff_t y = 0; y < block.rows; ++y, from += block.from_row, to += block.to_row) {
      for (std::ptrdiff_t x = 0; x < n - kWide; x += kWide) copy_at(wide, x);
      copy_at(wide, n - kWide);
    }
  } else if (n >= 16) {
    // Always two vectors: the width of a small image's window is random, so a loop over it would be mispredicted.
    for (std::ptrdiff_t y = 0; y < block.rows; ++y, from += block.from_row, to += block.to_row) {
      copy_at(narrow, 0);
      copy_at(narrow, n - 16);
    }
  } else {
    copy_pixels(block, kFromPixel, kToPixel, kMirrored);
  }
}

#endif

template <bool kFromInterleaved, bool kToInterleaved>
void copy_any(const Block& block, bool mirrored) {
  if (mirrored) {
    copy_block<kFromInterleaved, kToInterleaved, true>(block);
  } else if constexpr (kFromInterleaved && kToInterleaved) {
    for (std::ptrdiff_t y = 0; y < block.rows; ++y) {
      std::memcpy(block.to + y * block.to_row, block.from + y * block.from_row,
                  static_cast<std::size_t>(block.pixels) * kChannels);
    }
  } else {
    copy_block<kFromInterleaved, kToInterleaved, false>(block);
  }
}

// The part of a copy that is inside of the source: rows [top, bottom) of columns [left, right). The rest is fill.
struct Inside {
  int top, bottom, left, right;
};

void fill_around(const Frame& frame, int count, const Inside& inside, const RowTarget& target) {
  const bool interleaved = target.channel_stride == 1;
  const auto width = static_cast<std::size_t>(frame.width);
  // Filling narrow strips next to every row costs more than the pixels: small planes without gaps are filled whole.
  const bool whole = !interleaved && target.row_stride == frame.width && frame.width <= 64;
  for (int c = 0; c < kChannels; ++c) {
    const std::uint8_t value = frame.fill[static_cast<std::size_t>(c)];
    std::uint8_t* const plane = target.data + c * target.channel_stride;
    if (whole) {
      std::memset(plane, value, width * static_cast<std::size_t>(count));
      continue;
    }
    const std::ptrdiff_t step = interleaved ? kChannels : 1;
    for (int y = 0; y < count; ++y) {
      std::uint8_t* const row = plane + y * target.row_stride;
      const bool open = y >= inside.top && y < inside.bottom;
      const int left = open ? inside.left : frame.width, right = open ? inside.right : frame.width;
      for (std::ptrdiff_t x = 0; x < left; ++x) row[x * step] = value;
      for (std::ptrdiff_t x = right; x < frame.width; ++x) row[x * step] = value;
    }
  }
}

// Applies the chain to a block that has just been copied, in one run if there are no gaps between its rows.
void colour_block(const PointChain& chain, const Block& block, bool interleaved) {
  const std::ptrdiff_t to_pixel = interleaved ? kChannels : 1;
  const bool gapless = block.to_row == block.pixels * to_pixel;
  const std::ptrdiff_t runs = gapless ? 1 : block.rows;
  const auto count = static_cast<std::size_t>(gapless ? block.pixels * block.rows : block.pixels);
  for (std::ptrdiff_t y = 0; y < runs; ++y) {
    std::uint8_t* const to = block.to + y * block.to_row;
    if (interleaved) {
      run_chain(chain, to, count);
    } else {
      run_chain(chain, {to, to + block.to_channel, to + 2 * block.to_channel}, count);
    }
  }
}

}  // namespace

void copy_window_on_target(const Frame& frame, int first, int count, const RowTarget& target) {
  const PixelView& pixels = frame.pixels;
  // The rows and columns of the copy that are inside of the source; the columns as if not mirrored.
  const int y0 = frame.top + first;
  Inside inside;
  inside.top = std::clamp(-y0, 0, count);
  inside.bottom = std::clamp(pixels.height - y0, inside.top, count);
  const int left = std::clamp(-frame.left, 0, frame.width);
  const int right = std::clamp(pixels.width - frame.left, left, frame.width);
  inside.left = frame.mirrored ? frame.width - right : left;
  inside.right = frame.mirrored ? frame.width - left : right;
  if (inside.top > 0 || inside.bottom < count || left > 0 || right < frame.width)
    fill_around(frame, count, inside, target);
  if (inside.top == inside.bottom || left == right) return;

  const bool to_interleaved = target.channel_stride == 1;
  const std::ptrdiff_t to_pixel = to_interleaved ? kChannels : 1;
  Block block;
  block.from = pixels.data + std::ptrdiff_t{y0 + inside.top} * pixels.row_stride +
               std::ptrdiff_t{frame.left + left} * pixels.pixel_stride;
  block.from_row = pixels.row_stride;
  block.from_channel = pixels.channel_stride;
  block.to = target.data + inside.top * target.row_stride + inside.left * to_pixel;
  block.to_row = target.row_stride;
  block.to_channel = target.channel_stride;
  block.rows = inside.bottom - inside.top;
  block.pixels = right - left;
  if (pixels.interleaved()) {
    to_interleaved ? copy_any<true, true>(block, frame.mirrored) : copy_any<true, false>(block, frame.mirrored);
  } else if (pixels.planar()) {
    to_interleaved ? copy_any<false, true>(block, frame.mirrored) : copy_any<false, false>(block, frame.mirrored);
  } else {
    copy_pixels(block, pixels.pixel_stride, to_pixel, frame.mirrored);
  }
  if (frame.points != nullptr) colour_block(*frame.points, block, to_interleaved);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(copy_window_on_target);

void copy_window(const Frame& frame, int first, int count, const RowTarget& target) {
  HWY_DYNAMIC_DISPATCH(copy_window_on_target)(frame, first, count, target);
}

Image& make_pixels(Frame& frame, Scratch& scratch) {
  Image& image = scratch.other_than(frame);
  image.resize(frame.size());
  copy_window(frame, 0, frame.height, {image.data(), static_cast<std::ptrdiff_t>(image.row_bytes()), 1});
  frame = Frame(image.view());
  return image;
}

std::uint8_t window_value(const Frame& frame, int x, int y, int channel) {
  const int source_x = frame.left + (frame.mirrored ? frame.width - 1 - x : x);
  const int source_y = frame.top + y;
  const bool inside = source_x >= 0 && source_y >= 0 && source_x < frame.pixels.width && source_y < frame.pixels.height;
  const auto c = static_cast<std::size_t>(channel);
  if (!inside) return frame.fill[c];
  if (frame.points == nullptr) return frame.pixels.at(source_x, source_y, channel);
  std::array<std::uint8_t, kChannels> pixel;
  for (int i = 0; i < kChannels; ++i) pixel[static_cast<std::size_t>(i)] = frame.pixels.at(source_x, source_y, i);
  return run_chain(*frame.points, pixel)[c];
}

}  // namespace unstarve
#endif
