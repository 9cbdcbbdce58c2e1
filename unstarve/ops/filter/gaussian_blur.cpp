// Gaussian blur: torchvision's GaussianBlur.

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/filter/blur_rows.h"
#include "unstarve/ops/filter/filter_kernels.h"
#include "unstarve/ops/filter/filters.h"

namespace unstarve {
namespace {

class GaussianBlur final : public SameSizeOperation {
 public:
  GaussianBlur(std::pair<double, double> sigma, int radius, double probability)
      : SameSizeOperation({probability, sigma.first < sigma.second, true}), sigma_(sigma), radius_(radius) {}

  [[nodiscard]] std::uint64_t scratch_bytes(Size input) const override {
    return BlurRows::bytes(static_cast<std::size_t>(input.width) * kChannels, radius_of(sigma_.second));
  }

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    const double sigma = random.uniform(sigma_.first, sigma_.second);
    gaussian_blur(frame, sigma, radius_of(sigma), scratch);
  }
  [[nodiscard]] int radius_of(double sigma) const {
    return radius_ > 0 ? radius_ : std::min(static_cast<int>(std::ceil(3 * sigma)), kMaxBlurRadius);
  }

  std::pair<double, double> sigma_;
  int radius_;  // 0: three sigma
};

// Weights that add up to 65536; [0] is that of the centre.
using Weights = std::array<std::uint32_t, kMaxBlurRadius + 1>;

Weights weights_of(double sigma, int radius) {
  std::array<double, kMaxBlurRadius + 1> exact{};
  double sum = 0;
  for (int i = 0; i <= radius; ++i) {
    exact[static_cast<std::size_t>(i)] = std::exp(-0.5 * (i / sigma) * (i / sigma));
    sum += exact[static_cast<std::size_t>(i)] * (i == 0 ? 1 : 2);
  }
  Weights weights{};
  std::uint32_t given = 0;
  for (std::size_t i = static_cast<std::size_t>(radius); i > 0; --i) {
    weights[i] = static_cast<std::uint32_t>(std::lround(65536 * exact[i] / sum));
    given += 2 * weights[i];
  }
  weights[0] = 65536 - given;
  return weights;
}

}  // namespace

void gaussian_blur(Frame& frame, double sigma, int radius, Scratch& scratch) {
  const Weights weights = weights_of(sigma, radius);
  if (Recorder* recorder = scratch.recorder()) {
    return recorder->blur(frame, std::span(weights).first(static_cast<std::size_t>(radius) + 1));
  }
  const Image& in = make_pixels(frame, scratch);
  const int width = frame.width, height = frame.height;
  const std::size_t bytes = in.row_bytes();
  const auto margin = static_cast<std::size_t>(radius) * kChannels;
  BlurRows& rows = scratch.part<BlurRows>();
  rows.reserve(bytes, radius);

  // Rows blurred along x, in 1/256, as many as one output row needs; each is computed once.
  const auto blurred_row = [&](int y) {
    std::uint16_t* const to = rows.blurred(y % (2 * radius + 1));
    std::uint8_t* const wide = rows.wide();
    std::copy_n(in.row(y), bytes, wide + margin);
    for (int x = 1; x <= radius; ++x) {
      for (int c = 0; c < kChannels; ++c) {
        wide[margin - static_cast<std::size_t>(x * kChannels - c)] =
            in.row(y)[mirrored_index(-x, width) * kChannels + c];
        wide[margin + bytes + static_cast<std::size_t>((x - 1) * kChannels + c)] =
            in.row(y)[mirrored_index(width - 1 + x, width) * kChannels + c];
      }
    }
    std::uint32_t* const sums = rows.sums();
    for (std::size_t i = 0; i < bytes; ++i) sums[i] = weights[0] * wide[margin + i] + 128;
    for (std::size_t k = 1; k <= static_cast<std::size_t>(radius); ++k) {
      add_weighted(wide + margin - k * kChannels, wide + margin + k * kChannels, weights[k], bytes, sums);
    }
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint16_t>(sums[i] >> 8);
  };

  Image& out = scratch.other_than(frame);
  out.resize(frame.size());
  int made = 0;
  for (int y = 0; y < height; ++y) {
    for (const int until = std::min(y + radius, height - 1); made <= until; ++made) blurred_row(made);
    const auto row_at = [&](int at) { return rows.blurred(mirrored_index(at, height) % (2 * radius + 1)); };
    std::uint32_t* const sums = rows.sums();
    const std::uint16_t* const middle = row_at(y);
    // 255 * 256 * 65536 and a half still fit into 32 bits.
    for (std::size_t i = 0; i < bytes; ++i) sums[i] = weights[0] * middle[i] + (1u << 23);
    for (int k = 1; k <= radius; ++k) {
      add_weighted(row_at(y - k), row_at(y + k), weights[static_cast<std::size_t>(k)], bytes, sums);
    }
    std::uint8_t* const to = out.row(y);
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(sums[i] >> 24);
  }
  frame = Frame(out.view());
}

std::unique_ptr<Operation> make_gaussian_blur(const OpParams& params) {
  const Parameters p("gaussian_blur", params, {"sigma", "radius", "probability"});
  return std::make_unique<GaussianBlur>(p.interval("sigma", {0.1, 2}, 0.01, 20),
                                        p.integer("radius", 0, 0, kMaxBlurRadius), p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
