#include "unstarve/codecs/decode_plan.h"

#include "unstarve/codecs/common/orientation.h"

namespace unstarve {
namespace {

int divided_up(int value, int divisor) { return (value + divisor - 1) / divisor; }

BaselineLayout layout_of(const ImageHeader& header) {
  return {upright_size(header.size, header.orientation), header.components, header.horizontal, header.vertical};
}

}  // namespace

// What JpegDecoder::decode() will use; it decides for itself, as only decoding finds some damage. libjpeg-turbo does
// not smooth very narrow chroma: our decoder leaves such images to it.
DecodePath decode_path(const ImageHeader& header, int reduction) {
  switch (header.encoding) {
    case Encoding::kPng: return DecodePath::kLibpng;
    case Encoding::kWebp: return DecodePath::kLibwebp;
    case Encoding::kUnknown:
    case Encoding::kJpeg: break;
  }
  const bool own = header.jpeg == JpegKind::kBaseline && upsamples_alike(layout_of(header), reduction);
  return own ? DecodePath::kOwn : DecodePath::kLibjpegTurbo;
}

const char* to_string(DecodePath path) noexcept {
  switch (path) {
    case DecodePath::kOwn: return "own JPEG decoder";
    case DecodePath::kLibjpegTurbo: return "libjpeg-turbo";
    case DecodePath::kLibpng: return "libpng";
    case DecodePath::kLibwebp: return "libwebp";
  }
  return "unknown";
}

int choose_reduction(Size selected, Size target) {
  for (const int reduction : {8, 4, 2})
    if (selected.width / reduction >= target.width && selected.height / reduction >= target.height) return reduction;
  return 1;
}

bool is_within(const Rect& part, Size size) {
  // Differences, not sums: a sum could overflow.
  return part.x >= 0 && part.y >= 0 && part.width >= 0 && part.height >= 0 && part.width <= size.width &&
         part.height <= size.height && part.x <= size.width - part.width && part.y <= size.height - part.height;
}

Rect stored_part(const ImageHeader& header, Rect crop, int reduction) {
  const Size whole{divided_up(header.size.width, reduction), divided_up(header.size.height, reduction)};
  Rect upright{0, 0, whole.width, whole.height};
  if (crop.width > 0) {
    const int left = crop.x / reduction, top = crop.y / reduction;
    upright = {left, top, divided_up(crop.x + crop.width, reduction) - left,
               divided_up(crop.y + crop.height, reduction) - top};
  }
  // Reversed axes count from the far edge of the reduced image, so the rectangle is reduced first and then turned.
  return stored_rect(upright, upright_size(whole, header.orientation), header.orientation);
}

// Without a crop, the whole image is decoded. `mcus`: the blocks of 8 or 16 pixels that contain the crop, for
// explanations; the decoder computes its own.
DecodePlan plan_decode(const ImageHeader& header, const DecodeHint& hint) {
  DecodePlan plan;
  const bool within = is_within(hint.selected, header.size);
  if (within && hint.reduce && can_reduce(header.encoding))
    plan.reduction = choose_reduction(hint.selected.size(), hint.target);
  if (within && hint.crop) plan.crop = hint.selected;
  plan.path = decode_path(header, plan.reduction);
  plan.index = hint.index && plan.crop.width > 0 && plan.path == DecodePath::kOwn;
  plan.stored = stored_part(header, plan.crop, plan.reduction);
  if (plan.path == DecodePath::kOwn) plan.mcus = plan_baseline(layout_of(header), plan.reduction, plan.stored);
  return plan;
}

}  // namespace unstarve
