#include "unstarve/torch/import/importer.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/multiply_adds.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/models/weights.h"
#include "unstarve/models/zoo.h"

namespace unstarve::infer {
namespace {

namespace fs = std::filesystem;
using unstarve::testing::error_message;

// The initial weights of a network in a file that is removed.
class WeightsFile {
 public:
  WeightsFile(std::string_view model, int classes, std::map<std::string, std::string> metadata = {})
      : path_(fs::temp_directory_path() / (std::string(model) + "-importer-test.safetensors")) {
    const NetworkPtr network = find_model(model).make(classes);
    StateCopy(network_state(*network), std::move(metadata)).write(path_);
  }
  ~WeightsFile() { fs::remove(path_); }
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("every network of the zoo becomes a valid graph with the names of its weights") {
  for (const ModelInfo& entry : kModelInfos) {
    CAPTURE(entry.name);
    const WeightsFile file(entry.name, 7);
    const std::int64_t size = std::min(entry.image_size, 64);
    const Graph graph = import_network({file.path(), std::string(entry.name), size, 0});
    CHECK(violation(graph).empty());
    CHECK(graph.value(graph.inputs.at(0)).type.shape == Shape{kBatch, 3, size, size});
    CHECK(graph.value(graph.outputs.at(0)).type.shape == Shape{kBatch, 7});
    // All constants but numbers of formulas have the names of the state.
    const NetworkPtr network = find_model(entry.name).make(7);
    std::set<std::string> names;
    for (const StateEntry& state : network_state(*network)) names.insert(state.name);
    for (const Value& value : graph.values)
      if (value.constant && !value.type.shape.empty()) CHECK(names.contains(value.name));
    CHECK(count_parameters(*network) <= graph.parameters());
    const Graph folded = run_passes(graph).graph;
    CHECK(std::ranges::none_of(folded.nodes, [](const Node& n) { return n.kind == OpKind::kBatchNormalization; }));
  }
}

TEST_CASE("a checkpoint names its network") {
  const WeightsFile file("cifar_net", 4, {{"unstarve.model", "cifar_net"}});
  CHECK(import_network({file.path(), "", 0, 4}).name == "cifar_net");
  CHECK_THAT(error_message(
                 [&] {
                   (void)import_network({file.path(), "resnet18", 0, 0});
                 },
                 ErrorKind::kArgument),
             Catch::StartsWith("--model: found resnet18; expected cifar_net, the network of "));
}

TEST_CASE("images that a network cannot process are rejected with their size") {
  const WeightsFile file("cifar_speed", 4);
  CHECK_THAT(error_message([&] {
               (void)import_network({file.path(), "cifar_speed", 4, 0});
             }),
             Catch::Contains("found images of 4 x 4 pixels, which the network cannot process ("));
}

TEST_CASE("multiply-adds and parameters of networks are those of the literature") {
  // torchvision's tables of weights; MobileNetV1 and widths: tensorflow/models, research/slim/nets (millions of MACs).
  struct Known {
    const char* model;
    double multiply_adds, tolerance;
    std::int64_t parameters;  // 0: not compared
  };
  const auto known = std::to_array<Known>({{"resnet18", 1.814e9, 1e6, 11689512},
                                           {"resnet50", 4.089e9, 1e6, 25557032},
                                           {"mobilenet_v2", 0.3008e9, 1e6, 3504872},
                                           {"mobilenet_v3_large", 0.2166e9, 1e6, 5483032},
                                           {"efficientnet_b0", 0.3855e9, 2e6, 5288548},
                                           {"mobilenet_v1", 569e6, 1e6, 4231976},
                                           {"mobilenet_v1_0.5", 150e6, 1e6, 0},
                                           {"mobilenet_v2_0.75", 209e6, 1e6, 0},
                                           {"mobilenet_v2_0.35", 59e6, 1e6, 0},
                                           {"mobilenet_v2_1.4", 582e6, 1e6, 0},
                                           {"mobilenet_v2_0.5", 97e6, 1e6, 0}});
  for (const Known& each : known) {
    CAPTURE(each.model);
    const Graph graph = random_network({each.model, 224, 1000, 0});
    CHECK(multiply_adds(graph) == Approx(each.multiply_adds).margin(each.tolerance));
    if (each.parameters > 0) CHECK(trained_parameters(graph) == each.parameters);
    const Graph folded = run_passes(graph).graph;
    CHECK(multiply_adds(folded) == multiply_adds(graph));
    CHECK(trained_parameters(folded) == folded.parameters());
  }
}

TEST_CASE("random weights depend on the seed, and every network of the zoo has finite outputs") {
  const auto first_weights = [](std::uint64_t seed) {
    const Graph graph = random_network({"cifar_net", 32, 4, seed});
    for (const Value& value : graph.values)
      if (value.constant) return value.constant->bytes;
    return std::vector<std::uint8_t>();
  };
  CHECK(first_weights(0) == first_weights(0));
  CHECK(first_weights(0) != first_weights(1));
  for (const ModelInfo& entry : kModelInfos) {
    CAPTURE(entry.name);
    const Graph graph = random_network({std::string(entry.name), 32, 7, 0});  // throws for infinite outputs
    CHECK(violation(graph).empty());
    CHECK(not_finite(graph).empty());
    CHECK(graph.value(graph.outputs.at(0)).type.shape == Shape{kBatch, 7});
  }
  CHECK_THROWS_WITH(random_network({"cifar_speed", 4, 7, 0}), Catch::Contains("found images of 4 x 4 pixels"));
  CHECK_THROWS_WITH(random_network({"resnet19", 0, 7, 0}), Catch::Contains("resnet18"));
}

}  // namespace unstarve::infer
