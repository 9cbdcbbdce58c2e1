#pragma once
// The fourteen changes that the policies of random augmentation choose from, each by a magnitude, with torchvision's
// meanings and signs: what AutoAugment, RandAugment and TrivialAugment have in common.
//
// Threads: one at a time per scratch. Failure: Error(kInput) as warp().

#include <array>
#include <string_view>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/geometry/sampling.h"

namespace unstarve {

enum class Change {
  kIdentity,
  kShearX,  // magnitude: pixels in x per pixel in y
  kShearY,
  kTranslateX,  // pixels
  kTranslateY,
  kRotate,      // degrees, counter-clockwise
  kBrightness,  // factor less 1, as for the three behind it
  kSaturation,
  kContrast,
  kSharpness,
  kPosterize,     // bits
  kSolarize,      // threshold
  kAutoContrast,  // none, as for those behind it
  kEqualize,
  kInvert,
};

// Whether the sign of the magnitude is drawn.
[[nodiscard]] constexpr bool is_signed(Change change) {
  return change >= Change::kShearX && change <= Change::kSharpness;
}

// The largest magnitude of each change in a policy's space; the least is 0, of posterize
// `posterize_most` bits, of solarize 255.
struct MagnitudeSpace {
  double shear;
  double translate_pixels;  // or, where 0, `translate_part` of the side
  double translate_part;
  double rotate;
  double factor;       // of brightness, saturation, contrast and sharpness
  int posterize_bits;  // fewer than `posterize_most`
  int posterize_most = 8;
};
// Of AutoAugment and RandAugment (Cubuk et al. 2018, 2019); of TrivialAugment's wide space (Müller and Hutter 2021); of
// AugMix (Hendrycks et al. 2019).
inline constexpr MagnitudeSpace kAugmentSpace{0.3, 0, 150.0 / 331.0, 30, 0.9, 4};
inline constexpr MagnitudeSpace kWideSpace{0.99, 32, 0, 135, 0.99, 6};
inline constexpr MagnitudeSpace kMixSpace{0.3, 0, 1.0 / 3.0, 30, 0.9, 4, 4};

// The magnitude at step `bin` of `bins` evenly spaced ones, for an image of this size.
[[nodiscard]] double magnitude_at(Change change, int bin, int bins, const MagnitudeSpace& space, Size image);

// All changes but kInvert, which RandAugment and TrivialAugment choose from.
inline constexpr std::uint32_t kUsualChanges = 14;
// Those that AugMix chooses from; without `all_ops` the first kMixWithoutFactors.
inline constexpr std::array kMixChanges = {
    Change::kShearX,     Change::kShearY,   Change::kTranslateX,   Change::kTranslateY, Change::kRotate,
    Change::kPosterize,  Change::kSolarize, Change::kAutoContrast, Change::kEqualize,   Change::kBrightness,
    Change::kSaturation, Change::kContrast, Change::kSharpness};
inline constexpr std::uint32_t kMixWithoutFactors = 9;

// How turning and shearing resample, and what they and moving leave free.
struct Warping {
  Interpolation how = Interpolation::kNearest;
  Rgb fill{};
};
// "interpolation" and "fill".
[[nodiscard]] Warping read_warping(const Parameters& parameters, Interpolation fallback);
// "num_magnitude_bins", torchvision's 31 when absent.
[[nodiscard]] int read_bins(const Parameters& parameters);
inline constexpr int kMostBins = 1000;

void change_by(Frame& frame, Change change, double magnitude, const Warping& warping, Scratch& scratch);

}  // namespace unstarve
