// Policies draw each of their changes with the right probability.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "unstarve/ops/policy/auto_augment_tables.h"
#include "unstarve/ops/testing/draws.h"

namespace unstarve {
namespace {

using testing::as_often;
using testing::made_of;
using testing::noise;
using testing::Pixels;
using testing::shown;

// The possible outputs of a policy for one image, with their probabilities.
using Outcomes = std::map<std::string, double>;

struct Magnitude {
  int bin, bins;
  const MagnitudeSpace& space;
};

struct PolicyImage {
  Pixels pixels = noise({16, 16});
  Scratch scratch;
  Rgb fill{};

  [[nodiscard]] Frame frame() const { return Frame(pixels.view); }
  // Adds the images of a change by one bin, with both signs if it is signed, `chance` in all; `more` follows each.
  void each(const Frame& from, Change change, const Magnitude& by, double chance,
            const std::function<void(const std::string&, double)>& add) {
    const double magnitude = magnitude_at(change, by.bin, by.bins, by.space, from.size());
    for (const double sign : {1.0, -1.0}) {
      if (sign < 0 && !is_signed(change)) continue;
      Frame changed = from;
      change_by(changed, change, sign * magnitude, {Interpolation::kNearest, fill}, scratch);
      add(shown(changed), is_signed(change) ? chance / 2 : chance);
    }
  }
  void check(const OpSpec& spec, const Outcomes& outcomes) {
    const auto operation = make_operation(spec);
    std::map<std::string, std::size_t> seen;
    constexpr std::size_t kSamples = 60'000;
    for (std::uint64_t sample = 0; sample < kSamples; ++sample)
      ++seen[made_of(*operation, pixels.view, sample, scratch)];
    double sum = 0;
    for (const auto& [image, chance] : outcomes) {
      sum += chance;
      if (!as_often(seen[image], kSamples, std::min(chance, 1.0))) {
        INFO("seen " << seen[image] << " times; expected " << chance * kSamples);
        FAIL_CHECK("an outcome is too rare or too frequent");
      }
    }
    CHECK(sum == Approx(1));
    for (const auto& [image, times] : seen) REQUIRE(outcomes.contains(image));
  }
};

TEST_CASE("rand_augment and trivial_augment draw changes, magnitudes and signs uniformly", "[ops]") {
  PolicyImage image;
  Outcomes rand, trivial;
  for (std::uint32_t i = 0; i < kRandAugmentChanges; ++i) {
    const auto change = static_cast<Change>(i);
    image.each(image.frame(), change, {9, 31, kAugmentSpace}, 1.0 / kRandAugmentChanges,
               [&](const std::string& to, double chance) { rand[to] += chance; });
    for (int bin = 0; bin < 31; ++bin)
      image.each(image.frame(), change, {bin, 31, kWideSpace}, 1.0 / kRandAugmentChanges / 31,
                 [&](const std::string& to, double chance) { trivial[to] += chance; });
  }
  image.check({"rand_augment", {{"changes", {1}}}}, rand);
  image.check({"trivial_augment", {}}, trivial);
}

TEST_CASE("policies accept a number of magnitude bins and a fill colour", "[ops]") {
  PolicyImage image;
  image.fill = {9, 130, 250};
  Outcomes rand, trivial;
  for (std::uint32_t i = 0; i < kRandAugmentChanges; ++i) {
    const auto change = static_cast<Change>(i);
    image.each(image.frame(), change, {40, 50, kAugmentSpace}, 1.0 / kRandAugmentChanges,
               [&](const std::string& to, double chance) { rand[to] += chance; });
    for (int bin = 0; bin < 4; ++bin)
      image.each(image.frame(), change, {bin, 4, kWideSpace}, 1.0 / kRandAugmentChanges / 4,
                 [&](const std::string& to, double chance) { trivial[to] += chance; });
  }
  const OpValue colour = {9, 130, 250};
  image.check({"rand_augment", {{"changes", {1}}, {"magnitude", {40}}, {"num_magnitude_bins", {50}}, {"fill", colour}}},
              rand);
  image.check({"trivial_augment", {{"num_magnitude_bins", {4}}, {"fill", colour}}}, trivial);
}

TEST_CASE("auto_augment draws pairs uniformly and each change with the probability of its table", "[ops]") {
  PolicyImage image;
  for (const auto& [name, policy] :
       {std::pair{"auto_augment_imagenet", &kImagenetPolicy}, std::pair{"auto_augment_cifar10", &kCifar10Policy},
        std::pair{"auto_augment_svhn", &kSvhnPolicy}}) {
    INFO(name);
    Outcomes outcomes;
    // Bytes back to pixels.
    const auto part = [&](const std::string& from, const AugmentPart& by, double chance, const auto& add) {
      if (by.tenths < 10) add(from, chance * (10 - by.tenths) / 10);
      const PixelView& all = image.pixels.view;
      const Frame frame(PixelView{reinterpret_cast<const std::uint8_t*>(from.data()), all.width, all.height,
                                  std::ptrdiff_t{all.width} * kChannels, kChannels, 1});
      if (by.tenths > 0) image.each(frame, by.change, {by.bin, 10, kAugmentSpace}, chance * by.tenths / 10, add);
    };
    for (const auto& pair : *policy)
      part(shown(image.frame()), pair[0], 1.0 / 25, [&](const std::string& between, double chance) {
        part(between, pair[1], chance, [&](const std::string& to, double in_all) { outcomes[to] += in_all; });
      });
    image.check({name, {}}, outcomes);
  }
}

}  // namespace
}  // namespace unstarve
