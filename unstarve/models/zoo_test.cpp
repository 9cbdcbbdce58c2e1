// Compares the networks with those of torchvision, recorded in tests/golden/models.json by tests/golden/make_models.py.

#include "unstarve/models/zoo.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <torch/types.h>
#include <torch/utils.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/models/layers.h"
#include "unstarve/models/testing/safetensors_file.h"
#include "unstarve/models/weights.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr int kClasses = 10;

const nlohmann::json& golden() {
  static const nlohmann::json models = parse_json(read_text_file("tests/golden/models.json"));
  return models;
}

// The same formula as in make_models.py: FNV-1a of the name, then MurmurHash3's finaliser of name + index.
torch::Tensor uniform(const std::string& name, std::int64_t count) {
  std::uint32_t start = 2166136261U;
  for (const char c : name) start = (start ^ static_cast<std::uint8_t>(c)) * 16777619U;
  torch::Tensor values = torch::empty({count}, torch::kFloat64);
  auto* out = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 0x9E3779B9U + start;
    x = (x ^ (x >> 16)) * 0x85EBCA6BU;
    x = (x ^ (x >> 13)) * 0xC2B2AE35U;
    out[i] = static_cast<double>(x ^ (x >> 16)) / 4294967296.0 - 0.5;
  }
  return values;
}

torch::Tensor formula(const std::string& name, const torch::Tensor& like, double gain) {
  if (name.ends_with("num_batches_tracked")) return torch::zeros_like(like);
  torch::Tensor value = uniform(name, like.numel());
  if (like.dim() >= 2) {
    value = value * std::sqrt(12.0) * std::sqrt(2.0 / static_cast<double>(like[0].numel()));
  } else if (name.ends_with("running_var")) {
    value = 1 + 0.5 * value;
  } else if (name.ends_with(".weight")) {
    value = gain * (1 + 0.2 * value);
  } else {
    value = 0.2 * value;
  }
  return value.to(torch::kFloat32).view(like.sizes());
}

void fill_by_formula(Network& network, double gain) {
  const torch::NoGradGuard no_grad;
  for (StateEntry& entry : network_state(network)) entry.tensor.copy_(formula(entry.name, entry.tensor, gain));
}

void check_logits(Network& network, const nlohmann::json& model) {
  const torch::NoGradGuard no_grad;
  const auto size = model["image_size"].get<std::int64_t>();
  const torch::Tensor image = uniform("input", 3 * size * size).to(torch::kFloat32).view({1, 3, size, size});
  network.eval();
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    const torch::Tensor logits = network.forward(image.contiguous(format))[0].to(torch::kFloat64);
    const torch::Tensor expected = torch::tensor(model["logits"].get<std::vector<double>>(), torch::kFloat64);
    const double scale = expected.abs().max().item<double>();
    CHECK((logits - expected).abs().max().item<double>() < 2e-5 * scale);
  }
}

}  // namespace

TEST_CASE("names and shapes equal those of torchvision's state_dicts") {
  using NamesAndShapes = std::set<std::pair<std::string, std::vector<std::int64_t>>>;
  for (const auto& [name, model] : golden().items()) {
    if (!model.contains("shapes")) continue;
    CAPTURE(name);
    NamesAndShapes ours;
    for (const StateEntry& entry : network_state(*find_model(name).make(kClasses))) {
      ours.emplace(entry.name, entry.tensor.sizes().vec());
    }
    NamesAndShapes theirs;
    for (const auto& [key, shape] : model["shapes"].items()) {
      theirs.emplace(key, shape.get<std::vector<std::int64_t>>());
    }
    CHECK(ours == theirs);
  }
}

TEST_CASE("initial weights have the deviations of torchvision's, all other parameters begin constant") {
  torch::manual_seed(2);
  for (const auto& [name, model] : golden().items()) {
    if (!model.contains("deviations")) continue;
    for (const auto& item : find_model(name).make(kClasses)->named_parameters()) {
      const double ours = item.value().std().item<double>();
      const double theirs = model["deviations"].value(item.key(), 0.0);
      CAPTURE(name, item.key(), ours, theirs);
      // Both are estimates with a relative standard error of at most 1 / sqrt(2 n).
      const double error = std::sqrt(1.0 / static_cast<double>(item.value().numel()));
      CHECK(std::abs(ours - theirs) <= (5 * error + 0.005) * theirs);
    }
  }
}

TEST_CASE("with the same weights the logits equal those of torchvision") {
  for (const auto& [name, model] : golden().items()) {
    CAPTURE(name);
    const NetworkPtr network = find_model(name).make(kClasses);
    CHECK(count_parameters(*network) == model["parameters"].get<std::int64_t>());
    fill_by_formula(*network, model["gain"].get<double>());
    check_logits(*network, model);
  }
}

TEST_CASE("multiply-adds match the literature, and cifar_net is below 0.05 billion") {
  const auto macs = [](const char* name) {
    const ModelEntry& entry = find_model(name);
    return count_macs(*entry.make(1000), entry.image_size);
  };
  CHECK(macs("resnet18") == Approx(1.814e9).epsilon(0.001));
  CHECK(macs("resnet34") == Approx(3.664e9).epsilon(0.001));
  CHECK(macs("resnet50") == Approx(4.089e9).epsilon(0.001));
  CHECK(macs("mobilenet_v1") == Approx(0.5687e9).epsilon(0.001));
  CHECK(macs("mobilenet_v1_0.5") == Approx(0.149e9).epsilon(0.005));
  CHECK(macs("mobilenet_v2") == Approx(0.3008e9).epsilon(0.001));
  CHECK(macs("mobilenet_v2_1.4") == Approx(0.582e9).epsilon(0.005));
  CHECK(macs("mobilenet_v3_large") == Approx(0.217e9).epsilon(0.003));
  CHECK(macs("mobilenet_v3_small") == Approx(0.0565e9).epsilon(0.003));
  CHECK(macs("efficientnet_b0") == Approx(0.386e9).epsilon(0.003));
  CHECK(macs("cifar_speed") == Approx(0.1184e9).epsilon(0.001));
  CHECK(macs("cifar_resnet18") == Approx(0.556e9).epsilon(0.005));
  CHECK(macs("cifar_mobilenet_v2") == Approx(0.0892e9).epsilon(0.001));
  const ModelEntry& small = find_model("cifar_net");
  CHECK(count_macs(*small.make(kClasses), 32) < 0.05e9);
}

TEST_CASE("counting multiply-adds does not change the network") {
  const NetworkPtr network = find_model("cifar_net").make(kClasses);
  const torch::Tensor mean = network->named_buffers()["features.0.1.running_mean"];
  network->train();
  (void)count_macs(*network, 32);
  CHECK(network->is_training());
  CHECK(mean.abs().sum().item<double>() == 0);
}

TEST_CASE("the number of parameters equals that of torchvision, and of the paper for MobileNetV1") {
  CHECK(count_parameters(*find_model("resnet18").make(1000)) == 11689512);
  CHECK(count_parameters(*find_model("resnet50").make(1000)) == 25557032);
  CHECK(count_parameters(*find_model("mobilenet_v1").make(1000)) == 4231976);
  CHECK(count_parameters(*find_model("mobilenet_v2").make(1000)) == 3504872);
  CHECK(count_parameters(*find_model("mobilenet_v3_large").make(1000)) == 5483032);
  CHECK(count_parameters(*find_model("mobilenet_v3_small").make(1000)) == 2542856);
  CHECK(count_parameters(*find_model("cifar_mobilenet_v2").make(1000)) == 3504872);
  CHECK(count_parameters(*find_model("efficientnet_b0").make(1000)) == 5288548);
}

TEST_CASE("MobileNetV2 for small images has the tensors of MobileNetV2") {
  const auto shapes = [](const char* name) {
    std::map<std::string, std::vector<std::int64_t>> result;
    for (const auto& tensor : find_model(name).make(kClasses)->named_parameters()) {
      result[tensor.key()] = tensor.value().sizes().vec();
    }
    return result;
  };
  CHECK(shapes("cifar_mobilenet_v2_0.5") == shapes("mobilenet_v2_0.5"));
}

TEST_CASE("every network returns one logit per class for its image size") {
  const torch::NoGradGuard no_grad;
  for (const ModelInfo& info : kModelInfos) {
    const ModelEntry entry = find_model(info.name);
    CAPTURE(std::string(entry.name));
    const torch::Tensor y = entry.make(7)->forward(torch::zeros({2, 3, entry.image_size, entry.image_size}));
    CHECK(y.sizes() == torch::IntArrayRef({2, 7}));
  }
}

TEST_CASE("an unknown model is rejected with the known names") {
  CHECK_THROWS_WITH(find_model("resnet19"), Catch::Contains("resnet19") && Catch::Contains("mobilenet_v2"));
}

TEST_CASE("a number after the name is the width multiplier") {
  CHECK(find_model("mobilenet_v2").width == 1);
  CHECK(find_model("mobilenet_v2_0.35").width == 0.35);
  CHECK(find_model("mobilenet_v3_large_2").width == 2);
  CHECK(find_model("efficientnet_b0_0.5").name == "efficientnet_b0");
  const NetworkPtr narrow = find_model("cifar_resnet18_0.25").make(kClasses);
  CHECK(narrow->named_parameters()["fc.weight"].sizes().vec() == std::vector<std::int64_t>{kClasses, 128});
  const auto text = GENERATE("mobilenet_v2_", "mobilenet_v2_0", "mobilenet_v2_0.0", "mobilenet_v2_2.01",
                             "mobilenet_v2_-1", "mobilenet_v2_1e0", "mobilenet_v2_0.5x", "mobilenet_v2_nan",
                             "mobilenet_v2_.5", "mobilenet_v20.5", "mobilenet_v3_0.5", "resnet18_0.5", "");
  CAPTURE(text);
  CHECK_THROWS_AS(find_model(text), Error);
}

TEST_CASE(
    "weights with a wrong shape or value, or a missing or unknown tensor, are rejected by name and change nothing") {
  const NetworkPtr network = find_model("cifar_net").make(kClasses);
  const auto before = network_state(*network)[0].tensor.clone();
  const auto error_message = [&](const std::vector<StateEntry>& entries) -> std::string {
    std::vector<torch::Tensor> kept;
    std::vector<TensorToStore> tensors;
    for (const StateEntry& entry : entries) {
      kept.push_back((entry.tensor.detach() + 1).contiguous());
      tensors.push_back({entry.name,
                         entry.tensor.is_floating_point() ? "F32" : "I64",
                         kept.back().sizes().vec(),
                         {static_cast<const std::uint8_t*>(kept.back().data_ptr()), kept.back().nbytes()}});
    }
    const std::string file = safetensors_file(tensors);
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    try {
      load_state(network_state(*network), {parse_safetensors(bytes, "x"), bytes, "x"});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      return error.what();
    }
    return "accepted";
  };

  auto entries = network_state(*network);
  entries.back() = {entries.back().name, torch::zeros({3})};
  const std::string last = entries.back().name;
  CHECK_THAT(error_message(entries), Catch::Contains(last) && Catch::Contains("[3]"));
  entries = network_state(*network);
  entries.push_back({"extra.weight", torch::zeros({1})});
  CHECK_THAT(error_message(entries), Catch::Contains("extra.weight"));
  entries = network_state(*network);
  entries.erase(entries.begin());
  CHECK_THAT(error_message(entries), Catch::Contains("features.0.0.weight") && Catch::Contains("missing"));
  entries = network_state(*network);
  entries[0].tensor = entries[0].tensor.detach().clone();
  entries[0].tensor.view(-1)[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(error_message(entries), Catch::Contains("features.0.0.weight") && Catch::Contains("NaN"));
  CHECK(torch::equal(network_state(*network)[0].tensor, before));

  entries = network_state(*network);
  std::erase_if(entries, [](const StateEntry& e) { return e.optional; });
  CHECK(error_message(entries) == "accepted");
  CHECK(torch::equal(network_state(*network)[0].tensor, before + 1));
}

TEST_CASE("a head of other classes keeps its values, and every other tensor must fit") {
  const NetworkPtr network = find_model("cifar_net").make(kClasses);
  const NetworkPtr other = find_model("cifar_net").make(kClasses + 3);
  CHECK(head_of(*network) == "fc.");
  CHECK(head_of(*find_model("mobilenet_v1_0.25").make(2)) == "classifier.");
  CHECK(head_of(*find_model("mobilenet_v2").make(2)) == "classifier.1.");
  CHECK(head_of(*find_model("mobilenet_v3_small").make(2)) == "classifier.3.");
  const auto head = network->named_parameters()["fc.weight"].detach().clone();
  const auto path = std::filesystem::temp_directory_path() / ("unstarve-zoo-test-" + std::to_string(::getpid()));
  std::vector<StateEntry> entries = network_state(*other);
  entries.push_back({"optimiser.momentum.fc.weight", torch::zeros({2})});
  StateCopy(entries, {}).write(path);
  const MappedFile file(path);
  const SafetensorsHeader header = parse_safetensors(file.bytes(), "x");
  std::filesystem::remove(path);

  CHECK_THROWS_AS(load_state(network_state(*network), {header, file.bytes(), "x"}, {"fc."}), Error);
  const auto kept = load_state(network_state(*network), {header, file.bytes(), "x"}, {"fc.", {"optimiser."}});
  CHECK((kept == std::vector<std::string>{"fc.weight", "fc.bias"}));
  CHECK(torch::equal(network->named_parameters()["fc.weight"], head));
  CHECK(torch::equal(network_state(*network)[0].tensor, network_state(*other)[0].tensor));
}

// Run by tests/python/interop/test_models.py, which made the file with weights.convert(). UNSTARVE_TEST_LOGITS is a
// file with the expected logits; without it they are the recorded ones.
TEST_CASE("weights converted by Python load and give torchvision's logits", "[.python]") {
  const char* path = std::getenv("UNSTARVE_TEST_WEIGHTS");
  const char* name = std::getenv("UNSTARVE_TEST_MODEL");
  const char* logits = std::getenv("UNSTARVE_TEST_LOGITS");
  REQUIRE(path != nullptr);
  REQUIRE(name != nullptr);
  const NetworkPtr network = find_model(name).make(kClasses);
  const MappedFile file(path);
  load_state(network_state(*network), {parse_safetensors(file.bytes(), path), file.bytes(), path});
  check_logits(*network, logits != nullptr ? parse_json(read_text_file(logits)) : golden()[name]);
}

}  // namespace unstarve
