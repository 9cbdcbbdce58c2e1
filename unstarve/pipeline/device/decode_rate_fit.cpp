#include "unstarve/pipeline/device/decode_rate_fit.h"

#include <cmath>

namespace unstarve {

DecodeRateFit::DecodeRateFit(double half_life) : fade_(std::exp2(-1 / half_life)) {}

void DecodeRateFit::add(double bytes, double pixels, double seconds) {
  const auto take = [this](double& sum, double product) { sum = sum * fade_ + product; };
  take(bb_, bytes * bytes);
  take(bp_, bytes * pixels);
  take(pp_, pixels * pixels);
  take(bs_, bytes * seconds);
  take(ps_, pixels * seconds);
  ++count_;
}

DecodeRate DecodeRateFit::rate() const {
  // Files of one size or one ratio do not separate the two rates.
  constexpr double kApart = 1e-6;
  const double determinant = bb_ * pp_ - bp_ * bp_;
  if (determinant > kApart * bb_ * pp_) {
    const double per_byte = (bs_ * pp_ - ps_ * bp_) / determinant, per_pixel = (ps_ * bb_ - bs_ * bp_) / determinant;
    if (per_byte >= 0 && per_pixel >= 0) return {per_byte, per_pixel, 0};
  }
  // The single rate with the smaller residual.
  const bool bytes_alone = bb_ > 0 && (pp_ <= 0 || bs_ * bs_ * pp_ >= ps_ * ps_ * bb_);
  if (bytes_alone) return {bs_ / bb_, 0, 0};
  return {0, pp_ > 0 ? ps_ / pp_ : 0, 0};
}

}  // namespace unstarve
