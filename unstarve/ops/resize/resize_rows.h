#pragma once
// Resizes rows as a decoder delivers them, to an image of the scratch, so that the full-size image is never in memory.
// Bit-equal to decoding the image, rotating it upright and calling resize().
//
//   stored rows ──▶ the two passes, in the order of the upright image ──▶ rotated upright if necessary
//
// Ownership: borrows the scratch. Threads: one at a time. Failure: what `target` throws for a size, std::bad_alloc.

#include <cstdint>
#include <functional>
#include <utility>

#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/resize/resize_part.h"

namespace unstarve {

class ResizeRows final : public RowSink {
 public:
  // `target` returns the resize for an upright image of a size; that image is read_by(part). `orientation`: of the
  // stored rows (codecs/common/orientation.h). `timed`: measure spent_ns().
  ResizeRows(std::function<ResizePart(Size)> target, int orientation, Scratch& scratch, bool timed = false)
      : target_(std::move(target)), orientation_(orientation), scratch_(scratch), timed_(timed) {}

  void begin(Size stored) override;
  std::uint8_t* room(int count, std::ptrdiff_t& stride) override;
  void take(int count) override;

  // The upright output, after all rows were taken.
  [[nodiscard]] PixelView pixels() const { return out_->view(); }
  [[nodiscard]] Size taken() const { return stored_; }
  // Time spent in this class since the last begin().
  [[nodiscard]] std::int64_t spent_ns() const { return spent_ns_; }

 private:
  const std::function<ResizePart(Size)> target_;
  const int orientation_;
  Scratch& scratch_;
  const bool timed_;
  Size stored_;
  Image* out_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  std::int64_t spent_ns_ = 0;
};

}  // namespace unstarve
