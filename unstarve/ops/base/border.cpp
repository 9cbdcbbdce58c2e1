#include "unstarve/ops/base/border.h"

#include <algorithm>
#include <cstring>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/window.h"

namespace unstarve {

void crop_with_border(Frame& frame, Rect window, Border border, const Rgb& fill, Scratch& scratch) {
  const bool beyond =
      window.x < 0 || window.y < 0 || window.x + window.width > frame.width || window.y + window.height > frame.height;
  if (!beyond) return frame.crop(window);
  Recorder* const recorder = scratch.recorder();
  if (border == Border::kConstant) {
    if (!frame.inside() && frame.fill != fill) {
      if (recorder != nullptr)
        recorder->make_pixels(frame);
      else
        make_pixels(frame, scratch);
    }
    frame.fill = fill;
    return frame.crop(window);
  }
  if (recorder != nullptr) return recorder->extend(frame, window, border);
  const Image& in = make_pixels(frame, scratch);
  Image& out = scratch.other_than(frame);
  out.resize({window.width, window.height});
  // Columns [left, right) of the window are the image's own.
  const int left = std::clamp(-window.x, 0, window.width);
  const int right = std::clamp(frame.width - window.x, left, window.width);
  for (int y = 0; y < window.height; ++y) {
    const std::uint8_t* const row = in.row(border_index(border, window.y + y, frame.height));
    std::uint8_t* const to = out.row(y);
    const auto copy = [&](int from, int until) {
      for (int x = from; x < until; ++x)
        std::copy_n(row + std::ptrdiff_t{border_index(border, window.x + x, frame.width)} * kChannels, kChannels,
                    to + std::ptrdiff_t{x} * kChannels);
    };
    copy(0, left);
    if (right > left)
      std::memcpy(to + std::ptrdiff_t{left} * kChannels, row + std::ptrdiff_t{window.x + left} * kChannels,
                  static_cast<std::size_t>(right - left) * kChannels);
    copy(right, window.width);
  }
  frame = Frame(out.view());
}

}  // namespace unstarve
