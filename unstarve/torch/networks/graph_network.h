#pragma once
// A network that is a model graph: executes the nodes by libtorch's operators, on any device, and can be trained.
//
//   infer::Graph ──▶ GraphNetwork ──training──▶ graph() ──▶ infer::Graph with the new weights
//
// Weights:   constants of one dimension or more are tensors of the network under their names: "layer1.0.conv1.weight"
//            is "weight" of the module "layer1.0.conv1". float32 ones that a layer or an arithmetic operator reads are
//            parameters, others are buffers. Scalars stay part of the structure.
// Batch norm: a BatchNorm (models/layers.h), with statistics of batches in training. Fused with the ReLU and addition
//            that follow. Its tensors are named ".weight", ".bias", ".running_mean" and ".running_var" after the common
//            beginning of the names of its constants or, if they have none, the name of the node.
// Training:  a graph describes evaluation, so dropout and stochastic depth are not applied; without `origin` the share
//            of a batch in running statistics is 0.1.
// Images:    sizes may differ from that of the graph unless a node has a fixed shape.
// Ownership: owns modules and structure. Threads: as any Network.
// Failure:   Error(kInput) for a graph without exactly one input and one output, or with batch norms whose inputs are
//            computed; exceptions of libtorch.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "unstarve/infer/graph/graph.h"
#include "unstarve/models/layers.h"

namespace unstarve {

class GraphNetwork : public Network {
 public:
  // `origin`: the network of which `graph` is the import, with the names of its tensors. Its modules become those of
  // this network, so that weights, fixed layers and rules of batch norms are those of `origin`. Null: modules are made
  // from the constants.
  explicit GraphNetwork(infer::Graph graph, NetworkPtr origin = nullptr)
      : GraphNetwork(std::move(graph), std::move(origin), {}) {}

  torch::Tensor forward(torch::Tensor x) override;
  void prepare(const torch::Tensor& images, const SumOverRanks* sum) override;
  [[nodiscard]] bool prepared() const override { return !origin_ || origin_->prepared(); }
  [[nodiscard]] torch::Tensor whitening_bias() const override;
  [[nodiscard]] std::string head() const override;
  [[nodiscard]] double own_macs() const override { return macs_; }
  // The structure (graph_checkpoint.h).
  [[nodiscard]] std::map<std::string, std::string> metadata() const override;

  // The graph with the present weights, copied; waits for the device.
  [[nodiscard]] infer::Graph graph() const;
  // The graph without them (graph/structure.h).
  [[nodiscard]] const infer::Graph& structure() const { return structure_; }

 protected:
  // `kept`: values for which rounded() is called.
  GraphNetwork(infer::Graph graph, NetworkPtr origin, const std::vector<infer::ValueId>& kept);

  // What the nodes of reads_rounded() read instead of a value; undefined: the value.
  virtual torch::Tensor rounded(infer::ValueId id, const torch::Tensor& value) {
    (void)id;
    (void)value;
    return {};
  }
  [[nodiscard]] virtual bool reads_rounded(std::size_t node) const {
    (void)node;
    return false;
  }
  // The weights with which a layer computes.
  [[nodiscard]] virtual torch::Tensor weights_of(std::size_t node, const torch::Tensor& weights) {
    (void)node;
    return weights;
  }

 private:
  // The values of a forward pass, by id.
  struct Values {
    std::vector<torch::Tensor> exact, rounded;
  };
  // Nodes that are computed together: one node, or a batch norm and what follows it.
  struct Step {
    std::size_t node = 0;               // the last one, whose output the step computes
    std::shared_ptr<BatchNorm> norm{};  // null: the operator of the node
    std::size_t add = 0;                // the node that adds the residual
    infer::ValueId x = 0;               // input of the batch norm
    Activation activation = Activation::kNone;
    std::vector<infer::ValueId> inner{}, outer{};  // residuals, as in AfterNorm; at most one
    std::vector<infer::ValueId> last_read{};       // values that no later step reads
  };

  using NormModules = std::vector<std::shared_ptr<BatchNorm>>;  // by node; null: no batch norm

  NormModules make_modules(const infer::Graph& graph);
  NormModules modules_of_origin(const infer::Graph& graph);
  std::shared_ptr<BatchNorm> add_norm(const infer::Graph& graph, const infer::Node& node);
  void make_steps(const NormModules& norms, const std::vector<infer::ValueId>& kept);
  void absorb(Step& step, const std::vector<std::vector<std::size_t>>& users, std::vector<bool>& done) const;
  void set(Values& values, infer::ValueId id, torch::Tensor value);
  torch::Tensor run(const Step& step, const Values& values);

  NetworkPtr origin_;
  infer::Graph structure_;
  std::vector<torch::Tensor> constants_;  // by value; undefined: computed
  std::vector<Step> steps_;
  double macs_ = 0;
};

}  // namespace unstarve
