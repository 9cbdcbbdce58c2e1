#pragma once
// The changes that the policies of random augmentation draw from, each by a magnitude, with torchvision's meanings and
// signs.
//
// Threads: one at a time per scratch. Failure: Error(kInput) as warp().

#include <array>
#include <string_view>

#include "unstarve/ops/base/frame.h"
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
  kBrightness,  // factor - 1, as for the next three
  kSaturation,
  kContrast,
  kSharpness,
  kPosterize,     // bits
  kSolarize,      // threshold
  kAutoContrast,  // no magnitude, as for the next two
  kEqualize,
  kInvert,
};

// True if the sign of the magnitude is random.
[[nodiscard]] constexpr bool is_signed(Change change) {
  return change >= Change::kShearX && change <= Change::kSharpness;
}
[[nodiscard]] inline double with_sign(Change change, double magnitude, Random& random) {
  return is_signed(change) && random.below(2) == 1 ? -magnitude : magnitude;
}

// The largest magnitude of each change in a policy's space. The smallest is 0; for posterize `posterize_most` bits, for
// solarize 255.
struct MagnitudeSpace {
  double shear;
  double translate_pixels;  // if 0, `translate_part` of the side
  double translate_part;
  double rotate;
  double factor;       // for brightness, saturation, contrast and sharpness
  int posterize_bits;  // fewer than `posterize_most`
  int posterize_most = 8;
};
// Of AutoAugment and RandAugment (Cubuk et al. 2018, 2019); of TrivialAugment's wide space (Müller and Hutter 2021); of
// AugMix (Hendrycks et al. 2019).
inline constexpr MagnitudeSpace kAugmentSpace{0.3, 0, 150.0 / 331.0, 30, 0.9, 4};
inline constexpr MagnitudeSpace kWideSpace{0.99, 32, 0, 135, 0.99, 6};
inline constexpr MagnitudeSpace kMixSpace{0.3, 0, 1.0 / 3.0, 30, 0.9, 4, 4};

// The magnitude of step `bin` of `bins` evenly spaced steps, for an image of this size.
[[nodiscard]] double magnitude_at(Change change, int bin, int bins, const MagnitudeSpace& space, Size image);

// RandAugment and TrivialAugment draw from the first changes, all except kInvert.
inline constexpr std::uint32_t kRandAugmentChanges = 14;
// AugMix draws from these; without `all_ops` from the first kMixWithoutFactors.
inline constexpr std::array kMixChanges = {
    Change::kShearX,     Change::kShearY,   Change::kTranslateX,   Change::kTranslateY, Change::kRotate,
    Change::kPosterize,  Change::kSolarize, Change::kAutoContrast, Change::kEqualize,   Change::kBrightness,
    Change::kSaturation, Change::kContrast, Change::kSharpness};
inline constexpr std::uint32_t kMixWithoutFactors = 9;

// "num_magnitude_bins", 31 as in torchvision if absent.
[[nodiscard]] int read_bins(const Parameters& parameters);
inline constexpr int kMaxBins = 1000;

void change_by(Frame& frame, Change change, double magnitude, const Warping& warping, Scratch& scratch);

}  // namespace unstarve
