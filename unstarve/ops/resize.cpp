#include "unstarve/ops/resize.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "unstarve/ops/gpu/recorder.h"
#include "unstarve/ops/resize_filter.h"
#include "unstarve/ops/resize_kernels.h"
#include "unstarve/ops/resize_tables.h"
#include "unstarve/ops/window.h"

namespace unstarve {

void resize(Frame& frame, Size size, Resampling resampling, Scratch& scratch) {
  if (Recorder* recorder = scratch.recorder()) {
    Scratch::ResizeTables& axes = scratch.resize_tables();
    axes.vertical.build(frame.height, size.height, resampling);
    axes.horizontal.build(frame.width, size.width, resampling);
    return recorder->resize(frame, axes.horizontal, axes.vertical);
  }
  const bool readable = frame.points == nullptr && frame.pixels.interleaved() && frame.inside() &&
                        static_cast<std::size_t>(frame.width) * kChannels >= kResizeMinRowBytes;
  if (!readable) {
    Image& copy = scratch.other_than(frame);
    copy.resize(frame.size());
    Frame upright = frame;
    upright.mirrored = false;
    copy_window(upright, 0, frame.height, {copy.data(), static_cast<std::ptrdiff_t>(copy.row_bytes()), 1});
    const bool mirrored = frame.mirrored;
    frame = Frame(copy.view());
    frame.mirrored = mirrored;
  }

  Scratch::ResizeTables& tables = scratch.resize_tables();
  tables.vertical.build(frame.height, size.height, resampling);
  tables.horizontal.build(frame.width, size.width, resampling);
  Image& out = scratch.other_than(frame);
  out.resize(size);
  const PixelView& pixels = frame.pixels;
  resize_rows(pixels.data + frame.top * pixels.row_stride + std::ptrdiff_t{frame.left} * kChannels, pixels.row_stride,
              tables, out.data());
  const bool mirrored = frame.mirrored;
  frame = Frame(out.view());
  frame.mirrored = mirrored;
}

std::uint64_t resize_scratch_bytes(Size window, Size size, Resampling resampling) {
  const std::uint64_t taps_across = AxisFilter::most_taps(window.width, size.width, resampling),
                      taps_down = AxisFilter::most_taps(window.height, size.height, resampling);
  const auto in_width = static_cast<std::uint64_t>(window.width), width = static_cast<std::uint64_t>(size.width),
             in_height = static_cast<std::uint64_t>(window.height), height = static_cast<std::uint64_t>(size.height);
  // Per output sample: weights, exact and in 16 bits, and where they begin; across, the kernels' tables as well.
  const std::uint64_t filters = width * (taps_across * 10 + 4) + height * (taps_down * 10 + 4);
  const std::uint64_t tables = (width + 64) * (taps_across * 8 + 20);
  const std::uint64_t rows = std::max(taps_down + 1, in_height) * (width * kChannels + 64);
  return filters + tables + rows + (in_width + taps_across) * kChannels + taps_down * 8 + 4 * 4096;
}

void resize_reference(const Frame& frame, Size size, Resampling resampling, Image& out) {
  AxisFilter vertical, horizontal;
  vertical.build(frame.height, size.height, resampling);
  horizontal.build(frame.width, size.width, resampling);
  Frame upright = frame;
  upright.mirrored = false;

  const auto weighted = [](const AxisFilter& filter, int i, const auto& value_at) {
    int sum = 1 << (filter.fraction_bits() - 1);
    for (int k = 0; k < filter.taps(); ++k) {
      if (const int weight = filter.weights(i)[k]) sum += weight * value_at(filter.first(i) + k);
    }
    return static_cast<std::uint8_t>(std::clamp(sum >> filter.fraction_bits(), 0, 255));
  };

  std::vector<std::uint8_t> column(static_cast<std::size_t>(frame.height));
  out.resize(size);
  for (int x = 0; x < size.width; ++x) {
    for (int c = 0; c < kChannels; ++c) {
      for (int y = 0; y < frame.height; ++y) {
        column[static_cast<std::size_t>(y)] =
            weighted(horizontal, x, [&](int at) { return window_value(upright, at, y, c); });
      }
      for (int y = 0; y < size.height; ++y) {
        out.row(y)[x * kChannels + c] =
            weighted(vertical, y, [&](int at) { return column[static_cast<std::size_t>(at)]; });
      }
    }
  }
}

}  // namespace unstarve
