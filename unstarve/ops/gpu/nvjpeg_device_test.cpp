// nvJPEG's pixels in device memory against the host's, if a device, nvJPEG and photographs are available.
#include <cstdlib>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"
#include "unstarve/codecs/testing/test_photographs.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"

namespace unstarve {
namespace {

// Mean difference of a photograph's values, of 255: another inverse transform changes few values by 1, another chroma
// interpolation changes edges.
constexpr double kNear = 2;

void check_backend(const NvjpegLibrary& library, NvjpegBackend backend, Device& device) {
  std::vector<std::vector<std::uint8_t>> files;
  std::vector<Image> expected;
  std::vector<std::unique_ptr<Memory>> outputs;
  std::vector<NvjpegJob> jobs;
  const MappedFile archive(testing::photographs());
  Decoder host;
  testing::for_each_file(archive.bytes(), [&](std::span<const std::uint8_t> bytes) {
    if (files.size() == 60 || !why_not_nvjpeg(host.open(bytes)).empty()) return;
    host.decode({}, expected.emplace_back());
    files.emplace_back(bytes.begin(), bytes.end());
    outputs.push_back(device.allocate(expected.back().bytes()));
  });
  for (std::size_t i = 0; i < files.size(); ++i) jobs.push_back({files[i], expected[i].size(), outputs[i]->data()});
  const auto stream = device.make_stream();
  NvjpegDecoder decoder(library, backend, 2);
  const auto rejections = decoder.decode(jobs, stream->native());
  std::size_t decoded = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    INFO("photograph " << i << " " << rejections[i]);
    if (!rejections[i].empty()) continue;
    ++decoded;
    std::vector<std::uint8_t> made(expected[i].bytes());
    device.copy_to_host(made.data(), outputs[i]->data(), made.size(), *stream);
    stream->synchronise();
    double sum = 0;
    for (std::size_t k = 0; k < made.size(); ++k) sum += std::abs(int{made[k]} - int{expected[i].data()[k]});
    CHECK(sum / static_cast<double>(made.size()) < kNear);
  }
  CHECK(decoded > jobs.size() / 2);
}

TEST_CASE("nvJPEG decodes photographs on a device, or the reason why not is reported", "[gpu][nvjpeg]") {
  const DeviceReport report = report_devices();
  if (report.gpus.empty()) {
    WARN("SKIPPED, nvJPEG has decoded nothing: " << report.reason);
    return;
  }
  if (testing::photographs().empty()) return;
  const auto device = open_device("cuda:0");
  for (const NvjpegBackend backend : {NvjpegBackend::kHybrid, NvjpegBackend::kGpuHybrid, NvjpegBackend::kHardware}) {
    INFO("backend " << static_cast<int>(backend));
    try {
      const NvjpegLibrary library = NvjpegLibrary::open_any({}, report.driver);
      check_backend(library, backend, *device);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kMissing) throw;
      WARN("SKIPPED: " << error.what());
    }
  }
}

}  // namespace
}  // namespace unstarve
