#pragma once
// What a chain of operations works on: a window over borrowed pixels, so that crops, pads and flips move nothing.
//
// A Frame is width x height. Its pixel (x, y) is the pixel (left + x, top + y) of `pixels`, or, when mirrored,
// (left + width - 1 - x, top + y); where that lies outside of `pixels` it is `fill`. Its colour is what `points` makes
// of that pixel (not of fill), see colour/point_chain.h. Only operations that resample and store() read pixels;
// everything else edits these few numbers.
// Ownership: borrows pixels (of the data set's memory, or of a Scratch image); valid until the worker's next sample.
// Threads: a Frame and a Scratch belong to one worker, each worker has its own.

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
  const PointChain* points = nullptr;  // none: colours as they are

  Frame() = default;
  explicit Frame(PixelView view) : pixels(view), width(view.width), height(view.height) {}

  [[nodiscard]] Size size() const { return {width, height}; }

  // Narrows (or, beyond the edges, widens) the window to `rect`, given in this frame's coordinates. What was cut off
  // before does not come back: it is fill.
  void crop(Rect rect) {
    const bool widens = rect.x < 0 || rect.y < 0 || rect.x + rect.width > width || rect.y + rect.height > height;
    if (widens) forget_outside();
    left += mirrored ? width - rect.x - rect.width : rect.x;
    top += rect.y;
    width = rect.width;
    height = rect.height;
  }
  void mirror() { mirrored = !mirrored; }
  // Upside down, by rows that lie the other way round.
  void turn_over() {
    pixels.data += (pixels.height - 1) * pixels.row_stride;
    pixels.row_stride = -pixels.row_stride;
    top = pixels.height - top - height;
  }

  // The pixels are those of the window alone.
  void forget_outside() {
    const int x = std::clamp(left, 0, pixels.width), y = std::clamp(top, 0, pixels.height);
    pixels.data += y * pixels.row_stride + x * pixels.pixel_stride;
    pixels.width = std::clamp(left + width, x, pixels.width) - x;
    pixels.height = std::clamp(top + height, y, pixels.height) - y;
    left -= x;
    top -= y;
  }

  // True when no pixel of the window lies outside of `pixels`.
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

  // An image not borrowed by `frame`; the other one is left alone (two images alternate along a chain).
  [[nodiscard]] Image& other_than(const Frame& frame);

  // The part of this type, which derives from ScratchPart; made by the first call.
  template <class T>
  [[nodiscard]] T& part() {
    static const char key{};  // its address stands for the type
    for (const Part& part : parts_)
      if (part.key == &key) return static_cast<T&>(*part.memory);
    parts_.push_back({&key, std::make_unique<T>()});
    return static_cast<T&>(*parts_.back().memory);
  }
  // For chain_of() alone.
  [[nodiscard]] PointChain& points() { return *points_; }

  // Bytes of all parts: memory besides the two images (Operation::scratch_bytes()).
  [[nodiscard]] std::uint64_t other_bytes() const;

  // Where there is one, operations write down what they would do to the pixels instead of doing it (gpu/recorder.h).
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
