#pragma once
// Optimisers: they change the weights, in float32, by the gradients. w: weights, g: gradient, d: weight decay.
//
//   sgd     g <- g + d w;  v <- momentum v + g;  w <- w - rate (g + momentum v)     without nesterov: w <- w - rate v
//   adamw   w <- w - rate d w;  m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2
//           w <- w - rate m' / (sqrt(v') + epsilon)         m' = m / (1 - beta1^t), v' = v / (1 - beta2^t), t: updates
//   lars    g <- r (g + d w), r = trust |w| / (|g| + d |w|);  v <- momentum v + g;  w <- w - rate v
//   lamb    u = m' / (sqrt(v') + epsilon) + d w;  w <- w - rate (|w| / |u|) u
//
// sgd and adamw as in PyTorch; lars: You et al., arXiv:1708.03888, with the rate outside of the momentum as in
// PyTorch's SGD; lamb: You et al., arXiv:1904.00962. Norms are per parameter. A ratio of norms is 1 where one is 0.
//
// Parameters with fewer than two dimensions (biases, batch norm) have no decay and, in lars and lamb, a ratio of 1;
// with `decay_all` they are treated as all others. For biases of batch norms (models/layers.h) the rate is
// norm_bias_rate times as large and d is divided by it, so that they decay as fast as the others. Parameters that
// require no gradient are left unchanged.
//
// Forms (UpdateForm): each, foreach and fused agree up to rounding. lars and lamb have no fused form.
// Where updates_on_device(), the host never waits for the device, and updates can be recorded in a graph.
// Ownership: shares the parameters with their network, owns the rest of the state.
// Threads:   one at a time.

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "unstarve/models/weights.h"
#include "unstarve/train/settings.h"

namespace unstarve {

class Optimiser {
 public:
  virtual ~Optimiser() = default;
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;

  // One update of all parameters that have a gradient. May overwrite the gradients. `found_inf`, if defined, is a flag
  // of one float on the device: if it is not 0, nothing changes. Without updates_on_device(), the host waits for it.
  void step(double learning_rate, const torch::Tensor& found_inf = {});
  // The two parts of step(), for updates that are recorded in a graph (step_graphs.h): the rate of the updates from now
  // on, in the memory of the parameters' device, and an update that reads it there. Only with
  // updates_on_device().
  void set_rate(double learning_rate);
  void step_at_rate(const torch::Tensor& found_inf = {});
  // Gives every parameter without a gradient one of zeros, in memory that stays the same. From then on,
  // clear_gradients() writes zeros.
  void keep_gradients();
  // Drops all gradients.
  void clear_gradients();
  [[nodiscard]] bool has_gradients() const;                    // any
  [[nodiscard]] std::vector<torch::Tensor> gradients() const;  // the defined ones

  // What a checkpoint contains, "optimiser.updates" and "optimiser.<part>.<parameter>"; shares memory with the
  // optimiser. After they were overwritten, restored() must be called.
  [[nodiscard]] std::vector<StateEntry> state() const;
  void restored();
  // As after construction.
  void reset();

 protected:
  using Tensors = std::vector<torch::Tensor>;
  // Parameters that are treated alike, with their gradients and state; elements of all lists correspond.
  struct Group {
    bool decayed = false;
    double rate = 1;  // multiplier of the learning rate
    std::vector<std::string> names{};
    Tensors parameters{};
    Tensors gradients{};           // only in update()
    std::vector<Tensors> parts{};  // by part of the state
  };

  // `parts`: names of the tensors that are kept per parameter. All are zero at first.
  Optimiser(const torch::nn::Module& network, const OptimiserSettings& settings, std::vector<std::string> parts);

  struct Rate {
    double value = 0;
    torch::Tensor tensor{};  // replaces the value if it is defined
    Rate operator*(double factor) const {
      return {value * factor, tensor.defined() && factor != 1 ? tensor * factor : tensor};
    }
  };

  // `found_inf` and the tensor of `rate` are defined only if on_device().
  virtual void update(Group& group, const Rate& rate, const torch::Tensor& found_inf) = 0;
  [[nodiscard]] double decay_of(const Group& group) const {
    return group.decayed ? settings_.weight_decay / group.rate : 0;
  }
  [[nodiscard]] bool fused() const { return settings_.form == UpdateForm::kFused; }
  [[nodiscard]] bool on_device() const { return updates_on_device(settings_); }
  // The number of updates, including this one: on the device, and on the host unless on_device().
  [[nodiscard]] const torch::Tensor& updates() const { return updates_; }
  [[nodiscard]] double host_updates() const { return host_updates_; }

  const OptimiserSettings settings_;

 private:
  [[nodiscard]] Group group_like(const Group& other) const;  // without parameters
  Group& group_with(bool decayed, double rate);
  void update_all(const Rate& rate, const torch::Tensor& found_inf);

  const std::vector<std::string> parts_;
  std::vector<Group> groups_;
  torch::Tensor updates_;
  torch::Tensor rate_;  // of set_rate()
  bool keeps_gradients_ = false;
  double host_updates_ = 0;
};

[[nodiscard]] std::unique_ptr<Optimiser> make_optimiser(const torch::nn::Module& network,
                                                        const OptimiserSettings& settings);

// Scales the gradients so that the norm of all of them together is at most `limit`. Stays on the device. As torch's
// clip_grad_norm_.
void clip_gradients(const std::vector<torch::Tensor>& gradients, double limit);

}  // namespace unstarve
