#include "unstarve/ops/resize/resize.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/resize/axis_filter.h"
#include "unstarve/ops/resize/resize_kernels.h"
#include "unstarve/ops/resize/resize_tables.h"
#include "unstarve/ops/resize/triangle_weights.h"

namespace unstarve {

void resize(Frame& frame, Size size, Resampling resampling, Scratch& scratch) {
  resize_part(frame, whole_resize(frame.size(), {size, resampling}), scratch);
}

Rect read_by(const ResizePart& part, Scratch& scratch) {
  ResizeTables& tables = scratch.part<ResizeTables>();
  tables.build(part);
  return {tables.horizontal.begin(), tables.vertical.begin(), tables.horizontal.input(), tables.vertical.input()};
}

void resize_part(Frame& frame, const ResizePart& part, Scratch& scratch) {
  ResizeTables& tables = scratch.part<ResizeTables>();
  tables.build(part);
  if (Recorder* recorder = scratch.recorder()) return recorder->resize(frame, tables.horizontal, tables.vertical);
  const bool readable =
      frame.points == nullptr && frame.pixels.interleaved() && frame.inside() && frame.pixels.row_stride > 0;
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

  Image& out = scratch.other_than(frame);
  out.resize(part.made.size());
  begin_resize(tables, out.data());
  const PixelView& pixels = frame.pixels;
  const std::uint8_t* const rows = pixels.data + frame.top * pixels.row_stride + std::ptrdiff_t{frame.left} * kChannels;
  // Vectors read beyond a row, which may not be readable after the last rows: those are copied first.
  const auto slack = static_cast<std::ptrdiff_t>(resize_slack(tables.horizontal));
  const int copied =
      static_cast<int>(std::min<std::ptrdiff_t>((slack + pixels.row_stride - 1) / pixels.row_stride, frame.height));
  const int in_place = frame.height - copied;
  push_rows(rows, pixels.row_stride, in_place, tables);
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{frame.width} * kChannels;
  tables.strip.reserve_discard(static_cast<std::size_t>(copied * (row_bytes + slack)));
  for (int y = 0; y < copied; ++y) {
    std::memcpy(tables.strip.data() + y * (row_bytes + slack), rows + (in_place + y) * pixels.row_stride,
                static_cast<std::size_t>(row_bytes));
  }
  push_rows(tables.strip.data(), row_bytes + slack, copied, tables);
  const bool mirrored = frame.mirrored;
  frame = Frame(out.view());
  frame.mirrored = mirrored;
}

namespace {

// For one order of the two passes.
std::uint64_t scratch_bytes(Size window, Size size, Resampling resampling, bool vertical_first) {
  const std::uint64_t taps_across = AxisFilter::max_taps(window.width, size.width, resampling),
                      taps_down = AxisFilter::max_taps(window.height, size.height, resampling);
  const auto in_width = static_cast<std::uint64_t>(window.width), width = static_cast<std::uint64_t>(size.width),
             height = static_cast<std::uint64_t>(size.height);
  // Per output sample: exact and 16-bit weights, the index of the first input, and the tables of triangle_weights.h;
  // for the horizontal pass the kernels' tables as well.
  constexpr std::uint64_t kOtherBytes = 4 + TriangleTables::kOtherTables * 8;
  const std::uint64_t filters = (width + kTriangleSlack) * (taps_across * 10 + kOtherBytes) +
                                (height + kTriangleSlack) * (taps_down * 10 + kOtherBytes);
  const std::uint64_t tables = AlignedBytes::capacity_for((width + 64) * (taps_across * 8 + 20));
  const std::uint64_t row = in_width * kChannels, slack = taps_across * kChannels + 64;
  const std::uint64_t between = vertical_first ? row : width * kChannels;
  const std::uint64_t rows = AlignedBytes::capacity_for((taps_down + 1) * (between + 64)) +
                             (vertical_first ? AlignedBytes::capacity_for(row + slack) : 0);
  // Rows copied for the resize: one row of a decoder's blocks, or the last rows of an image. Such memory grows by half.
  constexpr std::uint64_t kDecoderRows = 17;
  const std::uint64_t strip = std::max(kDecoderRows, slack / row + 1) * (row + slack + 64) * 3 / 2;
  return filters + tables + rows + AlignedBytes::capacity_for(strip) + taps_down * 8;
}

}  // namespace

std::uint64_t resize_scratch_bytes(Size window, Size size, Resampling resampling) {
  const auto turned = [](Size of) { return Size{of.height, of.width}; };
  return std::max(scratch_bytes(window, size, resampling, false),
                  scratch_bytes(turned(window), turned(size), resampling, true));
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
