#include "unstarve/pipeline/device/rate_split.h"

#include <catch2/catch.hpp>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

constexpr DecodeFile kFile{100'000, 187'500, 187'500, true};

// Adds files and returns the share that goes to the device.
double share_of(RateSplit& split, int files, const DecodeFile& file = kFile) {
  Random random(61, 0, 0, 0);
  int there = 0;
  for (int i = 0; i < files; ++i) {
    split.add(file);
    const double drawn = random.uniform(), tied = random.uniform();
    if (split.to_device(file, drawn, tied)) ++there;
  }
  return static_cast<double>(there) / files;
}

// Measures files of kFile's size, ten per batch of the device.
void measure(RateSplit& split, double host_s, double device_s) {
  for (int i = 0; i < 64; ++i) {
    split.host_took(100'000, 187'500, host_s);
    split.device_took(1'000'000, 1'875'000, 10 * device_s);
  }
}

TEST_CASE("a fixed share goes to the device until both rates are measured", "[decode]") {
  RateSplit split;
  CHECK(share_of(split, 2000) == Approx(0.25).margin(0.03));
  for (int i = 0; i < 64; ++i) split.host_took(100'000, 187'500, 1e-3);
  CHECK(share_of(split, 2000) == Approx(0.25).margin(0.03));
  CHECK(split.explain() == "a share of 0.25 until both rates are measured");
}

TEST_CASE("equal files are split in the ratio of the rates, with more host threads to the host", "[decode]") {
  RateSplit split;
  measure(split, 1e-3, 1e-3);
  (void)share_of(split, 600);
  CHECK(share_of(split, 4000) == Approx(0.5).margin(0.04));
  split.set_host_threads(3);
  (void)share_of(split, 600);
  CHECK(share_of(split, 4000) == Approx(0.25).margin(0.04));
  CHECK_THAT(split.explain(), Contains("latest split: 128 of 512 files on the device"));
}

TEST_CASE("files that the device does not support are not split", "[decode]") {
  RateSplit split;
  measure(split, 1e-3, 1e-3);
  DecodeFile unsupported = kFile;
  unsupported.device_can = false;
  for (int i = 0; i < 600; ++i) split.add(unsupported);
  CHECK_THAT(split.explain(), Contains("latest split: 0 of 512 files on the device"));
}

}  // namespace
}  // namespace unstarve
