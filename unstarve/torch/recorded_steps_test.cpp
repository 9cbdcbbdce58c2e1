// Training with recorded steps compared with the same training without, on the host (host_recorder.h): what is not read
// from tensors would keep the value of the recorded step.

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <ATen/DeviceAccelerator.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/torch/graphs/testing/host_recorder.h"
#include "unstarve/torch/torch_trainer.h"
#include "unstarve/train/trainer.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

using testing::HostRecorder;
using testing::HostRecorderCounts;

constexpr int kBatchSize = 4;

// Two batches in different memory, as those of a loader, and one of another size.
struct Batches {
  struct Memory {
    int side;
    std::vector<std::uint8_t> pixels;
    std::vector<std::int64_t> labels;
  };
  std::vector<Memory> memory;

  Batches() {
    for (const int side : {16, 16, 24}) {
      Random random(5, static_cast<std::uint32_t>(memory.size()), 0, 0);
      Memory& batch = memory.emplace_back(side);
      batch.pixels.resize(static_cast<std::size_t>(kBatchSize * side * side * 3));
      for (std::uint8_t& pixel : batch.pixels) pixel = static_cast<std::uint8_t>(random.below(256));
      for (int i = 0; i < kBatchSize; ++i) batch.labels.push_back(random.below(4));
    }
  }
  [[nodiscard]] HostBatch at(std::size_t i) const {
    const Memory& batch = memory[i];
    return {batch.pixels.data(),
            batch.labels,
            {batch.side, batch.side},
            {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation},
            false};
  }
};

TrainSettings recordable() {
  TrainSettings settings;
  settings.model = "cifar_net";
  settings.classes = 4;
  settings.image_size = 16;
  settings.channels_last = true;
  settings.operator_threads = 1;
  settings.optimiser.form = UpdateForm::kFused;
  return settings;
}

// The rate changes at every step.
double rate_at(int step) { return 0.005 / (1 + step); }

// Losses of steps from `first` on; every 5th batch has another size.
std::vector<double> losses_of(Trainer& trainer, const TrainSettings& settings, int steps, int first = 0) {
  static const Batches batches;
  std::vector<double> losses;
  for (int step = first; step < first + steps; ++step) {
    trainer.load(batches.at(step % 5 == 4 ? 2 : static_cast<std::size_t>(step % 2)));
    trainer.step(rate_at(step), (step + 1) % settings.accumulate == 0, {step / 8.0, (step + 1) / 50.0});
    losses.push_back(trainer.loss());
    if (step % 6 == 5) {
      trainer.evaluate();
      losses.push_back(trainer.evaluate_done().loss_sum);
    }
  }
  return losses;
}

void check_same(const TrainSettings& settings) {
  HostRecorderCounts counts;
  const auto plain = make_torch_trainer(settings, nullptr, {});
  const auto recorded = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts));
  CHECK(losses_of(*plain, settings, 25) == losses_of(*recorded, settings, 25));
  CHECK(counts.replays > 5);
}

}  // namespace

TEST_CASE("recorded steps give the bits of plain ones") {
  TrainSettings settings = recordable();
  SECTION("sgd") {}
  SECTION("adamw") { settings.optimiser.name = OptimiserName::kAdamw; }
  SECTION("lars") { settings.optimiser = {.name = OptimiserName::kLars, .form = UpdateForm::kForeach}; }
  SECTION("lamb") { settings.optimiser = {.name = OptimiserName::kLamb, .form = UpdateForm::kForeach}; }
  SECTION("lamb, parameter by parameter, in float16") {
    settings.optimiser.name = OptimiserName::kLamb;
    settings.optimiser.form = UpdateForm::kEach;
    settings.precision = Precision::kFloat16;
  }
  SECTION("bfloat16") { settings.precision = Precision::kBfloat16; }
  SECTION("float16, with a scaled loss") { settings.precision = Precision::kFloat16; }
  SECTION("a limit of the gradients") { settings.clip_norm = 0.5; }
  SECTION("a moving average, with evaluations of it") { settings.average = 0.9; }
  SECTION("lookahead, and another rate of norm biases") {
    settings.lookahead.every = 3;
    settings.optimiser.norm_bias_rate = 64;
  }
  SECTION("a bias that is frozen during the run") {
    settings.model = "cifar_speed";
    settings.whitening_epochs = 1;
  }
  SECTION("such a bias, with gradients of two batches") {
    settings.model = "cifar_speed";
    settings.whitening_epochs = 1;
    settings.accumulate = 2;
  }
  SECTION("label smoothing") { settings.label_smoothing = 0.1; }
  SECTION("pruning, with averages") {
    settings.prune = {.sparsity = 0.8, .sparsity_ramp = {0, 0.4}};
    settings.average = 0.9;
    settings.lookahead.every = 3;
  }
  SECTION("pruning to a pattern, in float16") {
    settings.prune = {.pattern = "2:4", .sparsity_ramp = {0, 0.4}};
    settings.precision = Precision::kFloat16;
  }
  check_same(settings);
}

TEST_CASE("a run that returns to steps before a bias was frozen trains it again") {
  TrainSettings settings = recordable();
  settings.model = "cifar_speed";
  settings.whitening_epochs = 1;
  settings.accumulate = 2;
  HostRecorderCounts counts;
  const auto recorded = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts));
  const auto first = losses_of(*recorded, settings, 4);
  const auto snapshot = recorded->snapshot({4, ""});
  const auto expected = losses_of(*recorded, settings, 16, 4);
  recorded->restore(*snapshot);
  CHECK(losses_of(*recorded, settings, 16, 4) == expected);
}

TEST_CASE("recorded steps with dropout draw the numbers of plain ones") {
  TrainSettings settings = recordable();
  settings.model = "mobilenet_v2";
  HostRecorderCounts counts;
  const auto plain = make_torch_trainer(settings, nullptr, {});
  const auto recorded = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts));
  const auto expected = losses_of(*plain, settings, 12);
  CHECK(std::isfinite(expected.back()));
  CHECK(losses_of(*recorded, settings, 12) == expected);
  CHECK(counts.replays > 0);
}

TEST_CASE("gradients accumulate over recorded steps") {
  TrainSettings settings = recordable();
  settings.accumulate = 2;
  check_same(settings);
}

TEST_CASE("a step after one without update is not recorded, because it has gradients") {
  const TrainSettings settings = recordable();
  HostRecorderCounts counts;
  const auto plain = make_torch_trainer(settings, nullptr, {});
  const auto recorded = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts));
  const Batches batches;
  for (int step = 0; step < 20; ++step) {
    for (Trainer* trainer : {plain.get(), recorded.get()}) {
      trainer->load(batches.at(0));
      trainer->step(0.01, step % 4 != 2);
    }
    CHECK(plain->loss() == recorded->loss());
  }
  CHECK(counts.warm_ups + counts.replays == 10);
}

TEST_CASE("recorded steps continue from a checkpoint, and from a snapshot") {
  TrainSettings settings = recordable();
  settings.average = 0.9;
  settings.precision = Precision::kFloat16;
  const auto path = std::filesystem::temp_directory_path() / ("unstarve-recorded-" + std::to_string(::getpid()));
  HostRecorderCounts counts;
  const auto recorded = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts));
  (void)losses_of(*recorded, settings, 20);
  recorded->save(path, {20, ""});
  const auto snapshot = recorded->snapshot({20, ""});
  const auto expected = losses_of(*recorded, settings, 10, 20);
  recorded->restore(*snapshot);
  CHECK(losses_of(*recorded, settings, 10, 20) == expected);
  CHECK(recorded->restore(path).step == 20);
  CHECK(losses_of(*recorded, settings, 10, 20) == expected);
  CHECK(counts.records == 3);  // the graphs of three batches stayed valid

  const auto plain = make_torch_trainer(settings, nullptr, {});
  CHECK(plain->restore(path).step == 20);
  CHECK(losses_of(*plain, settings, 10, 20) == expected);
  std::filesystem::remove(path);
}

TEST_CASE("a trainer whose steps cannot be recorded trains on and has a notice, once") {
  const TrainSettings settings = recordable();
  HostRecorderCounts counts;
  const auto plain = make_torch_trainer(settings, nullptr, {});
  const auto failing = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts, /*failing=*/true));
  CHECK(losses_of(*plain, settings, 20) == losses_of(*failing, settings, 20));
  CHECK_THAT(failing->notice(), Catch::Contains("not recorded"));
  CHECK(failing->notice().empty());
  CHECK(plain->notice().empty());
}

TEST_CASE("graph: on is an error where steps cannot be recorded") {
  TrainSettings settings = recordable();
  settings.graph = GraphUse::kOn;
  CHECK_THROWS_WITH(make_torch_trainer(settings, nullptr, {}), Catch::Contains("the device is the CPU"));
  settings.optimiser.form = UpdateForm::kEach;
  CHECK_THROWS_WITH(make_torch_trainer(settings, nullptr, {}), Catch::Contains("each"));
}

TEST_CASE("the times of recorded steps are those of the whole step") {
  const TrainSettings settings = recordable();
  HostRecorderCounts counts;
  const auto recorded = make_recorded_trainer(settings, std::make_unique<HostRecorder>(counts));
  recorded->enable_timing(true);
  (void)losses_of(*recorded, settings, 8);
  const StepTimes times = recorded->times();
  CHECK(times.graph_ms > 0);
  CHECK(times.forward_ms == 0);
  CHECK(times.compute_ms() == times.graph_ms);
  REQUIRE(recorded->spans().size() == 1);
  CHECK(recorded->spans()[0].name == "step");
}

namespace {

bool gpu_to_record() {
  if (at::hasCUDA()) {
    if (const auto choice = make_step_recorder(torch::Device(torch::kCUDA, 0)); choice.recorder != nullptr) return true;
  }
  WARN("SKIPPED, no step was recorded on a GPU: expected a GPU, and libtorch for CUDA");
  return false;
}

}  // namespace

TEST_CASE("on a GPU, recorded steps train like plain ones") {
  if (!gpu_to_record()) return;
  TrainSettings settings = recordable();
  settings.device = "cuda";
  SECTION("sgd") {}
  SECTION("adamw") { settings.optimiser.name = OptimiserName::kAdamw; }
  SECTION("bfloat16") { settings.precision = Precision::kBfloat16; }
  SECTION("float16, with a scaled loss") { settings.precision = Precision::kFloat16; }
  SECTION("gradients of two batches") { settings.accumulate = 2; }
  SECTION("a limit of the gradients, and averages") {
    settings.clip_norm = 0.5;
    settings.average = 0.9;
    settings.lookahead.every = 3;
  }
  SECTION("dropout") { settings.model = "mobilenet_v2"; }
  SECTION("pruning") { settings.prune = {.sparsity = 0.8, .sparsity_ramp = {0, 0.4}}; }
  settings.graph = GraphUse::kOff;
  const auto plain = make_torch_trainer(settings, nullptr, {});
  settings.graph = GraphUse::kOn;
  const auto recorded = make_torch_trainer(settings, nullptr, {});
  const auto expected = losses_of(*plain, settings, 25), found = losses_of(*recorded, settings, 25);
  // Kernels that add in any order, and rates of float32 instead of float64.
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(0.05).margin(0.02));
}

TEST_CASE("on a GPU, warming up does not change the trainer") {
  if (!gpu_to_record()) return;
  TrainSettings settings = recordable();
  settings.device = "cuda";
  settings.model = "mobilenet_v2";
  settings.graph = GraphUse::kOff;
  const auto plain = make_torch_trainer(settings, nullptr, {}), warm = make_torch_trainer(settings, nullptr, {});
  warm->warm_up(8, settings.image_size);
  const auto expected = losses_of(*plain, settings, 12), found = losses_of(*warm, settings, 12);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(0.05).margin(0.02));
}

TEST_CASE("on a GPU, a failed recording leaves the device usable") {
  if (!gpu_to_record()) return;
  const torch::Device device(torch::kCUDA, 0);
  const auto recorder = make_step_recorder(device).recorder;
  const torch::Tensor values = torch::ones({1000}, device);
  const auto waits = [&] {
    (void)torch::rand({1000}, device);
    (void)values.sum().item<float>();
  };
  CHECK_THROWS(recorder->record(waits));
  torch::manual_seed(1);
  CHECK(torch::rand({1000}, device).add(values).sum().item<float>() > 1000);
  at::accelerator::emptyCache();
  CHECK(values.sum().item<float>() == 1000);
}

}  // namespace unstarve
