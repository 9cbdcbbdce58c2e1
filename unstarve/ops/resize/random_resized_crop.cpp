// A part of random area and aspect ratio, resized to one size: torchvision's RandomResizedCrop
// (Szegedy et al., "Going deeper with convolutions", 2014), with the same trials and the same fallback.

#include <algorithm>
#include <cmath>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/resize/resize.h"

namespace unstarve {
namespace {

constexpr int kCropTrials = 10;  // torchvision's number

class RandomResizedCrop final : public Operation {
 public:
  RandomResizedCrop(Size size, std::pair<double, double> scale, std::pair<double, double> ratio, Resampling resampling)
      : size_(size), scale_(scale), ratio_(ratio), resampling_(resampling) {}

  Rect select(Size input, Random& random) const override {
    const double area = static_cast<double>(input.width) * input.height;
    const double log_low = std::log(ratio_.first), log_high = std::log(ratio_.second);
    for (int trial = 0; trial < kCropTrials; ++trial) {
      const double target = area * random.uniform(scale_.first, scale_.second);
      const double ratio = std::exp(random.uniform(log_low, log_high));
      // To nearest even, as Python's round().
      const double width = std::nearbyint(std::sqrt(target * ratio));
      const double height = std::nearbyint(std::sqrt(target / ratio));
      if (width > 0 && width <= input.width && height > 0 && height <= input.height) {
        const int w = static_cast<int>(width), h = static_cast<int>(height);
        const auto y = static_cast<int>(random.below(static_cast<std::uint32_t>(input.height - h + 1)));
        const auto x = static_cast<int>(random.below(static_cast<std::uint32_t>(input.width - w + 1)));
        return {x, y, w, h};
      }
    }
    return central(input);
  }

  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size) const override { return size_; }
  bool fixed_output() const override { return true; }
  bool resamples() const override { return true; }
  std::uint64_t scratch_bytes(Size input) const override { return resize_scratch_bytes(input, size_, resampling_); }
  // Since it only resizes what select() returns, a decode step may do it row by row, instead of apply().
  std::optional<ResizeTo> only_resizes(Size) const override { return ResizeTo{size_, resampling_}; }
  void apply(Frame& frame, Random&, Scratch& scratch) const override { resize(frame, size_, resampling_, scratch); }

 private:
  // The largest central part of an allowed aspect ratio.
  Rect central(Size input) const {
    const double ratio = static_cast<double>(input.width) / input.height;
    int w = input.width, h = input.height;
    if (ratio < ratio_.first) {
      h = std::clamp(static_cast<int>(std::nearbyint(w / ratio_.first)), 1, input.height);
    } else if (ratio > ratio_.second) {
      w = std::clamp(static_cast<int>(std::nearbyint(h * ratio_.second)), 1, input.width);
    }
    return {(input.width - w) / 2, (input.height - h) / 2, w, h};
  }

  Size size_;
  std::pair<double, double> scale_;
  std::pair<double, double> ratio_;
  Resampling resampling_;
};

}  // namespace

std::unique_ptr<Operation> make_random_resized_crop(const OpParams& params) {
  const Parameters p("random_resized_crop", params, {"size", "scale", "ratio", "interpolation", "antialias"});
  return std::make_unique<RandomResizedCrop>(p.size("size"), p.range("scale", {0.08, 1.0}, 1.0),
                                             p.range("ratio", {3.0 / 4.0, 4.0 / 3.0}, 1000.0), read_resampling(p));
}

}  // namespace unstarve
