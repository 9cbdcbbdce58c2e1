#pragma once
// A resize, or a part of one, of rows as a decoder makes them, to an image of the scratch: the picture that is resized
// is nowhere as a whole. The same bits as decoding it, turning it upright and resize() afterwards.
//
//   stored rows ──▶ the two passes, in the order in which the upright picture takes them ──▶ turned where it must be
//
// Ownership: borrows the scratch. Threads: one at a time. Failure: what `target` throws for a size, and std::bad_alloc.

#include <cstdint>
#include <functional>
#include <utility>

#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/resize/resize_part.h"

namespace unstarve {

class ResizeRows final : public RowSink {
 public:
  // `target` tells what is made of an upright picture of this size, which is that of read_by(part); `orientation`: of
  // the rows (codecs/common/orientation.h); `timed`: clocks tell spent_ns().
  ResizeRows(std::function<ResizePart(Size)> target, int orientation, Scratch& scratch, bool timed = false)
      : target_(std::move(target)), orientation_(orientation), scratch_(scratch), timed_(timed) {}

  void begin(Size stored) override;
  std::uint8_t* room(int count, std::ptrdiff_t& stride) override;
  void take(int count) override;

  // What came out, upright, once all rows were taken.
  [[nodiscard]] Frame frame() const { return Frame(out_->view()); }
  [[nodiscard]] Size taken() const { return stored_; }
  // In here so far, since the last begin().
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
