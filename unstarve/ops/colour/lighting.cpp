// Random lighting along the principal components of ImageNet's pixels, AlexNet's colour augmentation (Krizhevsky,
// Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", 2012, section 4.1).

#include <algorithm>
#include <cmath>

#include "unstarve/core/random.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {
namespace {

// Eigenvalues and eigenvectors of ImageNet's RGB values in 0..1, as in public training scripts.
constexpr std::array<double, kChannels> kValues = {0.2175, 0.0188, 0.0045};
constexpr double kVectors[kChannels][kChannels] = {
    {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};

}  // namespace

void add_colour(Frame& frame, std::array<double, kChannels> more, Scratch& scratch) {
  PointTable table;
  for (std::size_t c = 0; c < kChannels; ++c) {
    const long by = std::lround(std::clamp(more[c], -255.0, 255.0));
    for (long value = 0; value < 256; ++value) {
      table.of[c][static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(std::clamp(value + by, 0L, 255L));
    }
  }
  chain_of(frame, scratch).add_table(table);
}

std::unique_ptr<Operation> make_lighting(const OpParams& params) {
  const Parameters p("lighting", params, {"std", "probability"});
  const double deviation = p.number("std", 0.1, 0, 10);
  return change_operation({.probability = p.number("probability", 1, 0, 1), .draws = true},
                          [deviation](Frame& frame, Random& random, Scratch& scratch) {
                            std::array<double, kChannels> more{};
                            for (std::size_t i = 0; i < kChannels; ++i) {
                              const double amount = 255 * deviation * draw_normal(random) * kValues[i];
                              for (std::size_t c = 0; c < kChannels; ++c) more[c] += amount * kVectors[c][i];
                            }
                            add_colour(frame, more, scratch);
                          });
}

}  // namespace unstarve
