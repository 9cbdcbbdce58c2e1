#include "unstarve/pipeline/device/device_operations.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/plan/first_on_device.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

PipelineSpec augmented_spec(int batch) {
  PipelineSpec spec = small_spec(batch);
  spec.operations.push_back({"color_jitter", {}});
  spec.operations.push_back({"rand_augment", {}});
  spec.operations.push_back({"erasing", {}});
  spec.order.seed = 31;
  return spec;
}

// Runs the first operations in a loader, and the others on `device`.
std::vector<Seen> run_in_two(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset,
                             const Loader::Options& options, Device& device) {
  const std::size_t first = first_on_device(spec);
  PipelineSpec before = spec;
  before.operations.resize(first);
  before.output = {ElementType::kUint8, Layout::kNhwc, spec.output.normalisation};
  std::vector<Seen> seen = run(before, dataset, options);
  const ElementType type = gpu::make_output(spec.output).type;
  DeviceOperations operations(spec, type, device);
  const auto stream = device.make_stream();
  for (Seen& batch : seen) {
    const auto source = device.allocate(batch.pixels.size());
    device.copy_to_device(source->data(), batch.pixels.data(), batch.pixels.size(), *stream);
    CHECK(batch.size == operations.input_size(batch.position.epoch));
    batch.size = operations.output_size(batch.position.epoch);
    batch.pixels.assign(batch.ids.size() * static_cast<std::size_t>(batch.size.width) *
                            static_cast<std::size_t>(batch.size.height) * kChannels * element_bytes(spec.output.type),
                        0xEE);
    const auto output = device.allocate(batch.pixels.size());
    operations.run({batch.ids, source->data()}, batch.position.epoch, output->data(), *stream);
    device.copy_to_host(batch.pixels.data(), output->data(), batch.pixels.size(), *stream);
    stream->synchronise();
  }
  return seen;
}

Loader::Options epochs(std::uint32_t count) {
  Loader::Options options;
  options.epochs = count;
  return options;
}

OpValue scheduled(std::map<std::uint32_t, std::vector<double>> points, bool linear = false) {
  OpValue value;
  value.schedule = {.points = std::move(points), .linear = linear};
  return value;
}

void check_device(Device& device) {
  const auto dataset = std::make_shared<JpegSet>(40);
  PipelineSpec spec = augmented_spec(8);
  CHECK(first_on_device(spec) == 1);
  REQUIRE(run_in_two(spec, dataset, epochs(2), device) == run(spec, dataset, epochs(2)));
  // Different output size, layout and type; a short batch; bad samples replaced.
  spec.operations.push_back({"center_crop", {{"size", {30, 40}}}});
  spec.output = {ElementType::kBfloat16, Layout::kNhwc, kCifar10Normalisation};
  spec.batch = {7, LastBatch::kKeep};
  spec.errors.policy = OnError::kReplace;
  const auto damaged = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{3, 17});
  REQUIRE(run_in_two(spec, damaged, epochs(2), device) == run(spec, damaged, epochs(2)));
  // Scheduled magnitudes and sizes, on the host and on the device.
  spec.operations[0].params["size"] = scheduled({{0, {40}}, {1, {56}}, {3, {48}}});
  spec.operations[3].params["magnitude"] = scheduled({{0, {2}}, {4, {14}}}, true);
  spec.operations.back().params["size"] = scheduled({{0, {30, 40}}, {2, {40}}});
  for (const int threads : {1, 3}) {
    spec.execution.threads = threads;
    const std::vector<Seen> expected = run(spec, dataset, epochs(5));
    REQUIRE(run_in_two(spec, dataset, epochs(5), device) == expected);
    CHECK(expected.front().size != expected.back().size);
  }
}

TEST_CASE("batches of operations on the device equal those of the host", "[gpu]") { check_device(*open_device("cpu")); }

TEST_CASE("batches of operations on a CUDA device equal those of the host, or the test is skipped", "[gpu]") {
  const DeviceReport report = report_devices();
  if (report.gpus.empty()) {
    WARN("SKIPPED, operations on a device were not tested: " << report.reason);
    return;
  }
  check_device(*open_device("cuda:0"));
}

TEST_CASE("the device's part begins where all samples have the same size", "[gpu]") {
  const auto first = [](std::vector<OpSpec> operations) {
    PipelineSpec spec;
    spec.operations = std::move(operations);
    return first_on_device(spec);
  };
  const OpSpec resize{"resize", {{"size", {50}}}}, crop{"center_crop", {{"size", {48}}}}, jitter{"color_jitter", {}},
      flip{"horizontal_flip", {}};
  CHECK(first({resize, crop}) == 2);
  CHECK(first({jitter, resize, crop, flip, jitter}) == 3);
  CHECK(first({{"resize", {{"size", {50, 60}}}}, jitter, crop}) == 1);
  CHECK_THROWS_WITH(first({resize, flip}), Contains("operations: no operation has a fixed output size"));
  const OpSpec square_then_short{"resize", {{"size", scheduled({{0, {50, 60}}, {5, {50}}})}}};
  CHECK(first({square_then_short, jitter, crop}) == 3);
  CHECK_THROWS_WITH(first({square_then_short, flip}), Contains("no operation has a fixed output size in epoch 5"));
  CHECK_THROWS_WITH(first({}), Contains("operations: no operation has a fixed output size"));
}

TEST_CASE("explain() lists the operations on the device", "[gpu]") {
  PipelineSpec spec = augmented_spec(8);
  spec.operations.push_back({"resize", {{"size", {20, 30}}}});
  const auto device = open_device("cpu");
  CHECK(DeviceOperations(spec, ElementType::kFloat32, *device).explain() ==
        "bus         48x48 uint8; then one kernel per batch, with the host's draws\n"
        "device      horizontal_flip: 48x48 -> 48x48, random\n"
        "device      color_jitter: 48x48 -> 48x48, random\n"
        "device      rand_augment: 48x48 -> 48x48, random\n"
        "device      erasing: 48x48 -> 48x48, random\n"
        "device      resize: 48x48 -> 30x20\n");
  spec.operations.back().params["size"] = scheduled({{0, {20, 30}}, {2, {40}}, {7, {50}}});
  const DeviceOperations changing(spec, ElementType::kFloat32, *device);
  CHECK_THAT(changing.explain(),
             EndsWith("resize: 48x48 -> 30x20\n"
                      "device      same schedule as on the host: 2 changes, the last in epoch 7\n"));
  CHECK(changing.largest_output() == Size{50, 50});
}

TEST_CASE("settings that a device does not support are rejected with their node", "[gpu]") {
  const auto rejected = [](auto change) {
    PipelineSpec spec = augmented_spec(8);
    change(spec);
    try {
      (void)first_on_device(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(rejected([](PipelineSpec& spec) { spec.order.repeat = 2; }), Contains("order: a mixture, repeat"));
  CHECK_THAT(rejected([](PipelineSpec& spec) { spec.order.balance = true; }), Contains("order: a mixture, repeat"));
  CHECK_THAT(rejected([](PipelineSpec& spec) { spec.mix.resize(2); }), Contains("order: a mixture, repeat"));
  CHECK_THAT(rejected([](PipelineSpec& spec) { spec.batch.pad.to = PadTo::kLargest; }), Contains("batch.pad: "));
  CHECK_THAT(rejected([](PipelineSpec& spec) {
               spec.batch_operations.push_back({"mixup", {}});
             }),
             Contains("batch_operations[0]: mixup works on batches"));
  CHECK(rejected([](PipelineSpec& spec) { spec.order.window = 10; }).empty());
}

}  // namespace
}  // namespace unstarve
