#pragma once
// Layers of the networks: thin modules over one ATen call each, with torchvision's parameter names.
//
// Every layer is a Network with one input and one output tensor. Convolutions and linear layers record the
// multiply-adds per image of their latest forward pass, so that running a network once counts its cost.
// Ownership: a module owns its children and parameters, as torch modules do.
// Threads:   a network belongs to one thread at a time.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "unstarve/models/kernels/fused_batch_norm.h"
#include "unstarve/models/kernels/synchronised_batch_norm.h"

namespace unstarve {

class Network : public torch::nn::Module {
 public:
  [[nodiscard]] virtual torch::Tensor forward(torch::Tensor x) = 0;
  // Mean loss of a batch, by default the cross entropy. `labels`: classes (samples), or probabilities
  // (samples, classes).
  [[nodiscard]] virtual torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels,
                                           double label_smoothing);
  // Adds the gradients of `loss` to those of the parameters.
  virtual void backward(const torch::Tensor& loss) { loss.backward(); }
  // Computes fixed weights from the first batch of training images: N x 3 x H x W, normalised, float32. Must be called
  // once before training if prepared() is false; state that is loaded afterwards replaces the weights. With `sum`, all
  // ranks call it at the same time, and the weights are those of all their images together.
  virtual void prepare(const torch::Tensor& images, const SumOverRanks* sum) {
    (void)images;
    (void)sum;
  }
  // False while fixed weights are missing. Waits for the device.
  [[nodiscard]] virtual bool prepared() const { return true; }
  // Called before each training step, with the share of the run that is completed with it. True if the passes of the
  // network are other operations from now on.
  [[nodiscard]] virtual bool advance(double share) {
    (void)share;
    return false;
  }
  // What a checkpoint contains about the network in addition to its state.
  [[nodiscard]] virtual std::map<std::string, std::string> metadata() const { return {}; }
  // Whether the buffer has been infinite since the beginning, such as the mask of an attention: a checkpoint may
  // contain it, and averages do not compute with it.
  [[nodiscard]] virtual bool is_infinite(const std::string& buffer) const {
    (void)buffer;
    return false;
  }
  // The bias of the whitening layer; undefined: there is none.
  [[nodiscard]] virtual torch::Tensor whitening_bias() const { return {}; }
  // The name of the last linear layer with a dot at the end, for networks whose layers are no Linear; "": head_of()
  // searches it.
  [[nodiscard]] virtual std::string head() const { return {}; }
  // Multiply-adds per image of the latest forward pass of this layer, without children.
  [[nodiscard]] virtual double own_macs() const { return 0; }
};

using NetworkPtr = std::shared_ptr<Network>;

// Children "0", "1", ... in sequence.
class Chain final : public Network {
 public:
  Chain() = default;
  explicit Chain(const std::vector<NetworkPtr>& children);
  void add(NetworkPtr child);
  torch::Tensor forward(torch::Tensor x) override;

 private:
  std::vector<NetworkPtr> children_;
};

enum class ConvStart {
  kFanOut,  // He's initialisation over the outputs: normal, deviation sqrt(2 / (out * kernel * kernel))
  kDirac,   // uniform in +-1/sqrt(inputs of a filter); the first `in` filters copy one channel each
};

// Square kernels, by default without bias, because batch norm follows. Weights by `start`, also with groups, as in
// torchvision. Bias 0.
struct ConvShape {
  int in = 0;
  int out = 0;
  int kernel = 3;
  int stride = 1;
  int padding = 1;
  int groups = 1;
  bool bias = false;
  ConvStart start = ConvStart::kFanOut;
};

class Conv final : public Network {
 public:
  explicit Conv(const ConvShape& shape);
  torch::Tensor forward(torch::Tensor x) override;
  double own_macs() const override { return macs_; }
  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  // Height of the input of the latest forward pass.
  [[nodiscard]] int input_height() const { return input_height_; }
  // Whether winograd_convolution() is used where winograd_pays(), from now on; it is at first.
  void use_winograd(bool on) { winograd_ = on; }

 private:
  ConvShape shape_;
  torch::Tensor weight_;
  torch::Tensor bias_;  // undefined: none
  double macs_ = 0;
  int input_height_ = 0;
  bool winograd_ = true;
};

struct BatchNormRule {
  double momentum = 0.1;  // share of the present batch in the running statistics
  double epsilon = 1e-5;  // added to the variance
  bool scale = true;      // whether the scale is trained; false: it is a buffer
};

// Scale 1, shift 0. Training on one value per channel throws Error(kInput), as its variance is unknown.
class BatchNorm final : public Network {
 public:
  explicit BatchNorm(int channels, const BatchNormRule& rule = {});
  torch::Tensor forward(torch::Tensor x) override { return forward(std::move(x), {}); }
  // With an activation and the addition of a residual, in the same passes over memory where fused_batch_norm.h can.
  torch::Tensor forward(const torch::Tensor& x, const AfterNorm& after);
  // In training, from now on, with the statistics of the batches of all ranks. `sum` is borrowed.
  void synchronise(const SumOverRanks* sum) { sum_over_ranks_ = sum; }
  // The share of the present batch in the running statistics, from now on.
  void set_momentum(double momentum) { rule_.momentum = momentum; }
  // Whether batch norm is fused with what follows it in training, from now on; it is at first.
  void fuse(bool on) { fused_ = on; }

 private:
  torch::Tensor weight_;
  torch::Tensor bias_;
  torch::Tensor running_mean_;
  torch::Tensor running_var_;
  torch::Tensor num_batches_tracked_;
  BatchNormRule rule_;
  const SumOverRanks* sum_over_ranks_ = nullptr;
  bool fused_ = true;
};

// A convolution, batch norm, and what follows it; with the names of a Chain: "0", "1".
class ConvNorm final : public Network {
 public:
  explicit ConvNorm(const ConvShape& shape, Activation activation = Activation::kNone, const BatchNormRule& rule = {});
  torch::Tensor forward(torch::Tensor x) override { return forward(std::move(x), {}); }
  // With a residual, added to the output.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual);

 private:
  std::shared_ptr<Conv> conv_;
  std::shared_ptr<BatchNorm> norm_;
  Activation activation_;
};

enum class LinearStart {
  kFanIn,   // weights and bias uniform in +-1/sqrt(in)
  kFanOut,  // weights uniform in +-1/sqrt(out), bias 0
  kNormal,  // weights normal with deviation 0.01, bias 0
  kNoBias,  // weights as kFanIn, no bias
};

class Linear final : public Network {
 public:
  Linear(int in, int out, LinearStart start = LinearStart::kFanIn);
  torch::Tensor forward(torch::Tensor x) override;
  double own_macs() const override { return macs_; }
  [[nodiscard]] int in() const { return static_cast<int>(weight_.size(1)); }
  [[nodiscard]] int out() const { return static_cast<int>(weight_.size(0)); }

 private:
  torch::Tensor weight_;
  torch::Tensor bias_;  // undefined: none
  double macs_ = 0;
};

// Layers without parameters.
class Hardswish final : public Network {
 public:
  torch::Tensor forward(torch::Tensor x) override { return torch::hardswish(x); }
};

class Dropout final : public Network {
 public:
  explicit Dropout(double probability) : probability_(probability) {}
  torch::Tensor forward(torch::Tensor x) override { return torch::dropout(x, probability_, is_training()); }

 private:
  double probability_;
};

class MaxPool final : public Network {
 public:
  MaxPool(int kernel, int stride, int padding) : kernel_(kernel), stride_(stride), padding_(padding) {}
  torch::Tensor forward(torch::Tensor x) override {
    return torch::max_pool2d(x, {kernel_, kernel_}, {stride_, stride_}, {padding_, padding_});
  }

 private:
  int kernel_;
  int stride_;
  int padding_;
};

// Mean or maximum over all positions: N x C x H x W to N x C.
[[nodiscard]] torch::Tensor global_mean(const torch::Tensor& x);
[[nodiscard]] torch::Tensor global_max(const torch::Tensor& x);

// Multiply-adds of one forward pass for one square image of `image_size`. Runs an image of zeros in evaluation mode and
// leaves the network unchanged.
[[nodiscard]] double count_macs(Network& network, int image_size);
[[nodiscard]] std::int64_t count_parameters(const Network& network);
// The name of the last linear layer, whose outputs are the classes, with a dot at the end: "fc.", "classifier.1.".
[[nodiscard]] std::string head_of(const Network& network);

}  // namespace unstarve
