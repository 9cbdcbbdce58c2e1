// What a trainer does to the weights, read from its checkpoints.

#include "unstarve/torch/torch_trainer.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <torch/types.h>

#include "unstarve/core/file.h"
#include "unstarve/core/random.h"
#include "unstarve/models/safetensors.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr int kPixelSide = 32;

struct NoiseBatch {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;

  explicit NoiseBatch(std::uint32_t number, int samples = 8) {
    Random random(3, number, 0, 0);
    for (int n = 0; n < samples; ++n) labels.push_back(random.below(4));
    for (int i = 0; i < samples * kPixelSide * kPixelSide * 3; ++i)
      pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  [[nodiscard]] HostBatch batch() const {
    return {pixels.data(),
            labels,
            {kPixelSide, kPixelSide},
            {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation},
            false};
  }
};

TrainSettings speed_settings() {
  TrainSettings settings;
  settings.model = "cifar_speed";
  settings.classes = 4;
  settings.image_size = kPixelSide;
  settings.channels_last = true;
  settings.operator_threads = 1;
  settings.optimiser.decay_all = true;
  settings.optimiser.norm_bias_rate = 64;
  settings.whitening_epochs = 2;
  settings.lookahead.every = 3;
  return settings;
}

constexpr int kRunSteps = 12, kEpochSteps = 4;

void train(Trainer& trainer, int from, int to) {
  for (int step = from; step < to; ++step) {
    const NoiseBatch data(static_cast<std::uint32_t>(step));
    trainer.load(data.batch());
    trainer.step(0.01, true, {step / static_cast<double>(kEpochSteps), (step + 1) / static_cast<double>(kRunSteps)});
  }
}

class SavedState {
 public:
  explicit SavedState(Trainer& trainer) {
    const std::string name = "unstarve-torch-trainer-test-" + std::to_string(::getpid());
    const std::filesystem::path path = std::filesystem::temp_directory_path() / name;
    trainer.save(path, {1, ""});
    bytes_ = read_text_file(path);
    std::filesystem::remove(path);
  }
  bool operator==(const SavedState&) const = default;
  // The bytes of a tensor.
  [[nodiscard]] std::string of(const std::string& name) const {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size());
    const SafetensorsHeader header = parse_safetensors(bytes, "saved");
    const StoredTensor* const tensor = header.find(name);
    REQUIRE(tensor != nullptr);
    return bytes_.substr(tensor->begin, tensor->end - tensor->begin);
  }

 private:
  std::string bytes_;
};

}  // namespace

TEST_CASE("the bias of the whitening layer is trained in the first epochs only, its filters never") {
  const auto trainer = make_torch_trainer(speed_settings(), nullptr, {});
  train(*trainer, 0, 1);
  const SavedState begin(*trainer);
  train(*trainer, 1, 2 * kEpochSteps);
  const SavedState middle(*trainer);
  CHECK(middle.of("whitening.bias") != begin.of("whitening.bias"));
  const std::string momentum = middle.of("optimiser.momentum.whitening.bias");
  train(*trainer, 2 * kEpochSteps, 2 * kEpochSteps + 1);  // updates 9: an average of lookahead
  const SavedState frozen(*trainer);
  train(*trainer, 2 * kEpochSteps + 1, kRunSteps);
  const SavedState last(*trainer);
  CHECK(last.of("whitening.bias") == frozen.of("whitening.bias"));
  CHECK(last.of("optimiser.momentum.whitening.bias") == momentum);
  CHECK(last.of("whitening.weight") == begin.of("whitening.weight"));
  CHECK(last.of("groups.0.norm1.weight") == begin.of("groups.0.norm1.weight"));
  CHECK(last.of("groups.0.norm1.bias") != frozen.of("groups.0.norm1.bias"));
}

TEST_CASE("a partial update can be undone") {
  TrainSettings settings = speed_settings();
  settings.accumulate = 2;
  settings.average = 0.9;
  const auto steps = [](Trainer& trainer, int from, int to) {
    for (int step = from; step < to; ++step) {
      const NoiseBatch data(static_cast<std::uint32_t>(step));
      trainer.load(data.batch());
      trainer.step(0.01, step % 2 == 1, {0, step / 12.0});
    }
  };
  const auto trainer = make_torch_trainer(settings, nullptr, {}), whole = make_torch_trainer(settings, nullptr, {});
  steps(*trainer, 0, 4);
  const SavedState before(*trainer);
  steps(*trainer, 4, 5);
  trainer->undo_partial_update();
  CHECK(SavedState(*trainer) == before);
  trainer->undo_partial_update();
  CHECK(SavedState(*trainer) == before);
  steps(*trainer, 4, 8);
  steps(*whole, 0, 8);
  CHECK(SavedState(*trainer) == SavedState(*whole));
}

TEST_CASE("without a limit the bias of the whitening layer is always trained") {
  TrainSettings settings = speed_settings();
  settings.whitening_epochs = 0;
  settings.lookahead.every = 0;
  const auto trainer = make_torch_trainer(settings, nullptr, {});
  train(*trainer, 0, 2 * kEpochSteps + 1);
  const SavedState before(*trainer);
  train(*trainer, 2 * kEpochSteps + 1, kRunSteps);
  CHECK(SavedState(*trainer).of("whitening.bias") != before.of("whitening.bias"));
}

TEST_CASE("a run that returns to the state before its first step computes the filters of whitening again") {
  const auto trainer = make_torch_trainer(speed_settings(), nullptr, {});
  const auto begin = trainer->snapshot({});
  train(*trainer, 0, kEpochSteps);
  const SavedState expected(*trainer);
  trainer->restore(*begin);
  train(*trainer, 0, kEpochSteps);
  const SavedState again(*trainer);
  for (const char* name : {"whitening.weight", "whitening.bias", "fc.weight", "groups.2.norm2.running_mean"}) {
    CAPTURE(name);
    CHECK(again.of(name) == expected.of(name));
  }
}

TEST_CASE("a run with lookahead, freezing and rates of its own for biases resumes bit-equal at every step") {
  const auto whole = make_torch_trainer(speed_settings(), nullptr, {});
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("unstarve-torch-resume-test-" + std::to_string(::getpid()));
  train(*whole, 0, kRunSteps);
  const SavedState expected(*whole);
  for (const int at : {1, 4, 6, 8, 11}) {
    CAPTURE(at);
    const auto first = make_torch_trainer(speed_settings(), nullptr, {});
    train(*first, 0, at);
    first->save(path, {at, ""});
    TrainSettings settings = speed_settings();
    settings.seed = 9;
    const auto second = make_torch_trainer(settings, nullptr, {});
    CHECK(second->restore(path).step == at);
    train(*second, at, kRunSteps);
    const SavedState resumed(*second);
    for (const char* name : {"whitening.weight", "whitening.bias", "groups.1.conv2.weight", "groups.2.norm2.bias",
                             "groups.2.norm2.running_mean", "fc.weight", "lookahead.fc.weight", "lookahead.updates",
                             "optimiser.momentum.groups.0.conv1.weight"}) {
      CAPTURE(name);
      CHECK(resumed.of(name) == expected.of(name));
    }
  }
  std::filesystem::remove(path);
}

}  // namespace unstarve
