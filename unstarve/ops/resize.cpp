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
