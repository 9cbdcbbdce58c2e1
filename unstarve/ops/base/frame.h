#pragma once
// The state of one sample in a chain of operations: a window over borrowed pixels, so that crops, pads and flips move
// no pixel.
//
// A Frame is width x height. Its pixel (x, y) is the pixel (left + x, top + y) of `pixels`, or, if mirrored,
// (left + width - 1 - x, top + y); outside of `pixels` it is `fill`. `points` then changes the colour of that pixel,
// but not of fill (point_chain.h). Only operations that resample and store() read pixels; all others edit these
// numbers.
//
// Ownership: borrows pixels (of the dataset's memory or of a Scratch image); valid until the worker's next sample.
// Threads: each worker has its own Frame and Scratch.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/core/random.h"

namespace unstarve {

class PointChain;
class Recorder;

struct Frame {
  PixelView pixels;
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
  bool mirrored = false;
  std::array<std::uint8_t, kChannels> fill{};
  const PointChain* points = nullptr;  // null: colours as they are

  Frame() = default;
  explicit Frame(PixelView view) : pixels(view), width(view.width), height(view.height) {}

  [[nodiscard]] Size size() const { return {width, height}; }

  // Becomes Frame(view), member by member: a copied temporary is loaded in wider pieces than it was stored in, which
  // stalls (about 15 of 350 ns per CIFAR sample, without storing it; perf on a Zen 4 core).
  void reset(const PixelView& view) {
    pixels.data = view.data;
    pixels.width = view.width;
    pixels.height = view.height;
    pixels.row_stride = view.row_stride;
    pixels.pixel_stride = view.pixel_stride;
    pixels.channel_stride = view.channel_stride;
    left = top = 0;
    width = view.width;
    height = view.height;
    mirrored = false;
    fill = {};
    points = nullptr;
  }

  // Sets the window to `rect`, in this frame's coordinates. It may reach beyond the frame and shows fill there, even
  // where an earlier crop has cut off pixels.
  void crop(Rect rect) {
    const bool widens = rect.x < 0 || rect.y < 0 || rect.x + rect.width > width || rect.y + rect.height > height;
    if (widens) clip_to_window();
    left += mirrored ? width - rect.x - rect.width : rect.x;
    top += rect.y;
    width = rect.width;
    height = rect.height;
  }
  void mirror() { mirrored = !mirrored; }
  // Mirrors top and bottom, by a negative row stride.
  void flip_vertically() {
    pixels.data += (pixels.height - 1) * pixels.row_stride;
    pixels.row_stride = -pixels.row_stride;
    top = pixels.height - top - height;
  }

  // Narrows `pixels` to those of the window.
  void clip_to_window() {
    const int x = std::clamp(left, 0, pixels.width), y = std::clamp(top, 0, pixels.height);
    pixels.data += y * pixels.row_stride + x * pixels.pixel_stride;
    pixels.width = std::clamp(left + width, x, pixels.width) - x;
    pixels.height = std::clamp(top + height, y, pixels.height) - y;
    left -= x;
    top -= y;
  }

  // True if the whole window is inside of `pixels`.
  [[nodiscard]] bool inside() const {
    return left >= 0 && top >= 0 && left + width <= pixels.width && top + height <= pixels.height;
  }
};

// Memory that one operation or a family of them keeps in a worker's Scratch between samples.
struct ScratchPart {
  ScratchPart() = default;
  ScratchPart(const ScratchPart&) = delete;
  ScratchPart& operator=(const ScratchPart&) = delete;
  virtual ~ScratchPart() = default;
  [[nodiscard]] virtual std::uint64_t bytes_held() const = 0;
};

// A worker's memory for intermediate images and filter tables; grows to its largest need, then stops allocating.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  // The image that `frame` does not borrow (two images alternate along a chain).
  [[nodiscard]] Image& other_than(const Frame& frame);

  // The part of this type, which derives from ScratchPart; made by the first call.
  template <class T>
  [[nodiscard]] T& part() {
    static const char key{};  // its address identifies the type
    for (const Part& part : parts_)
      if (part.key == &key) return static_cast<T&>(*part.memory);
    parts_.push_back({&key, std::make_unique<T>()});
    return static_cast<T&>(*parts_.back().memory);
  }
  // Used by chain_of() only.
  [[nodiscard]] PointChain& points() { return *points_; }

  // Bytes of all parts, i.e. without the two images (Operation::scratch_bytes()).
  [[nodiscard]] std::uint64_t other_bytes() const;

  // With a recorder, operations record what they would do to pixels instead of doing it (recorder.h).
  void record_with(Recorder* recorder) { recorder_ = recorder; }
  [[nodiscard]] Recorder* recorder() const { return recorder_; }

 private:
  Image images_[2];
  struct Part {
    const void* key;
    std::unique_ptr<ScratchPart> memory;
  };
  std::unique_ptr<PointChain> points_;
  std::vector<Part> parts_;
  Recorder* recorder_ = nullptr;
};

}  // namespace unstarve
