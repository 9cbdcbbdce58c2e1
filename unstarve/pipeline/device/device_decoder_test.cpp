// Batches in which some files are decoded on the device. Most tests replace nvJPEG's functions by functions that decode
// into host memory; with a GPU and nvJPEG, one test uses the library itself.
#include "unstarve/pipeline/device/device_decoder.h"

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/codecs/nvjpeg/testing/host_functions.h"
#include "unstarve/core/error.h"
#include "unstarve/device/testing/logged_device.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/device/device_operations.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/plan/first_on_device.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

PipelineSpec augmented(int threads) {
  PipelineSpec spec = small_spec(8, threads);
  spec.operations.push_back({"rand_augment", {}});
  spec.order.seed = 31;
  return spec;
}

NvjpegLibrary on_host() { return NvjpegLibrary(testing::host_functions(), true); }

struct Made {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint8_t>> pixels;  // by epoch and id
  std::size_t files = 0;
  std::string explained;
};

// Runs two epochs with `share` of the files decoded on `device`.
Made run_with_files(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset,
                    std::optional<double> share, NvjpegLibrary library, Device& device) {
  const auto balance = std::make_shared<DecodeBalance>(NvjpegBackend::kHybrid, spec.order.seed, share);
  PipelineSpec before = spec;
  before.operations.resize(first_on_device(spec));
  before.output = {ElementType::kUint8, Layout::kNhwc, {}};
  Loader::Options options;
  options.epochs = 2;
  options.decode = balance;
  const auto host = open_device("cpu");
  Loader loader(before, dataset, *host, options);
  const ElementType type = gpu::make_output(spec.output).type;
  DeviceOperations operations(
      spec, type, device,
      std::make_unique<DeviceDecoder>(DeviceDecoder::Options{std::move(library), 1, balance, dataset}, device));
  const auto stream = device.make_stream();
  Made made;
  while (auto batch = loader.next()) {
    const Size size = operations.output_size(batch->epoch());
    const std::size_t sample = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                               kChannels * element_bytes(spec.output.type);
    const auto source = device.allocate(batch->pixel_bytes() + decoded_bytes(batch->files()));
    const auto output = device.allocate(batch->samples() * sample);
    device.copy_to_device(source->data(), batch->pixels(), batch->pixel_bytes(), *stream);
    operations.run({batch->ids(), source->data(), batch->files(), batch->pixels()}, batch->epoch(), output->data(),
                   *stream);
    std::vector<std::uint8_t> all(output->bytes());
    device.copy_to_host(all.data(), output->data(), all.size(), *stream);
    stream->synchronise();
    for (std::size_t i = 0; i < batch->samples(); ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * sample);
      made.pixels[{batch->epoch(), batch->ids()[i]}] = {begin, begin + static_cast<std::ptrdiff_t>(sample)};
      if (batch->files()[i][0] > 0) ++made.files;
    }
  }
  made.explained = operations.explain();
  return made;
}

Made run_on_host(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset) {
  Loader::Options options;
  options.epochs = 2;
  Made made;
  for (const Seen& batch : run(spec, dataset, options)) {
    const std::size_t sample = batch.pixels.size() / batch.ids.size();
    for (std::size_t i = 0; i < batch.ids.size(); ++i) {
      const auto begin = batch.pixels.begin() + static_cast<std::ptrdiff_t>(i * sample);
      made.pixels[{batch.position.epoch, batch.ids[i]}] = {begin, begin + static_cast<std::ptrdiff_t>(sample)};
    }
  }
  return made;
}

TEST_CASE("samples decoded on the device equal those decoded on the host", "[gpu][decode]") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto device = open_device("cpu");
  const Made expected = run_on_host(augmented(1), dataset);
  REQUIRE(expected.pixels.size() == 80);
  for (const int threads : {1, 4}) {
    for (const auto order : {ExecutionOrder::kExact, ExecutionOrder::kRelaxed}) {
      for (const double share : {0.0, 0.4, 1.0}) {
        CAPTURE(threads, static_cast<int>(order), share);
        PipelineSpec spec = augmented(threads);
        spec.execution.order = order;
        const Made made = run_with_files(spec, dataset, share, on_host(), *device);
        CHECK(made.pixels == expected.pixels);
        CAPTURE(made.files);
        CHECK((made.files == 0) == (share == 0.0));
        CHECK((made.files > 30) == (share == 1.0));
      }
    }
  }
  const Made by_rates = run_with_files(augmented(2), dataset, {}, on_host(), *device);
  CHECK(by_rates.pixels == expected.pixels);
  CHECK_THAT(by_rates.explained, Contains("decode      nvJPEG 0.0.0, backend hybrid, replaced by a library on the "
                                          "host; other files on the host\n") &&
                                     Contains("files split between device and host by measured decoding rates"));
}

TEST_CASE("samples decoded on the device equal those of the host if operations follow a schedule", "[gpu][decode]") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto device = open_device("cpu");
  PipelineSpec spec = augmented(2);
  OpValue size;
  size.schedule.points = {{0, {48}}, {1, {64}}};
  spec.operations[0].params["size"] = size;
  const Made made = run_with_files(spec, dataset, 1.0, on_host(), *device);
  CHECK(made.pixels == run_on_host(spec, dataset).pixels);
  CHECK(made.files > 30);
}

// An operation defined by a program, without effect and without a GPU kernel.
class OfProgram final : public Operation {
 public:
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame&, Random&, Scratch&) const override {}
};

void add_operation_once() {
  static const bool added = [] {
    add_operation({"of_a_program", "does nothing",
                   [](const OpParams&) -> std::unique_ptr<Operation> { return std::make_unique<OfProgram>(); }});
    return true;
  }();
  REQUIRE(added);
}

TEST_CASE("the device also runs the operations before its part for files that it decodes", "[gpu][decode]") {
  const auto dataset = std::make_shared<JpegSet>(24);
  const auto device = open_device("cpu");
  PipelineSpec spec = augmented(2);
  spec.operations = {
      {"color_jitter", {}}, {"resize", {{"size", {52}}}}, {"center_crop", {{"size", {48}}}}, {"horizontal_flip", {}}};
  REQUIRE(first_on_device(spec) == 3);
  const Made made = run_with_files(spec, dataset, 0.5, on_host(), *device);
  CHECK(made.pixels == run_on_host(spec, dataset).pixels);
  CHECK(made.files > 0);
  add_operation_once();
  spec.operations.insert(spec.operations.begin(), {"of_a_program", {}});
  CHECK_THROWS_WITH(
      run_with_files(spec, dataset, 0.5, on_host(), *device),
      Contains("operations[0]: operation of_a_program has no GPU kernel, which decoding on a device requires; decode "
               "on the host"));
}

// Record 5 is truncated within its entropy-coded data; its header is intact.
class CutSet : public JpegSet {
 public:
  using JpegSet::JpegSet;
  void read(std::uint64_t id, RecordBuffer& record) const override {
    JpegSet::read(id, record);
    if (id == 5) record.values[0].bytes = record.values[0].bytes.first(record.values[0].bytes.size() * 2 / 3);
  }
};

TEST_CASE("the error of a damaged file on the device contains its location", "[gpu][decode]") {
  const auto device = open_device("cpu");
  CHECK_THROWS_WITH(run_with_files(augmented(2), std::make_shared<CutSet>(16), 1, on_host(), *device),
                    Contains("file-5: ") && Contains("JPEG"));
}

testing::DeviceLog logged;

// Functions that log each batch.
nvjpeg::Functions logged_functions() {
  nvjpeg::Functions functions = testing::host_functions();
  functions.decode_batched = [](void* handle, void* state, const unsigned char* const* data, const std::size_t* lengths,
                                nvjpeg::Image* to, void* stream) {
    logged.lines.emplace_back("decode");
    return testing::host_functions().decode_batched(handle, state, data, lengths, to, stream);
  };
  return functions;
}

TEST_CASE("before the JPEG engines write, the work queued before is complete", "[gpu][decode]") {
  const auto dataset = std::make_shared<JpegSet>(1);
  RecordBuffer record;
  dataset->read(0, record);
  const std::span<const std::uint8_t> file = record.values[0].bytes;
  const Size size = Decoder().open(file).size;
  const std::uint64_t id = 0;
  const FileExtent extent{static_cast<std::int32_t>(file.size()), size.height, size.width};
  std::vector<std::uint8_t> source(file.size() + decoded_bytes({&extent, 1}));
  const auto calls = [&](NvjpegBackend backend) {
    logged = {};
    testing::LoggedDevice device(logged);
    const auto stream = device.make_stream();
    DeviceDecoder decoder(
        {NvjpegLibrary(logged_functions(), true), 1, std::make_shared<DecodeBalance>(backend, 1, 1.0), dataset},
        device);
    logged.lines.clear();
    (void)decoder.decode({{&id, 1}, source.data(), {&extent, 1}, file.data()}, file.size(), *stream);
    return logged.lines;
  };
  CHECK(calls(NvjpegBackend::kHardware) == std::vector<std::string>{"synchronise stream 1", "decode"});
  CHECK(calls(NvjpegBackend::kHybrid) == std::vector<std::string>{"decode"});
}

TEST_CASE("a decoder for the memory of another device is rejected", "[gpu][decode]") {
  const auto device = open_device("cpu");
  CHECK_THROWS_WITH(
      run_with_files(augmented(2), std::make_shared<JpegSet>(16), 1, NvjpegLibrary(testing::host_functions()), *device),
      Contains("nvJPEG decodes into a GPU's memory, but the batches are for cpu"));
}

TEST_CASE("decoding on a device requires the error policy fail", "[gpu][decode]") {
  const auto device = open_device("cpu");
  PipelineSpec spec = augmented(2);
  spec.errors.policy = OnError::kReplace;
  CHECK_THROWS_WITH(run_with_files(spec, std::make_shared<JpegSet>(16), 1, on_host(), *device),
                    Contains("errors.policy: replace; expected fail"));
}

TEST_CASE("samples decoded by nvJPEG are close to those of the host, or the test is skipped", "[gpu][decode]") {
  const DeviceReport report = report_devices();
  if (report.gpus.empty()) {
    WARN("SKIPPED, nvJPEG was not tested: " << report.reason);
    return;
  }
  const auto device = open_device("cuda:0");
  const auto dataset = std::make_shared<JpegSet>(40);
  PipelineSpec spec = small_spec(8);
  std::optional<NvjpegLibrary> library;
  try {
    library = open_nvjpeg(*device);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMissing) throw;
    WARN("SKIPPED, nvJPEG was not tested: " << error.what());
    return;
  }
  const Made made = run_with_files(spec, dataset, 0.5, std::move(*library), *device);
  const Made expected = run_on_host(spec, dataset);
  CHECK(made.files > 0);
  REQUIRE(made.pixels.size() == expected.pixels.size());
  for (const auto& [sample, bytes] : made.pixels) {
    CAPTURE(sample.first, sample.second);
    const std::vector<std::uint8_t>& other = expected.pixels.at(sample);
    double sum = 0;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      float mine = 0, theirs = 0;
      std::memcpy(&mine, bytes.data() + i, sizeof mine);
      std::memcpy(&theirs, other.data() + i, sizeof theirs);
      sum += std::abs(mine - theirs);
    }
    // 0.05 of the normalised values is about 3 of 255.
    CHECK(sum / (static_cast<double>(bytes.size()) / sizeof(float)) < 0.05);
  }
}

}  // namespace
}  // namespace unstarve
