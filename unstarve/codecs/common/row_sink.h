#pragma once
// Where a decoder's rows go as they come: into an image, or on into what makes something smaller of them, so that the
// picture as a whole is nowhere.
//
//   begin(size), then until all rows are there: room(n), the decoder writes n rows, take(n)
//
// Threads: one at a time. Failure: what an implementation throws goes through the decoder, which takes the next image
// as if nothing was.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"

namespace unstarve {

class RowSink {
 public:
  virtual ~RowSink() = default;

  // A picture begins, of the size that it is stored in: a sink that turns it upright knows its orientation. What came
  // before it is void: its decoding failed and starts again.
  virtual void begin(Size size) = 0;
  // Memory for the next `count` rows of interleaved RGB, `stride` bytes apart, with 64 writable bytes behind each but
  // that a later row may begin there. Valid until take().
  [[nodiscard]] virtual std::uint8_t* room(int count, std::ptrdiff_t& stride) = 0;
  // Those rows hold their pixels.
  virtual void take(int count) = 0;
};

// Into an image.
class ImageRows final : public RowSink {
 public:
  explicit ImageRows(Image& image) : image_(image) {}

  void begin(Size size) override {
    image_.resize(size);
    next_ = 0;
  }
  std::uint8_t* room(int, std::ptrdiff_t& stride) override {
    stride = static_cast<std::ptrdiff_t>(image_.row_bytes());
    return image_.row(next_);
  }
  void take(int count) override { next_ += count; }

 private:
  Image& image_;
  int next_ = 0;
};

}  // namespace unstarve
