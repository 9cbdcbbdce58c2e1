#include "unstarve/pipeline/device/decode_balance.h"

#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

constexpr std::size_t kSampleBytes = 3 * 224 * 224;

ImageHeader photograph(Size size = {500, 375}) {
  ImageHeader header;
  header.encoding = Encoding::kJpeg;
  header.size = size;
  header.jpeg = JpegKind::kBaseline;
  return header;
}

std::set<std::uint64_t> chosen(DecodeBalance& balance, std::uint32_t epoch, std::uint64_t first, std::uint64_t end) {
  std::set<std::uint64_t> there;
  for (std::uint64_t id = first; id < end; ++id)
    if (balance.to_device(epoch, id, {photograph(), 100'000, 187'500, kSampleBytes})) there.insert(id);
  return there;
}

TEST_CASE("a share selects the same files in every run", "[decode]") {
  DecodeBalance one(NvjpegBackend::kHybrid, 7, 0.3), other(NvjpegBackend::kHybrid, 7, 0.3);
  const auto there = chosen(one, 2, 0, 4000);
  CHECK(there.size() == Approx(1200).margin(120));
  auto parts = chosen(other, 2, 2000, 4000);
  parts.merge(chosen(other, 2, 0, 2000));
  CHECK(parts == there);
  CHECK(chosen(one, 3, 0, 4000) != there);
  DecodeBalance seeded(NvjpegBackend::kHybrid, 8, 0.3);
  CHECK(chosen(seeded, 2, 0, 4000) != there);
  // Measurements do not change the selection.
  other.device_took(std::vector<FileExtent>(3, {100'000, 375, 500}), 9);
  CHECK(chosen(other, 2, 0, 4000) == there);
  CHECK_THAT(one.explain(), Contains("decode      a share of 0.3 of the supported files on the device"));
}

TEST_CASE("the selection does not depend on what the first operation of a sample draws", "[decode]") {
  DecodeBalance balance(NvjpegBackend::kHybrid, 7, 0.5);
  const auto there = chosen(balance, 2, 0, 4000);
  int alike = 0;
  for (std::uint64_t id = 0; id < 4000; ++id) alike += (Random(7, 2, id, 0).uniform() < 0.5) == there.contains(id);
  CHECK(alike == Approx(2000).margin(150));
}

TEST_CASE("a share of 0 selects no file, 1 selects all, and other numbers are rejected", "[decode]") {
  DecodeBalance none(NvjpegBackend::kHybrid, 7, 0), all(NvjpegBackend::kHybrid, 7, 1);
  CHECK(chosen(none, 0, 0, 500).empty());
  CHECK(chosen(all, 0, 0, 500).size() == 500);
  for (const double wrong : {-0.1, 1.01, std::nan("")})
    CHECK_THROWS_WITH(DecodeBalance(NvjpegBackend::kHybrid, 7, wrong), Contains("expected 0 to 1"));
}

TEST_CASE("the spec's device selects decoding, backend and share", "[decode]") {
  PipelineSpec spec;
  CHECK(make_decode_balance(spec) == nullptr);
  spec.order.seed = 7;
  spec.device = {"cuda", OperationsOn::kDevice, DecodeOn::kGpuHybrid, 0.3};
  const auto balance = make_decode_balance(spec);
  REQUIRE(balance != nullptr);
  CHECK(balance->backend() == NvjpegBackend::kGpuHybrid);
  DecodeBalance same(NvjpegBackend::kHybrid, 7, 0.3);
  CHECK(chosen(*balance, 2, 0, 500) == chosen(same, 2, 0, 500));
  spec.device.decode = DecodeOn::kHybrid;
  CHECK(make_decode_balance(spec)->backend() == NvjpegBackend::kHybrid);
  spec.device.decode = DecodeOn::kHardware;
  spec.device.decode_share.reset();
  CHECK(make_decode_balance(spec)->backend() == NvjpegBackend::kHardware);
  CHECK_THAT(make_decode_balance(spec)->explain(), Contains("by measured decoding rates"));
}

TEST_CASE("unsupported files stay on the host, and explain() lists the reasons", "[decode]") {
  DecodeBalance all(NvjpegBackend::kHardware, 7, 1);
  const auto goes = [&](ImageHeader header, std::size_t bytes) {
    return all.to_device(0, 1, {header, bytes, 1000, kSampleBytes});
  };
  CHECK(goes(photograph(), kSampleBytes));
  CHECK_FALSE(goes(photograph(), kSampleBytes + 1));
  CHECK(goes(photograph({8 * 224, 224}), 5000));
  CHECK_FALSE(goes(photograph({8 * 224 + 1, 224}), 5000));
  ImageHeader turned = photograph(), progressive = photograph(), png = photograph();
  turned.orientation = 6;
  progressive.jpeg = JpegKind::kProgressive;
  png.encoding = Encoding::kPng;
  png.jpeg = JpegKind::kNone;
  CHECK_FALSE(goes(turned, 5000));
  CHECK_FALSE(goes(turned, 5000));
  CHECK_FALSE(goes(progressive, 5000));
  CHECK_FALSE(goes(png, 5000));
  CHECK(DecodeBalance(NvjpegBackend::kHybrid, 7, 1).to_device(0, 1, {progressive, 5000, 1000, kSampleBytes}));
  all.count_rejected("a.jpg", "BAD_JPEG");
  CHECK(all.explain() ==
        "decode      a share of 1 of the supported files on the device, selected by sample\n"
        "decode      2 of 8 files went to the device; 6 not supported: EXIF orientation 6 (2); files larger than a "
        "sample "
        "of the batch (1); images of more than 8 times the bytes of a sample (1); png, not JPEG (1); several scans, "
        "which "
        "JPEG engines do not support (1)\n"
        "decode      1 rejected by nvJPEG and decoded by the host; the latest: a.jpg: BAD_JPEG\n");
}

// Records decoding times of files of 100 kB and 187,500 pixels.
void measure(DecodeBalance& balance, double host_s, double device_s) {
  for (int i = 0; i < 64; ++i) {
    balance.host_took(100'000, 187'500, host_s);
    balance.device_took(std::vector<FileExtent>(10, {100'000, 375, 500}), 10 * device_s);
  }
}

TEST_CASE("the split by rates minimises the time until both decoders finish", "[decode]") {
  DecodeBalance balance(NvjpegBackend::kHybrid, 7, {});
  balance.set_host_threads(4);
  CHECK(chosen(balance, 0, 0, 1000).size() == Approx(250).margin(50));  // no measurements yet
  CHECK_THAT(balance.explain(),
             Contains("decode      files split between device and host by measured decoding rates\n") &&
                 Contains("a share of 0.25 until both rates are measured"));
  // A file takes the four host threads 0.75 ms and the device 0.25 ms, so the device gets three of four files.
  measure(balance, 3e-3, 0.25e-3);
  CHECK(chosen(balance, 0, 1000, 3000).size() == Approx(1500).margin(100));
  CHECK_THAT(balance.explain(), Contains("decode      latest split: 384 of 512 files on the device"));
}

TEST_CASE("a slow device gets only trial files until it becomes faster", "[decode]") {
  DecodeBalance balance(NvjpegBackend::kHybrid, 7, {});
  measure(balance, 1e-3, 10);
  (void)chosen(balance, 0, 0, 1000);
  const auto tried = chosen(balance, 0, 1000, 3000).size();
  CHECK(tried > 0);
  CHECK(tried < 100);
  for (int i = 0; i < 10; ++i) measure(balance, 1e-3, 0.1e-3);
  (void)chosen(balance, 0, 3000, 4000);
  CHECK(chosen(balance, 0, 4000, 5000).size() > 850);
}

TEST_CASE("the split by rates gives the device the files at which it is fastest relative to the host", "[decode]") {
  // The host's time is proportional to bytes, the device's to pixels.
  DecodeBalance balance(NvjpegBackend::kHybrid, 7, {});
  for (int i = 1; i < 200; ++i) {
    balance.host_took(static_cast<std::size_t>(10'000 * (i % 9 + 1)), 20'000 * (i % 7 + 1), 1e-4 * (i % 9 + 1));
    const FileExtent file{10'000 * (i % 5 + 1), 100, 100 * (i % 11 + 1)};
    balance.device_took({&file, 1}, 1e-4 * (i % 11 + 1));
  }
  std::size_t dense = 0, sparse = 0;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    const bool is_dense = id % 2 == 0;  // 100 kB or 10 kB of the same image
    const bool goes =
        balance.to_device(0, id, {photograph({300, 100}), is_dense ? 100'000U : 10'000U, 30'000, kSampleBytes});
    if (id >= 1000) (is_dense ? dense : sparse) += goes ? 1 : 0;
  }
  CHECK(dense > 300);
  CHECK(sparse < 50);
}

}  // namespace
}  // namespace unstarve
