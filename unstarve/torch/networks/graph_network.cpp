#include "unstarve/torch/networks/graph_network.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/structure.h"
#include "unstarve/torch/common/graph_checkpoint.h"
#include "unstarve/torch/networks/nested_modules.h"
#include "unstarve/torch/networks/node_operators.h"

namespace unstarve {
namespace {

using infer::Graph;
using infer::Node;
using infer::OpKind;
using infer::Value;
using infer::ValueId;

// The constants of a batch norm, in the order of the inputs of its node from the second one on.
constexpr std::array<std::string_view, 4> kNormTensors{".weight", ".bias", ".running_mean", ".running_var"};

bool is_layer(OpKind kind) { return kind == OpKind::kConv || kind == OpKind::kGemm || kind == OpKind::kMatMul; }

// Whether constants that the operator reads are trained.
bool trains_constants(OpKind kind) {
  return is_layer(kind) || kind == OpKind::kAdd || kind == OpKind::kSub || kind == OpKind::kMul || kind == OpKind::kDiv;
}

bool is_weight(const Value& value) { return value.constant && !value.type.shape.empty(); }

void check_form(const Graph& graph) {
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1)
    throw Error(ErrorKind::kInput, fmt::format("train {}: found {} inputs and {} outputs; expected one of each",
                                               graph.name, graph.inputs.size(), graph.outputs.size()));
  for (const Node& node : graph.nodes) {
    if (node.kind != OpKind::kBatchNormalization) continue;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Value& value = graph.value(node.inputs[i]);
      if (!value.constant || value.type.element != infer::ElementType::kFloat32)
        throw Error(ErrorKind::kInput,
                    fmt::format("train {}: batch norm '{}' reads '{}', {}; expected a float32 constant", graph.name,
                                node.name, value.name, value.constant ? text_of(value.type) : "which is computed"));
    }
  }
}

// The common beginning of the names of a batch norm's constants; "": they have none.
std::string stem_of(const Graph& graph, const Node& norm) {
  const std::string& first = graph.value(norm.inputs[1]).name;
  if (!first.ends_with(kNormTensors[0])) return "";
  const std::string stem = first.substr(0, first.size() - kNormTensors[0].size());
  for (std::size_t i = 0; i < kNormTensors.size(); ++i)
    if (graph.value(norm.inputs[i + 1]).name != stem + std::string(kNormTensors[i])) return "";
  return stem;
}

// Gives the constants of batch norms names with a common beginning, so that each norm can be one module.
void name_norms(Graph& graph) {
  std::map<ValueId, std::string> named;  // the first constant of a norm; several norms may share constants
  for (const Node& node : graph.nodes) {
    if (node.kind != OpKind::kBatchNormalization || !stem_of(graph, node).empty()) continue;
    if (named.contains(node.inputs[1])) continue;
    const std::string stem = graph.unique_name(node.name + ".norm");
    for (std::size_t i = 0; i < kNormTensors.size(); ++i)
      graph.values[node.inputs[i + 1]].name = stem + std::string(kNormTensors[i]);
    named[node.inputs[1]] = stem;
  }
}

std::optional<Activation> activation_of(const Node& node) {
  if (node.kind == OpKind::kRelu) return Activation::kRelu;
  if (node.kind == OpKind::kHardSwish) return Activation::kHardswish;
  if (node.kind != OpKind::kClip) return std::nullopt;
  const auto& of = std::get<infer::ClipAttributes>(node.attributes);
  return of.low == 0 && of.high == 6 ? std::optional(Activation::kRelu6) : std::nullopt;
}

}  // namespace

GraphNetwork::GraphNetwork(Graph graph, NetworkPtr origin, const std::vector<ValueId>& kept)
    : origin_(std::move(origin)) {
  check_form(graph);
  if (!origin_) name_norms(graph);
  constants_.resize(graph.values.size());
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].constant && !is_weight(graph.values[id]))
      constants_[id] = torch_tensor_of(*graph.values[id].constant);
  const NormModules norms = origin_ ? modules_of_origin(graph) : make_modules(graph);
  structure_ = infer::without_weights(std::move(graph));
  make_steps(norms, kept);
}

GraphNetwork::NormModules GraphNetwork::modules_of_origin(const Graph& graph) {
  for (const auto& child : origin_->named_children()) register_module(child.key(), child.value());
  const auto parameters = named_parameters(), buffers = named_buffers();
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (!is_weight(value)) continue;
    const torch::Tensor* const parameter = parameters.find(value.name);
    const torch::Tensor* const found = parameter != nullptr ? parameter : buffers.find(value.name);
    if (found == nullptr)
      throw Error(ErrorKind::kInternal,
                  fmt::format("train {}: constant '{}' is not a tensor of the network", graph.name, value.name));
    constants_[id] = *found;
  }
  const auto modules = named_modules("", /*include_self=*/false);
  NormModules norms(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != OpKind::kBatchNormalization) continue;
    const auto* const module = modules.find(stem_of(graph, graph.nodes[i]));
    if (module != nullptr) norms[i] = std::dynamic_pointer_cast<BatchNorm>(*module);
    if (!norms[i])
      throw Error(ErrorKind::kInternal, fmt::format("train {}: batch norm '{}' is not a module of the network",
                                                    graph.name, graph.nodes[i].name));
  }
  return norms;
}

// In the order of the nodes, so that parameters have the order of the layers.
GraphNetwork::NormModules GraphNetwork::make_modules(const Graph& graph) {
  NormModules norms(graph.nodes.size());
  const auto add_tensor = [&](ValueId id, bool trained) {
    const Value& value = graph.value(id);
    if (!is_weight(value) || constants_[id].defined()) return;
    const auto [parent, key] = parent_of(*this, value.name);
    const torch::Tensor tensor = torch_tensor_of(*value.constant);
    const bool parameter = trained && value.type.element == infer::ElementType::kFloat32;
    constants_[id] = parameter ? parent->register_parameter(key, tensor) : parent->register_buffer(key, tensor);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == OpKind::kBatchNormalization) {
      const auto shares = [&](const std::shared_ptr<BatchNorm>& norm) {
        return norm && norm->named_parameters()["weight"].is_same(constants_[node.inputs[1]]);
      };
      const auto shared = std::ranges::find_if(norms, shares);
      norms[i] = shared != norms.end() ? *shared : add_norm(graph, node);
    } else {
      for (const ValueId input : node.inputs) add_tensor(input, trains_constants(node.kind));
    }
  }
  return norms;
}

std::shared_ptr<BatchNorm> GraphNetwork::add_norm(const Graph& graph, const Node& node) {
  const auto channels = static_cast<int>(graph.value(node.inputs[1]).type.shape[0]);
  const auto [parent, key] = parent_of(*this, stem_of(graph, node));
  auto norm = parent->register_module(
      key, std::make_shared<BatchNorm>(
               channels, BatchNormRule{.epsilon = std::get<infer::NormAttributes>(node.attributes).epsilon}));
  const torch::NoGradGuard no_grad;
  const auto parameters = norm->named_parameters(), buffers = norm->named_buffers();
  for (std::size_t i = 0; i < kNormTensors.size(); ++i) {
    const std::string name(kNormTensors[i].substr(1));
    const torch::Tensor* const parameter = parameters.find(name);
    const torch::Tensor tensor = parameter != nullptr ? *parameter : buffers[name];
    constants_[node.inputs[i + 1]] = tensor;
    tensor.detach().copy_(torch_tensor_of(*graph.value(node.inputs[i + 1]).constant));
  }
  return norm;
}

void GraphNetwork::make_steps(const NormModules& norms, const std::vector<ValueId>& kept) {
  std::vector<std::vector<std::size_t>> users = structure_.users();
  for (const ValueId value : kept) users[value].push_back(Graph::kNoNode);  // read by rounded()
  std::vector<bool> done(structure_.nodes.size(), false);
  for (std::size_t i = 0; i < structure_.nodes.size(); ++i) {
    if (done[i]) continue;
    Step step{.node = i, .norm = norms[i], .x = structure_.nodes[i].inputs[0]};
    if (step.norm) absorb(step, users, done);
    steps_.push_back(std::move(step));
  }
  // A step runs where its last node is: what it adds is computed before.
  std::ranges::sort(steps_, {}, &Step::node);
  std::vector<bool> read(structure_.values.size(), false);
  for (const ValueId output : structure_.outputs) read[output] = true;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::vector<ValueId> inputs = structure_.nodes[step->node].inputs;
    if (step->norm) {
      inputs = {step->x};
      inputs.insert(inputs.end(), step->inner.begin(), step->inner.end());
      inputs.insert(inputs.end(), step->outer.begin(), step->outer.end());
    }
    for (const ValueId input : inputs) {
      if (!read[input] && !constants_[input].defined()) step->last_read.push_back(input);
      read[input] = true;
    }
  }
}

// Adds the activation and the addition that follow a batch norm to its step, as long as nothing else reads the values
// between them.
void GraphNetwork::absorb(Step& step, const std::vector<std::vector<std::size_t>>& users,
                          std::vector<bool>& done) const {
  for (;;) {
    const ValueId output = structure_.nodes[step.node].output;
    if (users[output].size() != 1 || structure_.is_output(output) || !step.outer.empty()) return;
    const std::size_t next = users[output][0];
    if (done[next]) return;  // added to the other batch norm whose result it reads
    const Node& node = structure_.nodes[next];
    if (const auto activation = activation_of(node); activation && step.activation == Activation::kNone) {
      step.activation = *activation;
    } else if (node.kind == OpKind::kAdd && step.inner.empty()) {
      const ValueId other = node.inputs[0] == output ? node.inputs[1] : node.inputs[0];
      if (constants_[other].defined() || structure_.value(other).type != structure_.value(output).type) return;
      (step.activation == Activation::kNone ? step.inner : step.outer).push_back(other);
      step.add = next;
    } else {
      return;
    }
    step.node = next;
    done[next] = true;
  }
}

void GraphNetwork::set(Values& values, ValueId id, torch::Tensor value) {
  values.rounded[id] = rounded(id, value);
  values.exact[id] = std::move(value);
}

torch::Tensor GraphNetwork::run(const Step& step, const Values& values) {
  const auto read = [&](ValueId id, std::size_t node) {
    const bool of_rounded = values.rounded[id].defined() && reads_rounded(node);
    return of_rounded ? values.rounded[id] : values.exact[id];
  };
  if (step.norm) {
    const auto residual = [&](const std::vector<ValueId>& of) {
      return of.empty() ? torch::Tensor() : read(of[0], step.add);
    };
    return step.norm->forward(values.exact[step.x], {step.activation, residual(step.inner), residual(step.outer)});
  }
  const Node& node = structure_.nodes[step.node];
  std::vector<torch::Tensor> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(read(input, step.node));
  const bool weighted = is_layer(node.kind) && constants_[node.inputs[1]].defined();
  if (weighted) inputs[1] = weights_of(step.node, inputs[1]);
  torch::Tensor y = compute_node(node, inputs);
  if (weighted) {
    const std::int64_t outputs = structure_.value(node.output).type.shape[node.kind == OpKind::kConv ? 1 : y.dim() - 1];
    macs_ += static_cast<double>(y.numel() / y.size(0) / outputs) * static_cast<double>(inputs[1].numel());
  }
  return y;
}

torch::Tensor GraphNetwork::forward(torch::Tensor x) {
  macs_ = 0;
  Values values{constants_, std::vector<torch::Tensor>(constants_.size())};
  set(values, structure_.inputs[0], std::move(x));
  for (const Step& step : steps_) {
    torch::Tensor y = run(step, values);
    for (const ValueId id : step.last_read) {
      values.exact[id].reset();
      values.rounded[id].reset();
    }
    set(values, structure_.nodes[step.node].output, std::move(y));
  }
  return values.exact[structure_.outputs[0]];
}

void GraphNetwork::prepare(const torch::Tensor& images, const SumOverRanks* sum) {
  if (origin_) origin_->prepare(images, sum);
}

torch::Tensor GraphNetwork::whitening_bias() const { return origin_ ? origin_->whitening_bias() : torch::Tensor(); }

std::map<std::string, std::string> GraphNetwork::metadata() const {
  std::map<std::string, std::string> metadata{{kGraphKey, text_of_structure(structure_)}};
  if (origin_) metadata[kModulesKey] = "zoo";
  return metadata;
}

std::string GraphNetwork::head() const {
  for (auto node = structure_.nodes.rbegin(); node != structure_.nodes.rend(); ++node) {
    if ((node->kind != OpKind::kGemm && node->kind != OpKind::kMatMul) || !constants_[node->inputs[1]].defined())
      continue;
    const std::string& name = structure_.value(node->inputs[1]).name;
    return name.substr(0, name.rfind('.') + 1);
  }
  return "";
}

Graph GraphNetwork::graph() const {
  std::map<std::string_view, const torch::Tensor*> by_name;
  for (ValueId id = 0; id < structure_.values.size(); ++id)
    if (constants_[id].defined()) by_name[structure_.values[id].name] = &constants_[id];
  return infer::with_weights(structure_, [&](const Value& value) { return graph_tensor_of(*by_name.at(value.name)); });
}

}  // namespace unstarve
