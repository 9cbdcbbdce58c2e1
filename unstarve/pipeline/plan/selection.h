#pragma once
// The region of one image that its decode step produces, as drawn by the select steps before it. Used by the executor
// and by explain().
//
// Threads: pure, except for the generators and the scratch memory of the caller.

#include <memory>
#include <optional>
#include <span>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/core/random.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/resize/resize_part.h"
#include "unstarve/pipeline/plan/step.h"

namespace unstarve {

using OperationSpan = std::span<const std::shared_ptr<const Operation>>;

struct Selection {
  Rect region;  // in the upright image at full size; may extend beyond its edges
  Size target;  // of the resampled region
  // Set by select_through(): the resize computes only this part of its output, which the next operation reads.
  std::optional<ResizePart> part{};
};

[[nodiscard]] Selection select_all(Size image);
// The region that `operation` reads; draws from `random` what its select() draws.
[[nodiscard]] Selection select_for(const Operation& operation, Size image, Random& random);
struct SelectThrough {
  const SelectThroughStep& step;
  OperationSpan operations;
};
// Executes a SelectThroughStep. Returns false, without changing `selection` and `random` (of step.op), if this image
// does not permit it. Precondition: `selection` is that of step.resize, which is a plain resize.
[[nodiscard]] bool select_through(const SelectThrough& through, const ImageHeader& header, Selection& selection,
                                  Random& random, Scratch& scratch);
[[nodiscard]] DecodeHint decode_hint(const DecodeStep& step, const Selection& selection);

}  // namespace unstarve
