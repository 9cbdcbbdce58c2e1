// Networks of graphs compute and train as the networks of which the graphs are.

#include "unstarve/torch/networks/graph_network.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/structure.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/testing/small_graph.h"
#include "unstarve/models/weights.h"
#include "unstarve/models/zoo.h"
#include "unstarve/torch/import/network_graph.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

using infer::Graph;
using infer::OpKind;
using infer::ValueId;

constexpr int kClasses = 7;

NetworkPtr zoo_network(const ModelEntry& entry, std::uint64_t seed) {
  torch::manual_seed(seed);
  NetworkPtr network = entry.make(kClasses);
  if (!network->prepared()) network->prepare(torch::randn({8, 3, 32, 32}), nullptr);
  return network;
}

// Layers that draw random numbers do nothing, as in a graph.
void disable_random_layers(Network& network) {
  for (const auto& module : network.modules(/*include_self=*/false)) {
    const std::string name = module->name();
    if (name.find("Dropout") != std::string::npos || name.find("StochasticDepth") != std::string::npos) module->eval();
  }
}

void sgd_step(Network& network, const torch::Tensor& images, const torch::Tensor& labels) {
  network.loss(network.forward(images), labels, 0).backward();
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : network.parameters())
    if (parameter.grad().defined()) parameter.sub_(parameter.grad(), 0.1);
}

void check_close(const torch::Tensor& a, const torch::Tensor& b) {
  const double scale = std::max(1e-2, b.abs().max().item<double>());
  CHECK((a - b).abs().max().item<double>() <= 1e-5 * scale);
}

std::map<std::string, torch::Tensor> state_of(const Network& network) {
  std::map<std::string, torch::Tensor> state;
  for (const StateEntry& entry : network_state(network)) state[entry.name] = entry.tensor.detach();
  return state;
}

void check_same_step(Network& network, Network& of_graph, bool channels_last) {
  const auto format = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  torch::manual_seed(5);
  // In float64: the rounding of float32 decides which values an activation cuts, and differs between CPUs.
  // The epsilons of batch norms, float32 in a graph, remain different.
  const torch::Tensor images = torch::randn({8, 3, 32, 32}, torch::kFloat64).contiguous(format);
  for (Network* each : {&network, &of_graph}) each->to(torch::kFloat64);
  const torch::Tensor labels = torch::randint(kClasses, {8}, torch::kInt64);
  {
    const torch::NoGradGuard no_grad;
    network.eval();
    of_graph.eval();
    check_close(of_graph.forward(images), network.forward(images));
  }
  network.train();
  of_graph.train();
  disable_random_layers(network);
  sgd_step(network, images, labels);
  sgd_step(of_graph, images, labels);
  const auto expected = state_of(network), found = state_of(of_graph);
  REQUIRE(found.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    CAPTURE(name);
    REQUIRE(found.contains(name));
    check_close(found.at(name).to(torch::kFloat64), tensor.to(torch::kFloat64));
  }
}

torch::Tensor values(const std::vector<float>& numbers) { return torch::tensor(numbers); }

// A graph with one input x of this shape and one node of it.
Graph one_node(const infer::Shape& shape, OpKind kind, const infer::Attributes& attributes = {}) {
  Graph graph;
  const ValueId x = graph.add_input("x", {infer::ElementType::kFloat32, shape});
  graph.outputs = {graph.add_node("y", kind, {x}, attributes)};
  return graph;
}

}  // namespace

TEST_CASE("the graph of every network of the zoo computes and trains as the network") {
  for (const ModelInfo& info : kModelInfos) {
    const ModelEntry entry = find_model(info.name);
    CAPTURE(entry.name);
    const NetworkPtr network = zoo_network(entry, 1);
    const NetworkPtr of_graph = std::make_shared<GraphNetwork>(graph_of_network(*network, 32), zoo_network(entry, 1));
    CHECK(head_of(*of_graph) == head_of(*network));
    CHECK(count_macs(*of_graph, 32) == count_macs(*network, 32));
    check_same_step(*network, *of_graph, /*channels_last=*/true);
  }
}

TEST_CASE("a network that is made from constants alone has the names and trains as the original") {
  for (const std::string_view name : {"cifar_net", "resnet18", "mobilenet_v2"}) {
    CAPTURE(name);
    const NetworkPtr network = zoo_network(find_model(name), 2);
    const NetworkPtr of_graph = std::make_shared<GraphNetwork>(graph_of_network(*network, 32));
    CHECK(head_of(*of_graph) == head_of(*network));
    CHECK(count_parameters(*of_graph) == count_parameters(*network));
    check_same_step(*network, *of_graph, /*channels_last=*/false);
  }
}

TEST_CASE("the graph of a trained network has the new weights") {
  const NetworkPtr network = zoo_network(find_model("cifar_net"), 3);
  const Graph before = graph_of_network(*network, 32);
  GraphNetwork of_graph(before);
  CHECK(of_graph.structure().constant_bytes() < 100);
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : of_graph.parameters()) parameter.add_(1);
  }
  const Graph after = of_graph.graph();
  CHECK(infer::violation(after).empty());
  REQUIRE(after.values.size() == before.values.size());
  for (ValueId id = 0; id < after.values.size(); ++id) {
    if (before.values[id].name != "fc.weight") continue;
    const auto a = infer::floats_of(*after.values[id].constant), b = infer::floats_of(*before.values[id].constant);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == b[i] + 1);
  }
}

TEST_CASE("batch norms whose constants have other names, or are shared, become modules") {
  Graph graph = infer::testing::small_network();  // bn.mean and bn.var instead of running_mean and running_var
  const std::vector<float> images = infer::testing::ramp(100, -1, 0.2F);
  const std::vector<float> expected = infer::testing::compute(graph, images);
  GraphNetwork network(graph);
  network.eval();
  CHECK(state_of(network).contains("bn.norm.running_mean"));
  const torch::NoGradGuard no_grad;
  const torch::Tensor y = network.forward(values(images).view({2, 2, 5, 5}));
  REQUIRE(y.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(y.flatten()[static_cast<std::int64_t>(i)].item<float>() == Approx(expected[i]).margin(1e-5));

  // The same norm again on its own result.
  const infer::Node norm = graph.nodes[1];
  const ValueId again = graph.add_node(
      "again", OpKind::kBatchNormalization,
      {graph.outputs[0], norm.inputs[1], norm.inputs[2], norm.inputs[3], norm.inputs[4]}, norm.attributes);
  graph.outputs = {again};
  GraphNetwork shared(graph);
  CHECK(shared.parameters().size() == 3);
}

TEST_CASE("pooling with pads of two sizes is that of ONNX") {
  const torch::Tensor x = torch::arange(9, torch::kFloat32).view({1, 1, 3, 3});
  const infer::Window window{.kernel = {2, 2}, .strides = {1, 1}, .pads = {0, 0, 1, 1}};
  GraphNetwork largest(one_node({1, 1, 3, 3}, OpKind::kMaxPool, infer::PoolAttributes{window, false, false}));
  CHECK(torch::equal(largest.forward(x).flatten(), values({4, 5, 5, 7, 8, 8, 7, 8, 8})));
  GraphNetwork mean(one_node({1, 1, 3, 3}, OpKind::kAveragePool, infer::PoolAttributes{window, false, false}));
  CHECK(torch::allclose(mean.forward(x).flatten(), values({2, 3, 3.5F, 5, 6, 6.5F, 6.5F, 7.5F, 8})));
  GraphNetwork counted(one_node({1, 1, 3, 3}, OpKind::kAveragePool, infer::PoolAttributes{window, false, true}));
  CHECK(torch::allclose(counted.forward(x).flatten(), values({2, 3, 1.75F, 5, 6, 3.25F, 3.25F, 3.75F, 2})));
  GraphNetwork ceil(one_node({1, 1, 3, 3}, OpKind::kMaxPool, infer::PoolAttributes{window, true, false}));
  CHECK_THAT(testing::error_message([&] { (void)ceil.forward(x); }), Catch::Contains("node 'y' (MaxPool)"));
}

TEST_CASE("pads begin with the first axis") {
  const torch::Tensor x = torch::arange(4, torch::kFloat32).view({1, 1, 2, 2});
  const auto padded = [&](infer::PadMode mode) {
    GraphNetwork network(one_node({1, 1, 2, 2}, OpKind::kPad, infer::PadAttributes{{0, 0, 1, 0, 0, 0, 0, 1}, mode, 9}));
    return network.forward(x);
  };
  CHECK(torch::equal(padded(infer::PadMode::kConstant).flatten(), values({9, 9, 9, 0, 1, 9, 2, 3, 9})));
  CHECK(torch::equal(padded(infer::PadMode::kReflect).flatten(), values({2, 3, 2, 0, 1, 0, 2, 3, 2})));
  CHECK(torch::equal(padded(infer::PadMode::kEdge).flatten(), values({0, 1, 1, 0, 1, 1, 2, 3, 3})));
}

TEST_CASE("quantised values are those of ONNX") {
  Graph graph;
  const ValueId x = graph.add_input("x", {infer::ElementType::kFloat32, {1, 4}});
  const ValueId scale = graph.add_constant("scale", infer::make_tensor({}, std::vector<float>{0.5F}));
  const ValueId zero = graph.add_constant("zero", {{infer::ElementType::kInt8, {}}, {3}});
  const ValueId q = graph.add_node("q", OpKind::kQuantizeLinear, {x, scale, zero}, infer::AxisAttributes{1});
  graph.outputs = {graph.add_node("y", OpKind::kDequantizeLinear, {q, scale, zero}, infer::AxisAttributes{1})};
  GraphNetwork network(graph);
  const torch::Tensor y = network.forward(values({0.25F, 0.75F, -100, 100}).view({1, 4}));
  CHECK(torch::equal(y.flatten(), values({0, 1, -65.5F, 62})));  // ties go to even levels
}

TEST_CASE("graphs that cannot be trained are rejected") {
  Graph two = one_node({1, 4}, OpKind::kRelu);
  two.outputs.push_back(two.outputs[0]);
  CHECK_THAT(testing::error_message([&] { GraphNetwork network(two); }),
             Catch::Contains("found 1 inputs and 2 outputs; expected one of each"));
}

TEST_CASE("weights of another shape do not fit a structure") {
  const Graph structure = infer::without_weights(infer::testing::small_network());
  CHECK(structure.inputs.size() == 6);
  CHECK(infer::violation(structure).empty());
  const auto other = [](const infer::Value&) { return infer::make_tensor({2}, std::vector<float>{1, 2}); };
  CHECK_THAT(testing::error_message([&] { (void)infer::with_weights(structure, other); }),
             Catch::Contains("weights 'conv.weight': found float32 [2]; expected float32 [4, 2, 3, 3]"));
}

}  // namespace unstarve
