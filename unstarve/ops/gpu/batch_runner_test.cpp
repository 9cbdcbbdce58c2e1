#include "unstarve/ops/gpu/batch_runner.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/device/testing/logged_device.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/test_chains.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Chain;
using testing::defaults;
using testing::Key;

constexpr Size kOut{40, 32};
constexpr int kBatches = 5;

OpSpec cropped() { return {"random_resized_crop", {{"size", {kOut.height, kOut.width}}}}; }

std::vector<Chain> chains() {
  std::vector<Chain> all;
  all.emplace_back(std::vector<OpSpec>{cropped(), defaults("horizontal_flip"), defaults("saturation")});
  all.emplace_back(std::vector<OpSpec>{cropped(), defaults("rand_augment"), defaults("rotation"), defaults("erasing")});
  all.emplace_back(std::vector<OpSpec>{
      defaults("color_jitter"), {"gaussian_blur", {{"probability", {1}}}}, defaults("perspective"), cropped()});
  return all;
}

struct Batch {
  std::vector<Image> images;
  std::vector<std::uint8_t> source;
  std::vector<SourceImage> sources;
  std::vector<std::uint64_t> ids;
};

Batch made_up_batch(Random& random, std::size_t samples) {
  Batch batch;
  for (std::size_t i = 0; i < samples; ++i) {
    Image& image = batch.images.emplace_back(Size{testing::between(random, 20, 90), testing::between(random, 20, 90)});
    for (std::size_t k = 0; k < image.bytes(); ++k) image.data()[k] = static_cast<std::uint8_t>(random.bits());
    batch.sources.push_back(SourceImage::interleaved(static_cast<std::int64_t>(batch.source.size()), image.size()));
    batch.source.insert(batch.source.end(), image.data(), image.data() + image.bytes());
    batch.ids.push_back(random.bits());
  }
  return batch;
}

std::vector<std::uint8_t> on_host(const Chain& chain, const Batch& batch, const Storer& storer) {
  const std::size_t bytes = storer.sample_bytes(kOut);
  std::vector<std::uint8_t> made(bytes * batch.images.size());
  Scratch scratch;
  for (std::size_t i = 0; i < batch.images.size(); ++i) {
    const Frame frame = run_operations(chain, Frame(batch.images[i].view()), {1, 2, batch.ids[i]}, scratch);
    storer.store(frame, made.data() + i * bytes);
  }
  return made;
}

// Batches of growing and shrinking size, all queued before the first result is read.
void check_batches(Device& device, const Chain& chain, const StoreFormat& format) {
  Random random(8, 0, 0, 0);
  const Storer storer(format);
  const auto stream = device.make_stream();
  BatchRunner runner(device);
  BatchRecorder recorder(chain.specs, chain.operations, kOut);
  std::vector<std::vector<std::uint8_t>> expected;
  std::vector<std::unique_ptr<Memory>> sources, outputs;
  for (int i = 0; i < kBatches; ++i) {
    const Batch batch = made_up_batch(random, i % 2 == 0 ? 3 : 9);
    expected.push_back(on_host(chain, batch, storer));
    sources.push_back(device.allocate(batch.source.size()));
    outputs.push_back(device.allocate(expected.back().size()));
    device.copy_to_device(sources.back()->data(), batch.source.data(), batch.source.size(), *stream);
    recorder.clear();
    for (std::size_t k = 0; k < batch.ids.size(); ++k) recorder.add(batch.sources[k], 1, 2, batch.ids[k]);
    runner.run(recorder.recording(), sources.back()->data(), testing::output_of(format, kOut, outputs.back()->data()),
               *stream);
    stream->record()->wait();  // the pageable source is freed
  }
  for (int i = 0; i < kBatches; ++i) {
    const auto k = static_cast<std::size_t>(i);
    std::vector<std::uint8_t> made(expected[k].size(), 0xEE);
    device.copy_to_host(made.data(), outputs[k]->data(), made.size(), *stream);
    stream->synchronise();
    INFO("batch " << i);
    CHECK(made == expected[k]);
  }
}

void check_device(Device& device) {
  const StoreFormat formats[] = {{ElementType::kUint8, Layout::kNchw, {}},
                                 {ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation},
                                 {ElementType::kBfloat16, Layout::kNhwc, kImagenetNormalisation},
                                 {ElementType::kFloat16, Layout::kNchw, kCifar10Normalisation}};
  const auto all = chains();
  for (std::size_t i = 0; i < std::size(formats); ++i) {
    INFO("format " << i);
    check_batches(device, all[i % all.size()], formats[i]);
  }
}

TEST_CASE("the host device gives the host's bits", "[gpu]") { check_device(*open_device("cpu")); }

TEST_CASE("a CUDA device gives the host's bits, or the reason why there is none is reported", "[gpu]") {
  const DeviceReport report = report_devices();
  if (report.gpus.empty()) {
    WARN("SKIPPED, no kernel has run: " << report.reason);
    REQUIRE_FALSE(report.reason.empty());
    return;
  }
  const auto device = open_device("cuda:0");
  check_device(*device);
  // Every operation alone, in every pixel arrangement.
  const auto stream = device->make_stream();
  Random random(4, 0, 0, 0);
  BatchRunner runner(*device);
  for (const OperationInfo& info : operations()) {
    INFO(info.name);
    const Chain chain({defaults(info.name), {"resize", {{"size", {kOut.height, kOut.width}}}}});
    const Batch batch = made_up_batch(random, 24);
    const Storer storer({ElementType::kUint8, Layout::kNhwc, {}});
    const auto expected = on_host(chain, batch, storer);
    const auto source = device->allocate(batch.source.size()), output = device->allocate(expected.size());
    device->copy_to_device(source->data(), batch.source.data(), batch.source.size(), *stream);
    BatchRecorder recorder(chain.specs, chain.operations, kOut);
    for (std::size_t k = 0; k < batch.ids.size(); ++k) recorder.add(batch.sources[k], 1, 2, batch.ids[k]);
    runner.run(recorder.recording(), source->data(),
               testing::output_of({ElementType::kUint8, Layout::kNhwc, {}}, kOut, output->data()), *stream);
    std::vector<std::uint8_t> made(expected.size());
    device->copy_to_host(made.data(), output->data(), made.size(), *stream);
    stream->synchronise();
    CHECK(made == expected);
  }
}

// Batches of one chain on a device that logs.
class LoggedRuns {
 public:
  LoggedRuns() : chain_({cropped(), {"gaussian_blur", {{"probability", {1}}}}}) {}
  void run(Stream& stream, std::size_t samples = 2) {
    const Batch batch = made_up_batch(random_, samples);
    const StoreFormat format{ElementType::kUint8, Layout::kNchw, {}};
    const auto expected = on_host(chain_, batch, Storer(format));
    std::vector<std::uint8_t> made(expected.size());
    BatchRecorder recorder(chain_.specs, chain_.operations, kOut);
    for (std::size_t k = 0; k < batch.ids.size(); ++k) recorder.add(batch.sources[k], 1, 2, batch.ids[k]);
    runner_.run(recorder.recording(), batch.source.data(), testing::output_of(format, kOut, made.data()), stream);
    CHECK(made == expected);
  }
  // The lines since the last call.
  std::vector<std::string> lines() { return std::exchange(log.lines, {}); }

  testing::DeviceLog log;
  testing::LoggedDevice device{log};

 private:
  Random random_{8, 0, 0, 0};
  Chain chain_;
  BatchRunner runner_{device};
};

TEST_CASE("after a failed allocation, the next batch runs", "[gpu]") {
  for (int failing = 1; failing <= 5; ++failing) {
    CAPTURE(failing);
    LoggedRuns runs;
    const auto stream = runs.device.make_stream();
    runs.log.failing_allocation = failing;  // of four for packets, and one for scratch memory
    CHECK_THROWS_WITH(runs.run(*stream), "allocate: failed");
    runs.run(*stream);
    runs.run(*stream);
    if (failing == 5) continue;  // the size of scratch memory does not depend on the number of samples
    runs.log.failing_allocation = failing;
    CHECK_THROWS_WITH(runs.run(*stream, 200), "allocate: failed");
    runs.run(*stream);
    runs.run(*stream, 200);
  }
}

TEST_CASE("a batch in another stream waits for the batch before, which uses the same scratch memory", "[gpu]") {
  LoggedRuns runs;
  const auto first = runs.device.make_stream(), second = runs.device.make_stream();
  runs.run(*first);
  CHECK(runs.lines().empty());
  runs.run(*second);
  CHECK(runs.lines() == std::vector<std::string>{"stream 2 waits for event 1"});
}

TEST_CASE("after an error, a packet is not written while it is copied", "[gpu]") {
  LoggedRuns runs;
  const auto stream = runs.device.make_stream();
  runs.log.record_fails = true;
  CHECK_THROWS_WITH(runs.run(*stream), "record an event: failed");
  runs.run(*stream);  // by the other packet
  (void)runs.lines();
  runs.run(*stream);
  CHECK(runs.lines() == std::vector<std::string>{"wait for event 1", "stream 1 waits for event 2"});
}

TEST_CASE("the kernel is chosen by the needs of the batch", "[gpu]") {
  Recording recording;
  recording.samples.resize(256);
  const gpu::Launch plain = gpu::choose_launch(recording, {224, 224}, 132);
  CHECK_FALSE(plain.teams);
  CHECK(plain.scratch_bytes == 0);
  // Four pixels per thread.
  CHECK(plain.blocks_per_sample * plain.threads * 4 >= 224 * 224);
  CHECK((plain.blocks_per_sample - 1) * plain.threads * 4 < 224 * 224);

  recording.single_pass = false;
  recording.scratch = {224 * 224 * 3, 0, 2};
  const gpu::Launch teams = gpu::choose_launch(recording, {224, 224}, 132);
  CHECK(teams.teams);
  CHECK(teams.blocks == 256);  // at most one per sample
  CHECK(teams.scratch_bytes == 256 * recording.scratch.bytes());
  recording.samples.resize(1000);
  CHECK(gpu::choose_launch(recording, {224, 224}, 132).blocks == 264);
  CHECK(gpu::choose_launch(recording, {1, 1}, 1).blocks == 2);
}

}  // namespace
}  // namespace unstarve
