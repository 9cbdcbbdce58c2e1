// The policies' tables and magnitudes are torchvision's, recorded in tests/golden/policies.json by make_policies.py.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/ops/policy/auto_augment_tables.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

using nlohmann::json;

const json& golden() {
  static const json all = parse_json(read_text_file("tests/golden/policies.json"));
  return all;
}

const std::map<Change, std::string> kNames = {
    {Change::kIdentity, "Identity"},     {Change::kShearX, "ShearX"},
    {Change::kShearY, "ShearY"},         {Change::kTranslateX, "TranslateX"},
    {Change::kTranslateY, "TranslateY"}, {Change::kRotate, "Rotate"},
    {Change::kBrightness, "Brightness"}, {Change::kSaturation, "Color"},
    {Change::kContrast, "Contrast"},     {Change::kSharpness, "Sharpness"},
    {Change::kPosterize, "Posterize"},   {Change::kSolarize, "Solarize"},
    {Change::kEqualize, "Equalize"},     {Change::kAutoContrast, "AutoContrast"},
    {Change::kInvert, "Invert"}};

std::set<std::string> keys(const json& space) {
  std::set<std::string> all;
  for (const auto& [name, change] : space.items()) all.insert(name);
  return all;
}

TEST_CASE("AutoAugment's pairs are torchvision's, with their probabilities and bins") {
  for (const auto& [name, policy] : {std::pair{"imagenet", &kImagenetPolicy}, std::pair{"cifar10", &kCifar10Policy},
                                     std::pair{"svhn", &kSvhnPolicy}}) {
    const json& theirs = golden()["policies"][name];
    REQUIRE(theirs.size() == policy->size());
    for (std::size_t pair = 0; pair < policy->size(); ++pair) {
      for (std::size_t part = 0; part < 2; ++part) {
        INFO(name << " pair " << pair << " part " << part);
        const AugmentPart& ours = (*policy)[pair][part];
        const json& expected = theirs[pair][part];
        CHECK(kNames.at(ours.change) == expected[0].get<std::string>());
        CHECK(ours.tenths == Approx(10 * expected[1].get<double>()));
        // Null if the change has no magnitude.
        CHECK(ours.bin == (expected[2].is_null() ? 0 : expected[2].get<int>()));
      }
    }
  }
}

TEST_CASE("magnitudes and signs of every change, policy and bin are torchvision's") {
  const json& sides = golden()["size"];
  const Size size{sides[0], sides[1]};
  std::vector<std::pair<std::string, MagnitudeSpace>> spaces = {{"AutoAugment", kAugmentSpace},
                                                                {"RandAugment", kAugmentSpace},
                                                                {"TrivialAugmentWide", kWideSpace},
                                                                {"AugMix", kMixSpace}};
  for (const char* const bins : {"2", "10", "21"}) {
    spaces.emplace_back(std::string("RandAugment of ") + bins, kAugmentSpace);
    spaces.emplace_back(std::string("TrivialAugmentWide of ") + bins, kWideSpace);
  }
  for (const auto& [name, space] : spaces) {
    const json& theirs = golden()["spaces"].at(name);
    for (const auto& [change, known_as] : kNames) {
      if (!theirs.contains(known_as)) continue;
      INFO(name << " " << known_as);
      CHECK(is_signed(change) == theirs[known_as]["signed"].get<bool>());
      const json& values = theirs[known_as]["values"];
      for (std::size_t bin = 0; bin < values.size(); ++bin) {
        const double ours = magnitude_at(change, static_cast<int>(bin), static_cast<int>(values.size()), space, size);
        CHECK(ours == Approx(values[bin].get<double>()).margin(2e-5));  // torchvision computes in float32
      }
    }
  }
}

TEST_CASE("policies draw from the same changes as torchvision's") {
  const json& spaces = golden()["spaces"];
  std::set<std::string> rand_augment, mixed, without_factors;
  for (std::uint32_t i = 0; i < kRandAugmentChanges; ++i) rand_augment.insert(kNames.at(static_cast<Change>(i)));
  for (std::size_t i = 0; i < kMixChanges.size(); ++i) {
    mixed.insert(kNames.at(kMixChanges[i]));
    if (i < kMixWithoutFactors) without_factors.insert(kNames.at(kMixChanges[i]));
  }
  CHECK(rand_augment == keys(spaces["RandAugment"]));
  CHECK(rand_augment == keys(spaces["TrivialAugmentWide"]));
  CHECK(mixed == keys(spaces["AugMix"]));
  CHECK(without_factors == keys(spaces["AugMixPartial"]));
}

}  // namespace
}  // namespace unstarve
