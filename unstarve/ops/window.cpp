#include "unstarve/ops/window.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "unstarve/ops/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/window.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// A run of pixels that lie side by side in the source; `to` of a mirrored run is still its leftmost output pixel.
struct Run {
  const std::uint8_t* from;     // channel 0 of the run's first source pixel
  std::ptrdiff_t from_channel;  // distance of channels; 1 in interleaved rows
  std::uint8_t* to;
  std::ptrdiff_t to_channel;
};

template <bool kFromInterleaved, bool kToInterleaved, bool kMirrored>
HWY_INLINE void copy_pixels(const Run& run, std::size_t pixels) {
  constexpr std::ptrdiff_t kFromPixel = kFromInterleaved ? 3 : 1, kToPixel = kToInterleaved ? 3 : 1;
  const auto n = static_cast<std::ptrdiff_t>(pixels);
  for (std::ptrdiff_t x = 0; x < n; ++x) {
    const std::uint8_t* from = run.from + kFromPixel * (kMirrored ? n - 1 - x : x);
    for (std::ptrdiff_t c = 0; c < 3; ++c) run.to[kToPixel * x + c * run.to_channel] = from[c * run.from_channel];
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <bool kFromInterleaved, bool kToInterleaved, bool kMirrored>
void copy_run(const Run& run, std::size_t pixels) {
  copy_pixels<kFromInterleaved, kToInterleaved, kMirrored>(run, pixels);
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
HWY_INLINE void copy_vector(D d, const Run& run, std::size_t source, std::size_t target) {
  hn::VFromD<D> r, g, b;
  if constexpr (kFromInterleaved) {
    hn::LoadInterleaved3(d, run.from + 3 * source, r, g, b);
  } else {
    const std::uint8_t* p = run.from + source;
    r = hn::LoadU(d, p);
    g = hn::LoadU(d, p + run.from_channel);
    b = hn::LoadU(d, p + 2 * run.from_channel);
  }
  if constexpr (kMirrored) {
    r = reverse_bytes(d, r);
    g = reverse_bytes(d, g);
    b = reverse_bytes(d, b);
  }
  if constexpr (kToInterleaved) {
    hn::StoreInterleaved3(r, g, b, d, run.to + 3 * target);
  } else {
    std::uint8_t* p = run.to + target;
    hn::StoreU(r, d, p);
    hn::StoreU(g, d, p + run.to_channel);
    hn::StoreU(b, d, p + 2 * run.to_channel);
  }
}

template <bool kFromInterleaved, bool kToInterleaved, bool kMirrored>
void copy_run(const Run& run, std::size_t pixels) {
  // The last vector overlaps the one before, so that no run of 16 or more needs a loop over single pixels.
  const auto copy_in_steps = [&](auto d) HWY_ATTR {
    constexpr std::size_t kStep = hn::MaxLanes(decltype(d)());
    for (std::size_t x = 0; x < pixels; x += kStep) {
      if (x + kStep > pixels) x = pixels - kStep;
      copy_vector<kFromInterleaved, kToInterleaved, kMirrored>(d, run, kMirrored ? pixels - kStep - x : x, x);
    }
  };
  constexpr std::size_t kBytes = HWY_MAX_BYTES < 32 ? HWY_MAX_BYTES : 32;
  if (pixels >= kBytes) {
    copy_in_steps(hn::FixedTag<std::uint8_t, kBytes>());
  } else if (pixels >= 16) {
    copy_in_steps(hn::FixedTag<std::uint8_t, 16>());
  } else {
    copy_pixels<kFromInterleaved, kToInterleaved, kMirrored>(run, pixels);
  }
}

#endif

template <bool kFromInterleaved, bool kToInterleaved>
void copy_any(const Run& run, std::size_t pixels, bool mirrored) {
  if (mirrored) {
    copy_run<kFromInterleaved, kToInterleaved, true>(run, pixels);
  } else if constexpr (kFromInterleaved && kToInterleaved) {
    std::memcpy(run.to, run.from, 3 * pixels);
  } else {
    copy_run<kFromInterleaved, kToInterleaved, false>(run, pixels);
  }
}

// Pixels [begin, end) of an output row take the fill colour.
void fill_run(const Frame& frame, std::uint8_t* row, std::ptrdiff_t channel_stride, std::ptrdiff_t begin,
              std::ptrdiff_t end) {
  if (begin >= end) return;
  const std::ptrdiff_t pixel_stride = channel_stride == 1 ? kChannels : 1;
  for (std::ptrdiff_t c = 0; c < kChannels; ++c) {
    std::uint8_t* p = row + c * channel_stride;
    const std::uint8_t value = frame.fill[static_cast<std::size_t>(c)];
    if (pixel_stride == 1) {
      std::memset(p + begin, value, static_cast<std::size_t>(end - begin));
    } else {
      for (std::ptrdiff_t x = begin; x < end; ++x) p[x * pixel_stride] = value;
    }
  }
}

}  // namespace

void copy_window_on_target(const Frame& frame, int first, int count, const RowTarget& target) {
  const PixelView& pixels = frame.pixels;
  // Columns [begin, end) of the output lie within the source.
  int begin = std::clamp(-frame.left, 0, frame.width);
  int end = std::clamp(pixels.width - frame.left, begin, frame.width);
  const std::ptrdiff_t source_x = frame.left + begin;
  if (frame.mirrored) {
    const int old_begin = begin;
    begin = frame.width - end;
    end = frame.width - old_begin;
  }
  const auto run_pixels = static_cast<std::size_t>(end - begin);
  const bool to_interleaved = target.channel_stride == 1;
  const std::ptrdiff_t to_pixel = to_interleaved ? kChannels : 1;

  for (int i = 0; i < count; ++i) {
    const std::ptrdiff_t y = std::ptrdiff_t{frame.top} + first + i;
    std::uint8_t* const row = target.data + i * target.row_stride;
    if (y < 0 || y >= pixels.height || run_pixels == 0) {
      fill_run(frame, row, target.channel_stride, 0, frame.width);
      continue;
    }
    fill_run(frame, row, target.channel_stride, 0, begin);
    fill_run(frame, row, target.channel_stride, end, frame.width);
    const Run run{pixels.data + y * pixels.row_stride + source_x * pixels.pixel_stride, pixels.channel_stride,
                  row + begin * to_pixel, target.channel_stride};
    if (pixels.interleaved()) {
      if (to_interleaved) {
        copy_any<true, true>(run, run_pixels, frame.mirrored);
      } else {
        copy_any<true, false>(run, run_pixels, frame.mirrored);
      }
    } else if (pixels.planar()) {
      if (to_interleaved) {
        copy_any<false, true>(run, run_pixels, frame.mirrored);
      } else {
        copy_any<false, false>(run, run_pixels, frame.mirrored);
      }
    } else {
      for (std::ptrdiff_t x = 0; x < end - begin; ++x) {
        const std::uint8_t* from = run.from + pixels.pixel_stride * (frame.mirrored ? end - begin - 1 - x : x);
        for (std::ptrdiff_t c = 0; c < kChannels; ++c) {
          run.to[x * to_pixel + c * target.channel_stride] = from[c * pixels.channel_stride];
        }
      }
    }
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(copy_window_on_target);

void copy_window(const Frame& frame, int first, int count, const RowTarget& target) {
  HWY_DYNAMIC_DISPATCH(copy_window_on_target)(frame, first, count, target);
}

std::uint8_t window_value(const Frame& frame, int x, int y, int channel) {
  const int source_x = frame.left + (frame.mirrored ? frame.width - 1 - x : x);
  const int source_y = frame.top + y;
  const bool inside =
      source_x >= 0 && source_y >= 0 && source_x < frame.pixels.width && source_y < frame.pixels.height;
  return inside ? frame.pixels.at(source_x, source_y, channel) : frame.fill[static_cast<std::size_t>(channel)];
}

}  // namespace unstarve
#endif
