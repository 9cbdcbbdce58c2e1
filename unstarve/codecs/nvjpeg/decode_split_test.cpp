#include "unstarve/codecs/nvjpeg/decode_split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

std::vector<DecodeFile> alike(std::size_t count) { return std::vector<DecodeFile>(count, {100'000, 0, 0, true}); }

TEST_CASE("two equal decoders share a batch", "[nvjpeg]") {
  const auto files = alike(10);
  const DecodeRate rate{1e-8, 0, 0};  // 1 ms a file
  const DecodeSplit split = split_decode(files, rate, rate);
  CHECK(split.on_device == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(split.host_s == Approx(0.005));
  CHECK(split.device_s == Approx(0.005));
  CHECK(explain(split, files) ==
        "5 of 10 files on the device (0.5 of 1.0 MB): host 5.0 ms, device 5.0 ms; the host alone 10.0 ms");
}

TEST_CASE("a device with a high fixed cost gets no files of a small batch", "[nvjpeg]") {
  const DecodeRate host{1e-8, 0, 0}, device{1e-9, 0, 0.005};
  CHECK(split_decode(alike(4), host, device).on_device.empty());
  CHECK(split_decode(alike(4), host, device).device_s == 0);
  CHECK(split_decode(alike(100), host, device).on_device.size() == 87);  // 13.7 ms on the device, 13 ms on the host
  CHECK(split_decode({}, host, device).on_device.empty());
}

TEST_CASE("files that the device cannot decode stay on the host, and files the host would crop move last", "[nvjpeg]") {
  std::vector<DecodeFile> files = {{100'000, 1'000'000, 1'000'000, true},
                                   {100'000, 1'000'000, 1'000'000, false},
                                   {100'000, 50'000, 1'000'000, true},
                                   {100'000, 1'000'000, 1'000'000, true}};
  const DecodeRate host{0, 1e-8, 0}, device{0, 5e-9, 0};
  const DecodeSplit split = split_decode(files, host, device);
  CHECK(split.on_device == std::vector<std::size_t>{0, 3});
  CHECK(split.host_s == Approx(0.0105));
  CHECK(split.device_s == Approx(0.01));
  for (DecodeFile& file : files) file.device_can = false;
  CHECK(split_decode(files, host, device).on_device.empty());
}

TEST_CASE("the split is within one file's time of the optimum", "[nvjpeg]") {
  Random random(1, 0, 0, 0);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<DecodeFile> files(1 + random.below(10));
    for (DecodeFile& file : files) {
      file.bytes = 1000 + random.below(500'000);
      file.device_pixels = 1000 + random.below(1'000'000);
      file.host_pixels = random.below(static_cast<std::uint32_t>(file.device_pixels));
      file.device_can = random.below(4) > 0;
    }
    const DecodeRate host{random.uniform(0, 1e-8), random.uniform(0, 1e-8), random.uniform(0, 1e-4)};
    const DecodeRate device{random.uniform(0, 1e-8), random.uniform(0, 1e-8), random.uniform(0, 1e-3)};
    const auto cost = [](const DecodeRate& rate, std::size_t bytes, std::int64_t pixels) {
      return rate.s_per_byte * static_cast<double>(bytes) + rate.s_per_pixel * static_cast<double>(pixels);
    };
    double best = std::numeric_limits<double>::infinity(), largest = 0;
    for (const DecodeFile& file : files)
      largest =
          std::max({largest, cost(host, file.bytes, file.host_pixels), cost(device, file.bytes, file.device_pixels)});
    for (unsigned there = 0; there < 1U << files.size(); ++there) {
      double on_host = 0, on_device = 0;
      bool possible = true;
      for (std::size_t i = 0; i < files.size(); ++i) {
        const bool goes = there >> i & 1;
        possible = possible && (!goes || files[i].device_can);
        (goes ? on_device : on_host) += goes ? cost(device, files[i].bytes, files[i].device_pixels)
                                             : cost(host, files[i].bytes, files[i].host_pixels);
      }
      if (there != 0) on_device += device.s_per_batch;
      if (there != (1U << files.size()) - 1) on_host += host.s_per_batch;
      if (possible) best = std::min(best, std::max(on_host, on_device));
    }
    const DecodeSplit split = split_decode(files, host, device);
    const double took = std::max(split.host_s, split.device_s);
    CHECK(took >= best * (1 - 1e-9));
    CHECK(took <= best + largest + 1e-12);
    CHECK(took <= split.host_alone_s * (1 + 1e-9));
    for (const std::size_t i : split.on_device) CHECK(files[i].device_can);
  }
}

TEST_CASE("an invalid rate is rejected", "[nvjpeg]") {
  const auto files = alike(2);
  CHECK_THROWS_WITH(split_decode(files, {-1, 0, 0}, {}), "split decoding: the host's rate is -1 s; expected 0 or more");
  CHECK_THROWS_WITH(split_decode(files, {}, {0, std::nan(""), 0}),
                    "split decoding: the device's rate is nan s; expected 0 or more");
}

}  // namespace
}  // namespace unstarve
