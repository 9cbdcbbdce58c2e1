#include "unstarve/pipeline/plan/selection.h"

#include "unstarve/ops/resize/resize.h"

namespace unstarve {

Selection select_all(Size image) { return {{0, 0, image.width, image.height}, image, {}}; }

Selection select_for(const Operation& operation, Size image, Random& random) {
  const Rect region = operation.select(image, random);
  return {region, operation.output_size(region.size()), {}};
}

// Only for an operation that follows the resize and reads a part of its output, such as center_crop.
bool select_through(const SelectThrough& through, const ImageHeader& header, Selection& selection, Random& random,
                    Scratch& scratch) {
  const auto& [step, operations] = through;
  if (!is_within(selection.region, header.size)) return false;
  // A reduced image has other resize weights.
  if (plan_decode(header, decode_hint({DecodeRegion::kSelected, step.reduction}, selection)).reduction > 1)
    return false;
  const ResizeTo to = operations[step.resize]->only_resizes(selection.region.size()).value();
  Random draws = random;
  const Rect made = operations[step.op]->select(to.size, draws);
  if (!is_within(made, to.size) || made.width == 0 || made.height == 0) return false;
  random = draws;
  selection.part = {selection.region.size(), to, made};
  const Rect read = read_by(*selection.part, scratch);
  selection.region = {selection.region.x + read.x, selection.region.y + read.y, read.width, read.height};
  selection.target = made.size();
  return true;
}

DecodeHint decode_hint(const DecodeStep& step, const Selection& selection) {
  DecodeHint hint;
  hint.selected = selection.region;
  hint.target = selection.target;
  hint.crop = step.region == DecodeRegion::kSelected;
  hint.reduce = step.reduction == Reduction::kAllowed && !selection.part;
  hint.index = step.index == ScanIndexUse::kUse;
  return hint;
}

}  // namespace unstarve
