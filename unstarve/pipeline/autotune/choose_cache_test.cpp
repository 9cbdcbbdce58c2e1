#include "unstarve/pipeline/autotune/choose_cache.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace unstarve::autotune {
namespace {

using Catch::Matchers::Contains;

// Photographs of 110 kB and 562 kB of pixels in the page cache: decoding dominates, a crop needs half of it.
CacheProfile photographs(double samples = 1000, double memory_mb = 1000) {
  CacheProfile profile;
  profile.sample_s = 2.2e-3;
  profile.encoded = {2.19e-3, 2.2e-3, 0, 110e3};
  profile.pixels = {0.7e-3, 3.9e-3, 0.2e-3, 562e3};
  profile.samples = profile.epoch_samples = samples;
  profile.memory_bytes = memory_mb * 1e6;
  return profile;
}

// The same on a server whose reads cost 2 ms each, even in parallel.
CacheProfile remote(double samples, double memory_mb) {
  CacheProfile profile = photographs(samples, memory_mb);
  profile.sample_s += 2e-3;
  profile.encoded.miss_s += 2e-3;
  profile.pixels.miss_s += 2e-3;
  return profile;
}

// Recorded by cache_trial.cpp for 160 photographs of 500 px on a virtual machine with 2 busy cores, extrapolated to
// `samples`: crops of 224 from a warm folder, whole images resized, and crops of 48 whose reads sleep 2 ms.
CacheProfile recorded_crops(double samples) {
  return {.sample_s = 322e-6,
          .encoded = {316e-6, 322e-6, 0, 71939},
          .pixels = {85.0e-6, 966e-6, 1418e-6, 581116},
          .samples = samples,
          .epoch_samples = samples,
          .memory_bytes = 1.024e9};
}
CacheProfile recorded_evaluation(double samples) {
  return {.sample_s = 521e-6,
          .encoded = {515e-6, 521e-6, 0, 71939},
          .pixels = {18.9e-6, 514e-6, 1019e-6, 150628},
          .samples = samples,
          .epoch_samples = samples,
          .memory_bytes = 1.024e9};
}
CacheProfile recorded_slow_reads(double samples) {
  return {.sample_s = 2537e-6,
          .encoded = {256e-6, 2537e-6, 0, 57380},
          .pixels = {42.6e-6, 2635e-6, 2214e-6, 508732},
          .samples = samples,
          .epoch_samples = samples,
          .memory_bytes = 1.024e9};
}

TEST_CASE("recorded photographs: pixels if most fit, otherwise none for warm files and records for slow reads") {
  const auto tier = [](const CacheProfile& profile) { return choose_cache(profile).tier; };
  CHECK(tier(recorded_crops(160)) == CacheTier::kPixels);
  CHECK(tier(recorded_crops(2000)) == CacheTier::kPixels);  // seven of eight fit
  CHECK(tier(recorded_crops(4000)) == CacheTier::kNone);    // less than half fit: the others are decoded whole
  CHECK(tier(recorded_crops(1.28e6)) == CacheTier::kNone);
  CHECK(tier(recorded_evaluation(50'000)) ==
        CacheTier::kPixels);  // a seventh fits, and whole images are decoded anyway
  CHECK(tier(recorded_evaluation(1.28e6)) == CacheTier::kNone);
  CHECK(tier(recorded_slow_reads(160)) == CacheTier::kPixels);
  CHECK(tier(recorded_slow_reads(10'000)) == CacheTier::kEncoded);
  CHECK(tier(recorded_slow_reads(1.28e6)) == CacheTier::kNone);  // a seventieth fits
}

TEST_CASE("recorded photographs: a file replaces memory, and few epochs do not justify a cache") {
  CacheProfile profile = recorded_crops(1000);
  profile.file_bytes = 1e10;
  CHECK(choose_cache(profile).tier == CacheTier::kFile);
  profile = recorded_crops(1000);
  profile.epochs = 3;  // the first decodes whole images and writes 581 kB of each
  CHECK(choose_cache(profile).tier == CacheTier::kNone);
  profile.epochs = 90;
  CHECK(choose_cache(profile).tier == CacheTier::kPixels);
}

TEST_CASE("pixels that fit are cached if decoding dominates") {
  const CacheChoice choice = choose_cache(photographs());
  CHECK(choice.tier == CacheTier::kPixels);
  CHECK(choice.held == 1);
  CHECK(choice.gain == Approx(1.5 / 2.2));
  CHECK(choice.bytes == Approx(562e6));
  CHECK_THAT(choice.reason, Contains("2.2 ms per sample without a cache") &&
                                Contains("pixels: 700 us per hit, saves 68 %") &&
                                Contains("encoded records: 2.19 ms per hit, saves 0.45 %"));
}

TEST_CASE("no cache if few samples fit and decoding the others whole costs more than the hits save") {
  // A fifth fits: 0.2 x 0.7 ms + 0.8 x 3.9 ms.
  const CacheChoice choice = choose_cache(photographs(1000, 112.4));
  CHECK(choice.tier == CacheTier::kNone);
  CHECK_THAT(choice.reason,
             Contains("3.9 ms per miss, 112 MB hold 20 % of the samples") && Contains("does not justify"));
  CHECK(choose_cache(photographs(1'000'000)).tier == CacheTier::kNone);
}

TEST_CASE("records from a server are cached if pixels do not fit") {
  CHECK(choose_cache(remote(1000, 1000)).tier == CacheTier::kPixels);
  const CacheChoice choice = choose_cache(remote(8000, 1000));
  CHECK(choice.tier == CacheTier::kEncoded);
  CHECK(choice.held == 1);
  // A share of the records saves that share of the reads.
  const CacheChoice part = choose_cache(remote(20'000, 1000));
  CHECK(part.tier == CacheTier::kEncoded);
  CHECK(part.held == Approx(1000.0 / 2200));
  CHECK(part.gain == Approx(part.held * 2.01 / 4.2));
}

TEST_CASE("of equally good caches, records are preferred to a file, and a file to memory") {
  CacheProfile profile = photographs();
  profile.file_bytes = 1e9;
  CHECK(choose_cache(profile).tier == CacheTier::kFile);
  profile.file_bytes = 300e6;  // for half of them
  CHECK(choose_cache(profile).tier == CacheTier::kPixels);
  profile.memory_bytes = 0;  // half of them: 0.53 x 0.7 + 0.47 x 3.9 ms
  CHECK(choose_cache(profile).tier == CacheTier::kNone);
  profile = remote(1000, 1000);
  profile.pixels.hit_s = 2.1e-3;
  CHECK(choose_cache(profile).tier == CacheTier::kEncoded);
}

TEST_CASE("pixels are cached before an operation that enlarges them if more samples then fit") {
  // 50,000 images of 32 px, read and decoded in 60 us, resized to 224 px in 200 us.
  CacheProfile profile{.sample_s = 260e-6,
                       .encoded = {255e-6, 260e-6, 0, 2e3},
                       .pixels = {20e-6, 260e-6, 30e-6, 150e3},
                       .samples = 50'000,
                       .epoch_samples = 50'000,
                       .memory_bytes = 1e9};
  CHECK(choose_cache(profile).tier == CacheTier::kPixels);
  CHECK(choose_cache(profile).gain < 0.13);  // for a seventh of them
  profile.earlier = {{1, {205e-6, 260e-6, 5e-6, 3e3}}};
  const CacheChoice early = choose_cache(profile);
  CHECK(early.tier == CacheTier::kPixels);
  CHECK(early.after == 1);
  CHECK(early.held == 1);
  CHECK_THAT(early.reason, Contains("pixels after 1 operation: 205 us per hit, saves 21 %") && Contains("hold 13 %"));
  profile.memory_bytes = 10e9;
  CHECK(choose_cache(profile).after == -1);  // all fit at the best position
  profile.file_bytes = 1e9;
  profile.memory_bytes = 0;
  CHECK(choose_cache(profile).tier == CacheTier::kFile);
  CHECK(choose_cache(profile).after == 1);
  profile.earlier[0].cost = {};  // not available
  CHECK(choose_cache(profile).after == -1);
}

TEST_CASE("a single epoch needs no cache, two epochs only if the second one saves enough") {
  CacheProfile profile = photographs();
  profile.epochs = 1;
  CHECK(choose_cache(profile).tier == CacheTier::kNone);
  CHECK(choose_cache(profile).reason == "no sample is used twice");
  profile.epochs = 2;  // (3.9 + 0.2 + 0.7) / 2 is more than 2.2
  CHECK(choose_cache(profile).tier == CacheTier::kNone);
  profile.epochs = 10;
  const CacheChoice ten = choose_cache(profile);
  CHECK(ten.tier == CacheTier::kPixels);
  CHECK(ten.gain == Approx((2.2 - (4.1 + 9 * 0.7) / 10) / 2.2));
  CHECK_THAT(ten.reason, Contains("Repeated uses of samples in 10 epochs: 90 %"));
}

TEST_CASE("ranks that draw a part of the samples repeat few of them at first") {
  CHECK(repeated_share(1000, 1000, 2) == 0.5);
  CHECK(repeated_share(1000, 1000, 0) == 1);
  CHECK(repeated_share(1000, 125, 2) == Approx(0.0625));
  CHECK(repeated_share(1000, 125, 100) > 0.9);
  CHECK(repeated_share(1000, 3000, 1) == Approx(2.0 / 3));  // repeat: 3
  CHECK(repeated_share(0, 0, 3) == 0);
}

TEST_CASE("unavailable caches are not chosen, and no measurement means no cache") {
  CacheProfile profile = photographs();
  profile.pixels = {};
  CHECK(choose_cache(profile).tier == CacheTier::kNone);
  profile = remote(100, 1000);
  profile.pixels = {};
  CHECK(choose_cache(profile).tier == CacheTier::kEncoded);
  CHECK(choose_cache({}).tier == CacheTier::kNone);
  CHECK_FALSE(choose_cache({}).reason.empty());
  profile.memory_bytes = 0;
  CHECK_THAT(choose_cache(profile).reason, Contains("No cache fits the budgets"));
}

TEST_CASE("for any measurement, the choice saves at least a tenth and fits its budget") {
  for (const double hit : {1e-5, 1e-4, 1e-3})
    for (const double read : {1e-6, 1e-4, 1e-2})
      for (const double samples : {1.0, 100.0, 1e4, 1e7})
        for (const double memory : {0.0, 1e6, 1e9})
          for (const double file : {0.0, 1e8, 1e10})
            for (const int epochs : {0, 1, 3, 90}) {
              const CacheProfile profile{.sample_s = 1e-3 + read,
                                         .encoded = {1e-3, 1e-3 + read, 0, 1e5},
                                         .pixels = {hit, 1.5e-3 + read, 1e-4, 5e5},
                                         .samples = samples,
                                         .epoch_samples = samples,
                                         .epochs = epochs,
                                         .memory_bytes = memory,
                                         .file_bytes = file};
              const CacheChoice choice = choose_cache(profile);
              CHECK_FALSE(choice.reason.empty());
              if (choice.tier == CacheTier::kNone) continue;
              CHECK(choice.gain >= kMinGain);
              CHECK(choice.gain <= 1);
              CHECK(choice.bytes <= (choice.tier == CacheTier::kFile ? file : memory));
              CHECK(choice.held <= 1);
              CHECK(choice.hits <= choice.held);
            }
}

}  // namespace
}  // namespace unstarve::autotune
