// A blend of the image with several chains of random changes: AugMix (Hendrycks et al., "AugMix: a simple
// data processing method to improve robustness and uncertainty", 2019), as torchvision has it.
//
// Blended values are truncated, as in torchvision. Weights are in 1/65536 and add up to exactly one, so that a value
// that no chain changes stays.

#include <array>
#include <cmath>

#include "unstarve/core/random.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/geometry/warp.h"
#include "unstarve/ops/policy/magnitudes.h"
#include "unstarve/ops/policy/mix_images.h"

namespace unstarve {
namespace {

constexpr int kBins = 10;  // the severity limits them to the first ones
constexpr int kMaxChains = 16;
constexpr int kMaxDrawnDepth = 3;

// The symmetric Dirichlet distribution: numbers in 0..1 that add up to one.
void draw_weights(double alpha, Random& random, double* weights, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += weights[i] = draw_gamma(alpha, random);
  // All can underflow for a tiny alpha; in the limit one of them is 1.
  if (sum <= 0) sum = weights[random.below(static_cast<std::uint32_t>(count))] = 1;
  for (int i = 0; i < count; ++i) weights[i] /= sum;
}

// The parameters of the operation.
struct AugMixSettings {
  int severity, chains, depth;
  double alpha;
  bool all;
  Warping warping;
};

class AugMix final : public SameSizeOperation {
 public:
  explicit AugMix(const AugMixSettings& settings)
      : SameSizeOperation({.draws = true, .writes_pixels = true}), settings_(settings) {}

  [[nodiscard]] std::uint64_t scratch_bytes(Size input) const override { return MixImages::bytes(input); }

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    if (Recorder* recorder = scratch.recorder()) {
      recorder->save(frame);
      const std::uint32_t rest = each_chain(
          random, scratch, [&] { return recorder->saved(); },
          [&](Frame& changed, std::uint32_t weight, bool first) { recorder->add_weighted(changed, weight, first); });
      Frame original = recorder->saved();
      recorder->add_weighted(original, rest, false);
      return recorder->take_sums(frame);
    }
    MixImages& mix = scratch.part<MixImages>();
    mix.original.resize(frame.size());
    copy_window(frame, 0, frame.height,
                {mix.original.data(), static_cast<std::ptrdiff_t>(mix.original.row_bytes()), 1});
    const Frame original(mix.original.view());
    const std::size_t row_values = mix.original.row_bytes();
    const auto rows = static_cast<std::size_t>(frame.height);
    mix.row.resize({frame.width, 1});
    mix.sums.reserve_discard(rows * row_values * sizeof(std::uint32_t));
    auto* const sums = reinterpret_cast<std::uint32_t*>(mix.sums.data());

    const auto add = [&](const Frame& changed, std::uint32_t weight, bool first) {
      for (std::size_t y = 0; y < rows; ++y) {
        copy_window(changed, static_cast<int>(y), 1, {mix.row.data(), static_cast<std::ptrdiff_t>(row_values), 1});
        add_weighted(mix.row.data(), weight, first, row_values, sums + y * row_values);
      }
    };
    const std::uint32_t rest = each_chain(
        random, scratch, [&] { return original; }, add);
    add_weighted(mix.original.data(), rest, false, rows * row_values, sums);
    Image& out = scratch.other_than(original);
    out.resize(frame.size());
    take_sums(sums, rows * row_values, out.data());
    frame = Frame(out.view());
  }

  // For each chain: takes an image from begin(), changes it and calls add(image, weight, first). Returns the weight
  // left for the original.
  template <class Begin, class Add>
  std::uint32_t each_chain(Random& random, Scratch& scratch, const Begin& begin, const Add& add) const {
    double parts[2], shares[kMaxChains];
    draw_weights(settings_.alpha, random, parts, 2);
    draw_weights(settings_.alpha, random, shares, settings_.chains);
    std::uint32_t rest = 1U << kMixBits;
    for (int chain = 0; chain < settings_.chains; ++chain) {
      const auto weight = static_cast<std::uint32_t>(std::ldexp(parts[1] * shares[chain], kMixBits));
      rest -= weight;
      Frame changed = begin();
      apply_chain(changed, random, scratch);
      add(changed, weight, chain == 0);
    }
    return rest;
  }

  void apply_chain(Frame& frame, Random& random, Scratch& scratch) const {
    const int depth = settings_.depth > 0 ? settings_.depth : 1 + static_cast<int>(random.below(kMaxDrawnDepth));
    for (int i = 0; i < depth; ++i) {
      const Change change = kMixChanges[random.below(settings_.all ? static_cast<std::uint32_t>(kMixChanges.size())
                                                                   : kMixWithoutFactors)];
      const auto bin = static_cast<int>(random.below(static_cast<std::uint32_t>(settings_.severity)));
      const double magnitude = magnitude_at(change, bin, kBins, kMixSpace, frame.size());
      change_by(frame, change, with_sign(change, magnitude, random), settings_.warping, scratch);
    }
  }

  AugMixSettings settings_;
};

}  // namespace

std::unique_ptr<Operation> make_aug_mix(const OpParams& params) {
  const Parameters p("aug_mix", params,
                     {"severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill"});
  return std::make_unique<AugMix>(
      AugMixSettings{p.integer("severity", 3, 1, kBins), p.integer("mixture_width", 3, 1, kMaxChains),
                     p.integer("chain_depth", -1, -1, 100), p.number("alpha", 1, 0.01, 1000), p.flag("all_ops", true),
                     read_warping(p, Interpolation::kBilinear)});
}

}  // namespace unstarve
