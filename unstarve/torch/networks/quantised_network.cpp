#include "unstarve/torch/networks/quantised_network.h"

#include <utility>

#include "unstarve/infer/passes/pass.h"
#include "unstarve/models/weights.h"
#include "unstarve/torch/common/graph_checkpoint.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/import/network_graph.h"

namespace unstarve {
namespace {

infer::QuantisationPlan plan_of(const infer::Graph& graph) {
  return infer::quantisation_plan(graph, infer::fold_batch_norm(graph).graph);
}

std::vector<infer::ValueId> values_of_plan(const infer::QuantisationPlan& plan) {
  std::vector<infer::ValueId> values;
  for (const auto& activation : plan.activations) values.push_back(activation.value);
  return values;
}

}  // namespace

QuantisedNetwork::QuantisedNetwork(infer::Graph graph, NetworkPtr origin, const QatSettings& settings)
    : QuantisedNetwork(graph, std::move(origin), settings, plan_of(graph)) {}

QuantisedNetwork::QuantisedNetwork(infer::Graph graph, NetworkPtr origin, const QatSettings& settings,
                                   const infer::QuantisationPlan& plan)
    : GraphNetwork(std::move(graph), std::move(origin), values_of_plan(plan)),
      settings_(settings),
      quantiser_(register_module("quantisation", std::make_shared<FakeQuantiser>(plan.activations))) {
  for (std::size_t i = 0; i < plan.activations.size(); ++i) activations_[plan.activations[i].value] = i;
  for (const std::size_t node : plan.layers)
    layers_[node] = static_cast<std::int64_t>(infer::channel_axis(structure().nodes[node]));
}

torch::Tensor QuantisedNetwork::forward(torch::Tensor x) {
  if (is_training()) {
    quantiser_->begin_pass(/*observe=*/!frozen_, rounds_);
    torch::Tensor y = GraphNetwork::forward(std::move(x));
    quantiser_->end_pass();
    return y;
  }
  const AutocastScope exact(x.device().type(), torch::kFloat32);
  quantiser_->begin_pass(/*observe=*/false, quantiser_->observed());
  return GraphNetwork::forward(x.to(torch::kFloat32));
}

void QuantisedNetwork::prepare(const torch::Tensor& images, const SumOverRanks* sum) {
  if (!GraphNetwork::prepared()) GraphNetwork::prepare(images, sum);
  if (quantiser_->observed()) return;
  const torch::NoGradGuard no_grad;
  std::vector<StateEntry> statistics;  // the pass changes those of batch norms
  for (const auto& buffer : named_buffers())
    if (!buffer.key().starts_with("quantisation.")) statistics.push_back({buffer.key(), buffer.value()});
  const StateCopy before(statistics, {});
  const bool rounds = std::exchange(rounds_, false), frozen = std::exchange(frozen_, false);
  (void)forward(images);
  rounds_ = rounds;
  frozen_ = frozen;
  (void)before.load(statistics);
}

bool QuantisedNetwork::advance(double share) {
  const bool rounds = share > settings_.begin, frozen = share > settings_.freeze;
  const bool changed = rounds != rounds_ || frozen != frozen_;
  rounds_ = rounds;
  frozen_ = frozen;
  return changed;
}

void QuantisedNetwork::train(bool on) {
  GraphNetwork::train(on);
  if (!on || !frozen_) return;
  for (const auto& module : modules(/*include_self=*/false))
    if (auto* const norm = dynamic_cast<BatchNorm*>(module.get())) norm->eval();
}

std::map<std::string, std::string> QuantisedNetwork::metadata() const {
  std::map<std::string, std::string> metadata = GraphNetwork::metadata();
  std::vector<std::string> names(activations_.size());
  for (const auto& [value, index] : activations_) names[index] = structure().value(value).name;
  metadata[kLimitsKey] = text_of_names(names);
  return metadata;
}

torch::Tensor QuantisedNetwork::rounded(infer::ValueId id, const torch::Tensor& value) {
  const auto found = activations_.find(id);
  return found == activations_.end() ? torch::Tensor() : quantiser_->activation(found->second, value);
}

bool QuantisedNetwork::reads_rounded(std::size_t node) const {
  return layers_.contains(node) || infer::reads_quantised(structure().nodes[node].kind);
}

torch::Tensor QuantisedNetwork::weights_of(std::size_t node, const torch::Tensor& weights) {
  const auto layer = layers_.find(node);
  return layer == layers_.end() ? weights : quantiser_->weights(weights, layer->second);
}

std::shared_ptr<QuantisedNetwork> quantised_network(const NetworkPtr& network, std::int64_t image_size,
                                                    const QatSettings& settings) {
  const auto* const executed = dynamic_cast<const GraphNetwork*>(network.get());
  infer::Graph graph = executed != nullptr ? executed->graph() : graph_of_network(*network, image_size);
  graph = infer::fold_constants(infer::remove_identities(std::move(graph)).graph).graph;
  return std::make_shared<QuantisedNetwork>(std::move(graph), executed != nullptr ? nullptr : network, settings);
}

}  // namespace unstarve
