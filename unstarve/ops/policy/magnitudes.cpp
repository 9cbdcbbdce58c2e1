#include "unstarve/ops/policy/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "unstarve/ops/base/border.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/filter/filters.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {
namespace {

// Shears about the upper left corner, as the original policies do: (x, y) comes from (x + along_x * y, y + along_y *
// x).
void shear(Frame& frame, double along_x, double along_y, const Warping& warping, Scratch& scratch) {
  warp(frame, {1, along_x, 0, along_y, 1, 0, 0, 0}, warping, scratch);
}

void move(Frame& frame, double x, double y, const Warping& warping, Scratch& scratch) {
  // Whole pixels: moving the window suffices.
  const int left = static_cast<int>(x), top = static_cast<int>(y);
  crop_with_border(frame, {-left, -top, frame.width, frame.height}, Border::kConstant, warping.fill, scratch);
}

}  // namespace

double magnitude_at(Change change, int bin, int bins, const MagnitudeSpace& space, Size image) {
  const double part = static_cast<double>(bin) / (bins - 1);
  const auto translated = [&](int side) {
    return part * (space.translate_part > 0 ? space.translate_part * side : space.translate_pixels);
  };
  switch (change) {
    case Change::kShearX:
    case Change::kShearY: return part * space.shear;
    case Change::kTranslateX: return translated(image.width);
    case Change::kTranslateY: return translated(image.height);
    case Change::kRotate: return part * space.rotate;
    case Change::kBrightness:
    case Change::kSaturation:
    case Change::kContrast:
    case Change::kSharpness: return part * space.factor;
    case Change::kPosterize: return space.posterize_most - std::nearbyint(part * space.posterize_bits);
    case Change::kSolarize: return 255 * (1 - part);
    default: return 0;
  }
}

int read_bins(const Parameters& parameters) { return parameters.integer("num_magnitude_bins", 31, 2, kMaxBins); }

void change_by(Frame& frame, Change change, double magnitude, const Warping& warping, Scratch& scratch) {
  switch (change) {
    case Change::kIdentity: return;
    case Change::kShearX: return shear(frame, magnitude, 0, warping, scratch);
    case Change::kShearY: return shear(frame, 0, magnitude, warping, scratch);
    case Change::kTranslateX: return move(frame, magnitude, 0, warping, scratch);
    case Change::kTranslateY: return move(frame, 0, magnitude, warping, scratch);
    case Change::kRotate: return warp(frame, affine_mapping(frame.size(), {.degrees = -magnitude}), warping, scratch);
    case Change::kBrightness: return adjust_brightness(frame, std::max(0.0, 1 + magnitude), scratch);
    case Change::kSaturation: return adjust_saturation(frame, std::max(0.0, 1 + magnitude), scratch);
    case Change::kContrast: return adjust_contrast(frame, std::max(0.0, 1 + magnitude), scratch);
    case Change::kSharpness: return adjust_sharpness(frame, std::max(0.0, 1 + magnitude), scratch);
    case Change::kPosterize: return posterize(frame, static_cast<int>(magnitude), scratch);
    case Change::kSolarize: return solarize(frame, static_cast<int>(std::ceil(magnitude)), scratch);
    case Change::kAutoContrast: return auto_contrast(frame, scratch);
    case Change::kEqualize: return equalize(frame, scratch);
    case Change::kInvert: return invert(frame, scratch);
  }
}

}  // namespace unstarve
