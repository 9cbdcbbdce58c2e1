#pragma once
// The destination of a decoder's rows: an image, or a consumer such as a resize that does not need the whole image.
//
//   begin(size), then until all rows are written: room(n), the decoder writes n rows, take(n)
//
// Threads: one at a time. Failure: an implementation's exception propagates through the decoder, which stays usable.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"

namespace unstarve {

class RowSink {
 public:
  virtual ~RowSink() = default;

  // Starts an image of this stored size (a sink that turns the image knows its orientation). Rows before begin() are
  // void: decoding failed and starts again.
  virtual void begin(Size size) = 0;
  // Memory for the next `count` rows of interleaved RGB, `stride` bytes apart, valid until take(). The 64 bytes after a
  // row are writable, but the next row may start there.
  [[nodiscard]] virtual std::uint8_t* room(int count, std::ptrdiff_t& stride) = 0;
  // The first `count` rows of room() have been written.
  virtual void take(int count) = 0;
};

// Writes into an image, which is resized.
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
