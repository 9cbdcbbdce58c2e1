#include "unstarve/ops/resize/resize_rows.h"

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/core/clock.h"
#include "unstarve/ops/resize/resize_kernels.h"
#include "unstarve/ops/resize/resize_tables.h"

namespace unstarve {

// `target_` returns the resize for an image of that size. The tables have the weights of both passes. `out_`, a free
// image of the scratch memory, becomes the resized image.
void ResizeRows::begin(Size stored) {
  const ResizePart part = target_(upright_size(stored, orientation_));
  ResizeTables& tables = scratch_.part<ResizeTables>();
  stored_ = stored;
  spent_ns_ = 0;
  tables.build(part, orientation_);
  out_ = &scratch_.other_than(Frame());
  out_->resize({tables.horizontal.output(), tables.vertical.output()});
  begin_resize(tables, out_->data());
  // The slack after a row is read by our vectors and overwritten by the decoder's; rows start at cache lines.
  const std::size_t row = static_cast<std::size_t>(stored.width) * kChannels + resize_slack(tables.horizontal);
  stride_ = static_cast<std::ptrdiff_t>((row + 63) / 64 * 64);
}

std::uint8_t* ResizeRows::room(int count, std::ptrdiff_t& stride) {
  AlignedBytes& strip = scratch_.part<ResizeTables>().strip;
  strip.reserve_discard(static_cast<std::size_t>(count) * static_cast<std::size_t>(stride_));
  stride = stride_;
  return strip.data();
}

void ResizeRows::take(int count) {
  const std::int64_t start = timed_ ? steady_clock().now_ns() : 0;
  ResizeTables& tables = scratch_.part<ResizeTables>();
  push_rows(tables.strip.data(), stride_, count, tables);  // resizes each row, and adds it to the output's rows
  if (tables.lines == stored_.height && orientation_ != 1) {
    Image& upright = scratch_.other_than(Frame(out_->view()));
    turn_upright(*out_, orientation_, upright);
    out_ = &upright;
  }
  if (timed_) spent_ns_ += steady_clock().now_ns() - start;
}

}  // namespace unstarve
