#pragma once
// A network of a graph that is trained for int8: quantisation-aware training.
//
// Weights and activations are those that quantise() (infer/int8) quantises for the same graph, and are rounded as it
// does (fake_quantiser.h), so that the exported model computes what evaluations of this network compute. A layer and
// its batch norm are exported as one layer with the weights w * s, s = scale / sqrt(variance). The step between two
// levels of an output channel is proportional to s too, so that rounding w is the same as rounding w * s.
//
//   share of the run    0 ........... begin ................. freeze ............. 1
//   training            float32       rounded                 rounded
//   limits, batch norm  observed      observed                fixed
//
// Evaluations are rounded as soon as limits are known, and compute in float32.
//
// Fixed weights: the first limits, which prepare() finds by a forward pass on its images.
// Ownership, threads, failure: as GraphNetwork.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/infer/int8/quantise.h"
#include "unstarve/torch/networks/fake_quantiser.h"
#include "unstarve/torch/networks/graph_network.h"
#include "unstarve/train/settings.h"

namespace unstarve {

class QuantisedNetwork final : public GraphNetwork {
 public:
  // `graph`: as quantisation_plan() requires. `origin`: as of GraphNetwork.
  QuantisedNetwork(infer::Graph graph, NetworkPtr origin, const QatSettings& settings);

  torch::Tensor forward(torch::Tensor x) override;
  void prepare(const torch::Tensor& images, const SumOverRanks* sum) override;
  [[nodiscard]] bool prepared() const override { return GraphNetwork::prepared() && quantiser_->observed(); }
  [[nodiscard]] bool advance(double share) override;
  void train(bool on = true) override;
  // Limits become the means over all ranks. `sum` is borrowed.
  void synchronise(const SumOverRanks* sum) { quantiser_->synchronise(sum); }
  [[nodiscard]] std::map<std::string, std::string> metadata() const override;

 protected:
  torch::Tensor rounded(infer::ValueId id, const torch::Tensor& value) override;
  bool reads_rounded(std::size_t node) const override;
  torch::Tensor weights_of(std::size_t node, const torch::Tensor& weights) override;

 private:
  QuantisedNetwork(infer::Graph graph, NetworkPtr origin, const QatSettings& settings,
                   const infer::QuantisationPlan& plan);

  const QatSettings settings_;
  std::map<infer::ValueId, std::size_t> activations_;  // index of each in the plan
  std::map<std::size_t, std::int64_t> layers_;         // node: axis of its output channels
  std::shared_ptr<FakeQuantiser> quantiser_;
  bool rounds_ = false, frozen_ = false;
};

// With the weights of `network`: one of the zoo, which is in evaluation mode afterwards and whose modules become those
// of the result, or a GraphNetwork. `image_size`: for networks of the zoo.
[[nodiscard]] std::shared_ptr<QuantisedNetwork> quantised_network(const NetworkPtr& network, std::int64_t image_size,
                                                                  const QatSettings& settings);

}  // namespace unstarve
