// Quantisation-aware training: values are rounded as in the exported graph, from `begin` on, with limits that are
// observed until `freeze`.

#include "unstarve/torch/networks/quantised_network.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "unstarve/core/file.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/models/weights.h"
#include "unstarve/models/zoo.h"
#include "unstarve/torch/common/graph_checkpoint.h"
#include "unstarve/torch/import/importer.h"
#include "unstarve/torch/import/network_graph.h"
#include "unstarve/torch/torch_trainer.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::error_message;

constexpr int kQatClasses = 5, kQatSide = 32, kQatBatch = 4, kQatRun = 4;

std::shared_ptr<QuantisedNetwork> quantised_network(std::string_view model, const QatSettings& settings = {}) {
  torch::manual_seed(4);
  return quantised_network(find_model(model).make(kQatClasses), kQatSide, settings);
}

torch::Tensor images_of(std::uint64_t seed) {
  torch::manual_seed(seed);
  return torch::randn({kQatBatch, 3, kQatSide, kQatSide});
}

// The graph of the network with its limits.
infer::Graph graph_with_limits(const QuantisedNetwork& network) {
  infer::Graph graph = network.graph();
  std::vector<std::string> names;
  const std::string text = network.metadata().at(kLimitsKey) + "\n";
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    names.push_back(text.substr(begin, text.find('\n', begin) - begin));
  const torch::Tensor limits = network.named_buffers()["quantisation.limits"];
  REQUIRE(limits.numel() == static_cast<std::int64_t>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i)
    graph.limits[names[i]] = limits[static_cast<std::int64_t>(i)].item<float>();
  return graph;
}

// A step without an update of the weights.
void forward_in_training(QuantisedNetwork& network, const torch::Tensor& images, double share) {
  (void)network.advance(share);
  network.train();
  if (!network.prepared()) network.prepare(images, nullptr);
  (void)network.forward(images);
}

TrainSettings qat_settings() {
  TrainSettings settings;
  settings.model = "cifar_net";
  settings.classes = 4;
  settings.image_size = kQatSide;
  settings.channels_last = true;
  settings.operator_threads = 1;
  settings.qat.enabled = true;
  return settings;
}

void train_steps(Trainer& trainer, int from, int to) {
  for (int step = from; step < to; ++step) {
    Random random(3, static_cast<std::uint32_t>(step), 0, 0);
    std::vector<std::uint8_t> pixels(kQatBatch * kQatSide * kQatSide * 3);
    std::vector<std::int64_t> labels;
    for (int i = 0; i < kQatBatch; ++i) labels.push_back(random.below(4));
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.below(256));
    trainer.load(
        {pixels.data(), labels, {kQatSide, kQatSide}, {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation}});
    trainer.step(0.01, true, {step / 4.0, (step + 1) / static_cast<double>(kQatRun)});
  }
}

// A file that is removed.
class QatFile {
 public:
  ~QatFile() { fs::remove(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::string text() const { return read_text_file(path_); }

 private:
  fs::path path_ = fs::temp_directory_path() / ("unstarve-qat-test-" + std::to_string(::getpid()) + ".safetensors");
};

std::unique_ptr<Trainer> qat_trainer(const TrainSettings& settings) {
  return make_torch_trainer(settings, nullptr, {});
}

std::string bytes_after(Trainer& trainer, int step) {
  const QatFile file;
  trainer.save(file.path(), {step, ""});
  return file.text();
}

}  // namespace

TEST_CASE("evaluations compute what the exported graph computes") {
  for (const char* model : {"cifar_net", "cifar_resnet18", "cifar_speed", "mobilenet_v2", "mobilenet_v3_small"}) {
    CAPTURE(model);
    const auto network = quantised_network(model);
    for (const auto& module : network->modules())  // with the statistics of the batch, values do not vanish
      if (auto* const norm = dynamic_cast<BatchNorm*>(module.get())) norm->set_momentum(1);
    for (const double share : {0.1, 0.2, 0.5}) forward_in_training(*network, images_of(7), share);
    network->eval();
    const torch::NoGradGuard no_grad;
    const torch::Tensor found = network->forward(images_of(8));
    const infer::Graph exported = infer::quantise(infer::run_passes(graph_with_limits(*network)).graph);
    CHECK(infer::violation(exported).empty());
    CHECK(exported.limits.empty());
    GraphNetwork exact(exported);
    const torch::Tensor expected = exact.forward(images_of(8));
    const auto difference = [&](const torch::Tensor& outputs) {
      return (outputs - expected).abs().mean().item<double>();
    };
    // A value at the middle between two levels may be rounded to either, which a network with random weights amplifies:
    // the bound is the effect of a small change of the images.
    CHECK(difference(found) > 0);
    CHECK(difference(found) < difference(exact.forward(images_of(8) * 1.001)));
    if (std::string_view(model).starts_with("cifar"))
      CHECK(difference(found) < 0.05 * (expected - expected.mean(0)).abs().max().item<double>());
  }
}

TEST_CASE("a network that is a graph is trained for int8 like that of the zoo") {
  const auto of_zoo = quantised_network("cifar_resnet18_0.25");
  torch::manual_seed(4);
  const NetworkPtr source = find_model("cifar_resnet18_0.25").make(kQatClasses);
  const auto of_graph =
      quantised_network(std::make_shared<GraphNetwork>(graph_of_network(*source, kQatSide)), kQatSide, {});
  CHECK(of_zoo->metadata().contains(kModulesKey));
  CHECK_FALSE(of_graph->metadata().contains(kModulesKey));
  CHECK(of_graph->metadata().at(kLimitsKey) == of_zoo->metadata().at(kLimitsKey));
  for (const double share : {0.1, 0.5}) {
    forward_in_training(*of_zoo, images_of(7), share);
    forward_in_training(*of_graph, images_of(7), share);
  }
  of_zoo->eval();
  of_graph->eval();
  const torch::NoGradGuard no_grad;
  CHECK(torch::equal(of_graph->forward(images_of(8)), of_zoo->forward(images_of(8))));
}

TEST_CASE("values within the limit have the gradient 1, others none") {
  FakeQuantiser quantiser({{0, true}, {1, false}});
  CHECK_FALSE(quantiser.observed());
  quantiser.begin_pass(/*observe=*/true, /*round=*/false);
  CHECK_FALSE(quantiser.activation(0, torch::full({1}, 2.55)).defined());
  CHECK_FALSE(quantiser.activation(1, torch::full({1}, -1.27)).defined());
  quantiser.end_pass();
  CHECK(quantiser.observed());
  quantiser.begin_pass(/*observe=*/false, /*round=*/true);
  const torch::Tensor x = torch::tensor(std::vector<float>{-1, 0.014F, 1.276F, 3}).requires_grad_();
  const torch::Tensor positive = quantiser.activation(0, x), any = quantiser.activation(1, x);
  CHECK(torch::allclose(positive, torch::tensor(std::vector<float>{0, 0.01F, 1.28F, 2.55F})));
  CHECK(torch::allclose(any, torch::tensor(std::vector<float>{-1, 0.01F, 1.27F, 1.27F})));
  positive.sum().backward();
  CHECK(torch::equal(x.grad(), torch::tensor(std::vector<float>{0, 1, 1, 0})));
}

TEST_CASE("weights have a scale per output channel, zeros stay zero, and gradients pass") {
  FakeQuantiser quantiser({});
  quantiser.begin_pass(false, /*round=*/true);
  const torch::Tensor weights =
      torch::tensor(std::vector<float>{1.27F, 0.014F, 0, -12.7F, 0.14F, 0, 0, 0, 0}).view({3, 3}).requires_grad_();
  const torch::Tensor found = quantiser.weights(weights, 0);
  CHECK(torch::allclose(found.flatten(), torch::tensor(std::vector<float>{1.27F, 0.01F, 0, -12.7F, 0.1F, 0, 0, 0, 0})));
  CHECK(torch::allclose(quantiser.weights(weights.t(), 1), found.t()));
  found.sum().backward();
  CHECK(torch::equal(weights.grad(), torch::ones({3, 3})));
}

TEST_CASE("limits are moving averages, over all ranks where there are several") {
  FakeQuantiser quantiser({{0, true}});
  const auto observe = [&](double value) {
    quantiser.begin_pass(true, false);
    (void)quantiser.activation(0, torch::full({2}, value));
    quantiser.end_pass();
    return quantiser.named_buffers()["limits"].item<double>();
  };
  CHECK(observe(2) == Approx(2));
  CHECK(observe(4) == Approx(2 + 0.05 * 2));
  // The other rank has observed 10, and counts 1.
  const SumOverRanks sum = [](torch::Tensor& values) { values.add_(torch::tensor(std::vector<float>{10, 1})); };
  quantiser.synchronise(&sum);
  CHECK(observe(4) == Approx(2.1 + 0.05 * (7 - 2.1)));
}

TEST_CASE("training rounds from begin on, and limits and statistics are fixed from freeze on") {
  const auto network = quantised_network("cifar_net", {.enabled = true, .begin = 0.5, .freeze = 0.8});
  const auto state = [&] {
    std::vector<torch::Tensor> values;
    for (const auto& buffer : network->named_buffers()) values.push_back(buffer.value().clone());
    return values;
  };
  CHECK_FALSE(network->prepared());
  const std::vector<torch::Tensor> initial = state();
  network->train();
  network->prepare(images_of(1), nullptr);
  CHECK(network->prepared());
  const auto buffers = network->named_buffers();
  for (std::size_t i = 0; i < initial.size(); ++i)
    CHECK((buffers[i].key() == "quantisation.limits") != torch::equal(buffers[i].value(), initial[i]));

  CHECK_FALSE(network->advance(0.4));
  const torch::Tensor exact = network->forward(images_of(1));
  CHECK(network->advance(0.6));
  const torch::Tensor rounded = network->forward(images_of(1));
  CHECK_FALSE(torch::equal(exact, rounded));
  CHECK((exact - rounded).abs().max().item<double>() < 0.2 * exact.abs().max().item<double>());
  CHECK_FALSE(network->advance(0.7));
  CHECK(network->advance(0.9));
  network->train();
  const std::vector<torch::Tensor> before = state();
  network->forward(images_of(2)).sum().backward();
  const std::vector<torch::Tensor> after = state();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(torch::equal(before[i], after[i]));
  for (const torch::Tensor& parameter : network->parameters()) CHECK(parameter.grad().defined());
}

TEST_CASE("a run for int8 resumes bit-equal in every phase, and its checkpoint is a graph with limits") {
  TrainSettings settings = qat_settings();
  SECTION("plain") {}
  SECTION("bfloat16, an average, pruning") {
    settings.precision = Precision::kBfloat16;
    settings.average = 0.9;
    settings.prune.sparsity = 0.5;
  }
  const auto whole = qat_trainer(settings);
  train_steps(*whole, 0, kQatRun);
  const std::string expected = bytes_after(*whole, kQatRun);
  for (const int at : {1, 2, 3}) {
    CAPTURE(at);
    const QatFile file;
    const auto first = qat_trainer(settings);
    train_steps(*first, 0, at);
    first->save(file.path(), {at, ""});
    const auto second = qat_trainer(settings);
    CHECK(second->restore(file.path()).step == at);
    train_steps(*second, at, kQatRun);
    CHECK(bytes_after(*second, kQatRun) == expected);
  }
  const QatFile file;
  write_file_atomically(file.path(), expected);
  const infer::Graph graph = infer::import_network({file.path(), "", 0, 0});
  CHECK(graph.name == "cifar_net");
  CHECK(graph.limits.size() > 6);
  CHECK(infer::violation(infer::quantise(infer::run_passes(graph).graph)).empty());
  CHECK(infer::import_network({file.path(), "", 64, 0}).values[graph.inputs[0]].type.shape[2] == 64);
  TrainSettings plain = settings;
  plain.qat.enabled = false;
  CHECK_THAT(error_message([&] { (void)qat_trainer(plain)->restore(file.path()); }),
             Catch::Contains("found a checkpoint of quantisation-aware training") && Catch::Contains("--qat"));
  CHECK(qat_trainer(plain)->load_weights(file.path()).initialised.empty());
}

TEST_CASE("weights that were pruned stay zero when they are trained for int8") {
  TrainSettings pruning = qat_settings();
  pruning.qat.enabled = false;
  pruning.prune.sparsity = 0.5;
  const auto pruned = qat_trainer(pruning);
  train_steps(*pruned, 0, kQatRun);
  const std::int64_t zeros = pruned->pruning().zeros();
  CHECK(zeros > 1000);
  const QatFile file;
  pruned->save(file.path(), {kQatRun, ""});

  const auto trainer = qat_trainer(qat_settings());
  CHECK(trainer->load_weights(file.path()).initialised.empty());
  train_steps(*trainer, 0, kQatRun / 2);
  CHECK(trainer->pruning().zeros() == zeros);
  trainer->save(file.path(), {kQatRun / 2, ""});
  const auto resumed = qat_trainer(qat_settings());
  (void)resumed->restore(file.path());
  train_steps(*resumed, kQatRun / 2, kQatRun);
  CHECK(resumed->pruning().zeros() == zeros);
}

TEST_CASE("a damaged structure or limits in a checkpoint are one error") {
  const auto network = quantised_network("cifar_net");
  forward_in_training(*network, images_of(1), 0.1);
  const QatFile file;
  const auto error_with = [&](const char* key, const std::string& text) {
    auto metadata = network->metadata();
    metadata[key] = text;
    StateCopy(network_state(*network), metadata).write(file.path());
    return error_message([&] { (void)infer::import_network({file.path(), "", 0, 0}); });
  };
  const std::string names = network->metadata().at(kLimitsKey);
  CHECK(error_with(kLimitsKey, names) == "no error");
  CHECK_THAT(error_with(kGraphKey, "?"), Catch::Contains("found text in unstarve.graph that is not base64"));
  CHECK_THAT(error_with(kGraphKey, "AAAA"), Catch::Contains("unstarve.graph"));
  CHECK_THAT(error_with(kLimitsKey, names + "\nmore"), Catch::Contains("expected one limit for each activation"));
  const std::string other = text_of_structure(quantised_network("cifar_resnet18")->structure());
  CHECK_THAT(error_with(kGraphKey, other), Catch::Contains("found no tensor 'conv1.weight' of the graph"));
}

TEST_CASE("limits of values that the model does not compute are rejected") {
  const auto network = quantised_network("cifar_net");
  forward_in_training(*network, images_of(1), 0.1);
  infer::Graph graph = graph_with_limits(*network);
  graph.limits["no such value"] = 1;
  CHECK_THAT(error_message([&] { (void)infer::quantise(infer::run_passes(graph).graph); }),
             Catch::Contains("are activations of the model; expected all"));
}

}  // namespace unstarve
