#pragma once
// The region of one image that its decode step has to produce, as drawn by the select steps before it. Shared by the
// executor and by explain, so that both agree.
//
// Threads: pure, but for the generators and the scratch that are passed in.

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
  Rect region;  // of the upright image at full size; may extend beyond its edges
  Size target;  // that the region is resampled to
  // Set by select_through(): the resize computes only this part of its output, which the next operation reads.
  std::optional<ResizePart> part{};
};

[[nodiscard]] Selection select_all(Size image);
// The region that `operation` reads; draws from `random` what its select() draws.
[[nodiscard]] Selection select_for(const Operation& operation, Size image, Random& random);
// Executes a SelectThroughStep. Returns false, with selection and `random` (of step.op) unchanged, where this image
// does not permit it. Precondition: `selection` is that of step.resize, which is a plain resize.
[[nodiscard]] bool select_through(const SelectThroughStep& step, OperationSpan operations, const ImageHeader& header,
                                  Selection& selection, Random& random, Scratch& scratch);
// What the decoder is asked for.
[[nodiscard]] DecodeHint decode_hint(const DecodeStep& step, const Selection& selection);

}  // namespace unstarve
