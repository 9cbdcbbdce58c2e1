#include "unstarve/pipeline/functions/decode_part.h"

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/resize/resize_rows.h"

namespace unstarve {

Frame decode_part(const ImageHeader& header, const DecodePart& part, ImageWorkspace& workspace) {
  const DecodePlan how = plan_decode(
      header, {part.region, part.to ? part.to->size : part.region.size(), true, part.to && part.reduce, false});
  const DecodeRequest request{how.crop, how.reduction};
  const bool within = how.crop.width > 0;  // otherwise the whole image is decoded at full size
  if (part.to && within) {
    ResizeRows rows([&](Size size) { return whole_resize(size, *part.to); }, header.orientation, workspace.scratch);
    if (workspace.decoder.decode(request, rows, workspace.decoded)) return Frame(rows.pixels());
  } else {
    workspace.decoder.decode(request, workspace.decoded);
  }
  Frame frame(workspace.decoded.view());
  if (!within) frame.crop(part.region);
  if (part.to) resize(frame, part.to->size, part.to->resampling, workspace.scratch);
  return frame;
}

}  // namespace unstarve
