// Which weights are pruned, and that they stay zero, on the host.

#include "unstarve/torch/updates/pruner.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <unistd.h>

#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/random.h"
#include "unstarve/models/safetensors.h"
#include "unstarve/models/zoo.h"
#include "unstarve/torch/torch_trainer.h"
#include "unstarve/torch/updates/optimiser.h"
#include "unstarve/torch/updates/weight_average.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

const PrunePattern kAnyWeights{};

std::vector<float> values_of(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kFloat32).contiguous().flatten();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

// smallest_weights() value by value. Weights with the input channels last.
std::vector<float> by_value(const std::vector<float>& weights, const std::vector<float>& pruned,
                            const PrunePattern& pattern, std::size_t count) {
  struct Row {
    float magnitude;
    std::size_t index;
    bool operator<(const Row& other) const {
      return magnitude != other.magnitude ? magnitude < other.magnitude : index < other.index;
    }
  };
  const auto row = [&](std::size_t i) { return Row{pruned[i] != 0 ? -1 : std::abs(weights[i]), i}; };
  std::vector<Row> candidates;
  for (std::size_t begin = 0; begin < weights.size(); begin += static_cast<std::size_t>(pattern.of)) {
    std::vector<Row> group;
    for (std::size_t i = 0; i < static_cast<std::size_t>(pattern.of); ++i) group.push_back(row(begin + i));
    std::sort(group.begin(), group.end());
    candidates.insert(candidates.end(), group.begin(), group.end() - pattern.keep);
  }
  std::sort(candidates.begin(), candidates.end());
  std::vector<float> chosen(weights.size(), 0);
  for (std::size_t i = 0; i < count; ++i) chosen[candidates[i].index] = 1;
  return chosen;
}

// Few different magnitudes, so that there are ties.
torch::Tensor coarse(torch::IntArrayRef shape) { return torch::randn(shape).mul(4).round().div(4); }

class PrunableNetwork final : public Network {
 public:
  PrunableNetwork() {
    torch::manual_seed(3);
    for (const char* name : {"first", "second", "third"})
      convolutions_.push_back(
          register_module(name, std::make_shared<Conv>(ConvShape{.in = 8, .out = 8, .bias = true})));
    inner_ = register_module("inner", std::make_shared<Linear>(8, 16));
    head_ = register_module("head", std::make_shared<Linear>(16, 4));
  }
  torch::Tensor forward(torch::Tensor x) override {
    for (const auto& convolution : convolutions_) x = convolution->forward(x).relu();
    return head_->forward(inner_->forward(global_mean(x)).relu());
  }

 private:
  std::vector<std::shared_ptr<Conv>> convolutions_;
  std::shared_ptr<Linear> inner_, head_;
};

constexpr int kPruneSteps = 20;
constexpr double kShareOfStep = 1.0 / kPruneSteps;

// Where weights are zero, without biases.
torch::Tensor zeros_of(const Network& network) {
  std::vector<torch::Tensor> zeros;
  for (const torch::Tensor& parameter : network.parameters())
    if (parameter.dim() > 1) zeros.push_back(parameter.detach().eq(0).flatten());
  return torch::cat(zeros);
}

PruneUpdate update_at(int step) { return {step, step - 1, step * kShareOfStep}; }

std::int64_t zeros_in(const std::vector<PrunedLayer>& layers) {
  std::int64_t zeros = 0;
  for (const PrunedLayer& layer : layers) zeros += layer.zeros;
  return zeros;
}

std::vector<std::string> dense_of(const char* model, const PruneSettings& settings) {
  std::vector<std::string> dense;
  const Pruner pruner(*find_model(model).make(10), settings);
  for (const DenseLayer& layer : pruner.dense()) dense.push_back(layer.name + ": " + layer.reason);
  return dense;
}

}  // namespace

TEST_CASE("the smallest weights are chosen exactly, with ties by index, in every memory format") {
  torch::manual_seed(5);
  for (const PrunePattern pattern : {kAnyWeights, PrunePattern{2, 4}, PrunePattern{1, 3}, PrunePattern{5, 6}}) {
    for (const bool channels_last : {false, true}) {
      for (const bool linear : {false, true}) {
        CAPTURE(pattern.keep, pattern.of, channels_last, linear);
        torch::Tensor weight = linear ? coarse({7, 12}) : coarse({7, 12, 3, 2});
        if (channels_last && !linear) weight = weight.contiguous(torch::MemoryFormat::ChannelsLast);
        torch::Tensor pruned = torch::zeros_like(weight, torch::kBool);
        const std::int64_t most = weight.numel() * (pattern.of - pattern.keep) / pattern.of;
        std::int64_t before = 0;
        for (const std::int64_t count : {std::int64_t{1}, most / 5, most / 2, most}) {
          const torch::Tensor chosen = smallest_weights(weight, pruned, pattern, count);
          REQUIRE(chosen.sizes() == weight.sizes());
          CHECK(chosen.sum().item<std::int64_t>() == count);
          CHECK(chosen.logical_and(pruned).sum().item<std::int64_t>() == before);  // none is revived
          CHECK(values_of(chosen.movedim(1, -1)) == by_value(values_of(weight.movedim(1, -1)),
                                                             values_of(pruned.movedim(1, -1)), pattern,
                                                             static_cast<std::size_t>(count)));
          pruned.copy_(chosen);
          before = count;
          weight = coarse(weight.sizes()).contiguous(weight.suggest_memory_format());  // trained on
        }
      }
    }
  }
}

TEST_CASE("a pattern leaves N of each M consecutive input channels") {
  torch::manual_seed(5);
  const torch::Tensor weight = torch::randn({16, 8, 3, 3});
  const torch::Tensor none = torch::zeros_like(weight, torch::kBool);
  const torch::Tensor chosen = smallest_weights(weight, none, {2, 4}, weight.numel() / 2);
  for (const std::int64_t begin : {0, 4}) CHECK((chosen.narrow(1, begin, 4).sum(1) == 2).all().item<bool>());
  const torch::Tensor half = smallest_weights(weight, none, {2, 4}, weight.numel() / 4);
  for (const std::int64_t begin : {0, 4}) CHECK((half.narrow(1, begin, 4).sum(1) <= 2).all().item<bool>());
  // The smallest candidates come first.
  const torch::Tensor magnitudes = weight.abs();
  CHECK(magnitudes.index({half}).max().item<float>() <=
        magnitudes.index({chosen.logical_and(half.logical_not())}).min().item<float>());
}

TEST_CASE("pruned weights stay zero with momentum and weight decay, and their averages too") {
  for (const OptimiserName name :
       {OptimiserName::kSgd, OptimiserName::kAdamw, OptimiserName::kLars, OptimiserName::kLamb}) {
    for (const char* pattern : {"any", "2:4"}) {
      CAPTURE(static_cast<int>(name), pattern);
      PrunableNetwork network;
      const auto optimiser = make_optimiser(network, {.name = name, .form = UpdateForm::kForeach, .weight_decay = 0.1});
      WeightAverage average(network, 0.9);
      Pruner pruner(network, {.sparsity = 0.5, .pattern = pattern, .every = 1});
      pruner.add_copies(average.averages(), "");
      torch::Tensor before = zeros_of(network);
      std::vector<std::int64_t> counts;
      for (int step = 1; step <= kPruneSteps; ++step) {
        network.forward(torch::randn({4, 8, 6, 6})).square().sum().backward();
        optimiser->step(0.02);
        optimiser->clear_gradients();
        pruner.apply();
        average.update();
        pruner.choose(update_at(step));
        const torch::Tensor zeros = zeros_of(network);
        CHECK(before.logical_and(zeros.logical_not()).sum().item<std::int64_t>() == 0);
        before = zeros;
        counts.push_back(zeros_in(pruner.layers()));
      }
      CHECK(counts[1] == 0);  // the ramp begins
      CHECK(counts[5] > 0);
      CHECK(counts[5] < counts[8]);
      for (const PrunedLayer& layer : pruner.layers()) CHECK(2 * layer.zeros == layer.weights);
      CHECK(counts[11] == counts.back());  // and ends at 0.6
      for (const auto& item : network.named_parameters()) {
        const torch::Tensor& weight = item.value();
        if (weight.dim() < 2) continue;
        CHECK_FALSE(weight.eq(0).logical_and(weight.signbit()).any().item<bool>());  // no -0
        for (const StateEntry& entry : average.averages())
          if (entry.name == item.key()) CHECK(torch::equal(entry.tensor.eq(0), weight.eq(0)));
      }
    }
  }
}

TEST_CASE("the first convolution, the last linear layer, depthwise convolutions and other channels stay dense") {
  const PruneSettings half{.sparsity = 0.5};
  CHECK(dense_of("resnet18", half) ==
        std::vector<std::string>{"conv1.weight: first convolution", "fc.weight: last linear layer"});
  CHECK(dense_of("cifar_speed", half) == std::vector<std::string>{"fc.weight: last linear layer"});
  CHECK(dense_of("cifar_speed", {.pattern = "2:4"}) == dense_of("cifar_speed", half));
  const auto mobile = dense_of("mobilenet_v2", half);
  CHECK(std::count_if(mobile.begin(), mobile.end(),
                      [](const std::string& text) { return text.ends_with(": depthwise convolution"); }) == 17);
  CHECK(mobile.size() == 19);
  const auto thirds = dense_of("mobilenet_v2", {.pattern = "1:3"});
  CHECK(thirds.size() > mobile.size());
  CHECK(std::count(thirds.begin(), thirds.end(), "features.1.conv.1.weight: 32 input channels, not a multiple of 3") ==
        1);
}

TEST_CASE("a network in which nothing can be pruned is rejected with the reason for each layer") {
  CHECK_THROWS_WITH(Pruner(PrunableNetwork(), {.pattern = "1:5"}),
                    Catch::Contains("found no layer that can be pruned") &&
                        Catch::Contains("first.weight: first convolution") &&
                        Catch::Contains("second.weight: 8 input channels, not a multiple of 5"));
}

namespace {

constexpr int kPrunedSide = 32, kPrunedBatch = 2, kPrunedRun = 12;

TrainSettings pruned_settings() {
  TrainSettings settings;
  settings.model = "cifar_net";
  settings.classes = 4;
  settings.image_size = kPrunedSide;
  settings.channels_last = true;
  settings.operator_threads = 1;
  settings.prune.sparsity = 0.5;
  return settings;
}

void train(Trainer& trainer, const TrainSettings& settings, int from, int to) {
  for (int step = from; step < to; ++step) {
    Random random(3, static_cast<std::uint32_t>(step), 0, 0);
    std::vector<std::uint8_t> pixels(kPrunedBatch * kPrunedSide * kPrunedSide * 3);
    std::vector<std::int64_t> labels;
    for (int i = 0; i < kPrunedBatch; ++i) labels.push_back(random.below(4));
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.below(256));
    trainer.load({pixels.data(),
                  labels,
                  {kPrunedSide, kPrunedSide},
                  {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation}});
    trainer.step(0.01, (step + 1) % settings.accumulate == 0,
                 {step / 4.0, (step + 1) / static_cast<double>(kPrunedRun)});
  }
}

std::filesystem::path pruned_file() {
  return std::filesystem::temp_directory_path() / ("unstarve-pruner-test-" + std::to_string(::getpid()));
}

std::string saved_bytes(Trainer& trainer, int step) {
  trainer.save(pruned_file(), {step, ""});
  std::string bytes = read_text_file(pruned_file());
  std::filesystem::remove(pruned_file());
  return bytes;
}

std::unique_ptr<Trainer> trainer_of(const TrainSettings& settings) { return make_torch_trainer(settings, nullptr, {}); }

// Zeros among the saved weights of a name.
std::size_t zeros_of(const std::string& file, const std::string& name) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  const StoredTensor* const tensor = parse_safetensors(bytes, "saved").find(name);
  REQUIRE(tensor != nullptr);
  std::size_t zeros = 0;
  for (std::size_t at = tensor->begin; at < tensor->end; at += 4)
    zeros += file.compare(at, 4, std::string(4, '\0')) == 0;
  return zeros;
}

}  // namespace

TEST_CASE("a run with pruning resumes bit-equal in the ramp and after it") {
  TrainSettings settings = pruned_settings();
  SECTION("plain") {}
  SECTION("a pattern, adamw") {
    settings.prune = {.pattern = "2:4"};
    settings.optimiser.name = OptimiserName::kAdamw;
  }
  SECTION("an average and lookahead") {
    settings.average = 0.9;
    settings.lookahead.every = 3;
  }
  SECTION("bfloat16, gradients of two batches") {
    settings.precision = Precision::kBfloat16;
    settings.accumulate = 2;
  }
  const auto whole = trainer_of(settings);
  train(*whole, settings, 0, kPrunedRun);
  const std::string expected = saved_bytes(*whole, kPrunedRun);
  for (const int at : {2, 4, 10}) {  // in the ramp and after it
    CAPTURE(at);
    const auto first = trainer_of(settings);
    train(*first, settings, 0, at);
    first->save(pruned_file(), {at, ""});
    const auto snapshot = first->snapshot({at, ""});
    const auto second = trainer_of(settings);
    CHECK(second->restore(pruned_file()).step == at);
    train(*second, settings, at, kPrunedRun);
    CHECK(saved_bytes(*second, kPrunedRun) == expected);
    train(*first, settings, at, kPrunedRun);
    first->restore(*snapshot);
    train(*first, settings, at, kPrunedRun);
    CHECK(saved_bytes(*first, kPrunedRun) == expected);
  }
  std::filesystem::remove(pruned_file());
}

TEST_CASE("evaluated and saved weights, trained weights and slow averages have the zeros of the result") {
  TrainSettings settings = pruned_settings();
  settings.average = 0.9;
  settings.lookahead.every = 3;
  const auto trainer = trainer_of(settings);
  train(*trainer, settings, 0, kPrunedRun);
  const PruneResult result = trainer->pruning();
  CHECK(result.dense.size() == 2);
  CHECK(2 * result.zeros() == result.weights());
  const std::string file = saved_bytes(*trainer, kPrunedRun);
  for (const PrunedLayer& layer : result.layers) {
    CAPTURE(layer.name);
    CHECK(2 * layer.zeros == layer.weights);
    for (const char* prefix : {"", "training.", "lookahead."})
      CHECK(std::cmp_equal(zeros_of(file, prefix + layer.name), layer.zeros));
  }
  CHECK(result.file_bytes > 4 * trainer->parameters());
  CHECK(result.zip_bytes < result.file_bytes * 7 / 10);
  CHECK(trainer_of(TrainSettings(settings))->pruning().zeros() == 0);
}

TEST_CASE("a checkpoint of another pruning is rejected, its weights can be loaded") {
  const TrainSettings settings = pruned_settings();
  const auto pruned = trainer_of(settings);
  train(*pruned, settings, 0, kPrunedRun);
  pruned->save(pruned_file(), {kPrunedRun, ""});
  TrainSettings dense = settings;
  dense.prune = {};
  CHECK_THROWS_WITH(
      trainer_of(dense)->restore(pruned_file()),
      Catch::Contains("the checkpoint has the pruning 0.5 between 0.1 and 0.6 of the run; expected none") &&
          Catch::Contains("--weights"));
  TrainSettings other = settings;
  other.prune = {.pattern = "1:4"};
  CHECK_THROWS_WITH(trainer_of(other)->restore(pruned_file()), Catch::Contains("expected 1:4 between"));
  const auto continued = trainer_of(dense);
  CHECK(continued->load_weights(pruned_file()).initialised.empty());
  trainer_of(dense)->save(pruned_file(), {kPrunedRun, ""});
  CHECK_THROWS_WITH(trainer_of(settings)->restore(pruned_file()),
                    Catch::Contains("has the pruning none; expected 0.5"));
  std::filesystem::remove(pruned_file());
}

TEST_CASE("without pruning the result is empty and the weights are those of a run without the settings") {
  TrainSettings settings = pruned_settings();
  settings.prune = {.sparsity_ramp = {0.2, 0.3}, .every = 5};
  const auto trainer = trainer_of(settings);
  train(*trainer, settings, 0, 4);
  CHECK(trainer->pruning().layers.empty());
  settings.prune = {};
  const auto plain = trainer_of(settings);
  train(*plain, settings, 0, 4);
  CHECK(saved_bytes(*trainer, 4) == saved_bytes(*plain, 4));
}

}  // namespace unstarve
