#include "unstarve/torch/updates/optimiser.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

using Tensors = std::vector<torch::Tensor>;

std::optional<torch::Tensor> optional(const torch::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

// For a parameter. The layout of a dense one, otherwise contiguous, as libtorch makes gradients: fused kernels ignore
// strides.
torch::Tensor zeros_for(const torch::Tensor& parameter) {
  const bool dense = parameter.is_non_overlapping_and_dense();
  return torch::zeros_like(parameter, {}, dense ? torch::MemoryFormat::Preserve : torch::MemoryFormat::Contiguous)
      .detach();
}

// `numerator` / `denominator` for each pair, 1 where one of them is 0; stays on the device.
Tensors ratios(const Tensors& numerators, const torch::Tensor& denominators) {
  const torch::Tensor above = torch::stack(numerators);
  return torch::where((above > 0) & (denominators > 0), above / denominators, torch::ones_like(above)).unbind();
}

// Names of parameters.
std::set<std::string> norm_biases_of(const torch::nn::Module& network) {
  std::set<std::string> names;
  for (const auto& module : network.named_modules({}, /*include_self=*/false)) {
    if (dynamic_cast<const BatchNorm*>(module.value().get()) != nullptr) names.insert(module.key() + ".bias");
  }
  return names;
}

class Sgd final : public Optimiser {
 public:
  Sgd(const torch::nn::Module& network, const OptimiserSettings& settings)
      : Optimiser(network, settings, {"momentum"}) {}

 private:
  void update(Group& group, const Rate& rate, const torch::Tensor& found_inf) override {
    Tensors &parameters = group.parameters, &gradients = group.gradients, &momentum = group.parts[0];
    if (fused()) {
      const bool plain = settings_.momentum == 0;  // the kernel then expects no state and no nesterov
      const auto run = [&](const auto& learning_rate) {
        at::_fused_sgd_(parameters, gradients, plain ? Tensors() : momentum, decay_of(group), settings_.momentum,
                        learning_rate, /*dampening=*/0, settings_.nesterov && !plain, /*maximize=*/false,
                        /*is_first_step=*/false, /*grad_scale=*/std::nullopt, optional(found_inf));
      };
      return rate.tensor.defined() ? run(rate.tensor) : run(rate.value);
    }
    if (decay_of(group) != 0) at::_foreach_add_(gradients, parameters, decay_of(group));
    at::_foreach_mul_(momentum, settings_.momentum);
    at::_foreach_add_(momentum, gradients);
    if (!settings_.nesterov) return at::_foreach_add_(parameters, momentum, -rate.value);
    at::_foreach_add_(gradients, momentum, settings_.momentum);
    at::_foreach_add_(parameters, gradients, -rate.value);
  }
};

// The running means of adamw and lamb.
class AdaptiveOptimiser : public Optimiser {
 protected:
  AdaptiveOptimiser(const torch::nn::Module& network, const OptimiserSettings& settings)
      : Optimiser(network, settings, {"mean", "square"}) {}

  // Updates the means and returns sqrt(v') + epsilon.
  Tensors update_means(Group& group) const {
    Tensors& mean = group.parts[0];
    Tensors& square = group.parts[1];
    at::_foreach_lerp_(mean, group.gradients, 1 - settings_.beta1);
    at::_foreach_mul_(square, settings_.beta2);
    at::_foreach_addcmul_(square, group.gradients, group.gradients, 1 - settings_.beta2);
    Tensors denominators = at::_foreach_sqrt(square);
    at::_foreach_div_(denominators, std::sqrt(1 - std::pow(settings_.beta2, host_updates())));
    at::_foreach_add_(denominators, settings_.epsilon);
    return denominators;
  }
  [[nodiscard]] double mean_correction() const { return 1 - std::pow(settings_.beta1, host_updates()); }
};

class Adamw final : public AdaptiveOptimiser {
 public:
  Adamw(const torch::nn::Module& network, const OptimiserSettings& settings) : AdaptiveOptimiser(network, settings) {}

 private:
  void update(Group& group, const Rate& rate, const torch::Tensor& found_inf) override {
    if (fused()) {
      const Tensors steps(group.parameters.size(), updates());
      const auto run = [&](const auto& learning_rate) {
        at::_fused_adamw_(group.parameters, group.gradients, group.parts[0], group.parts[1], {}, steps, learning_rate,
                          settings_.beta1, settings_.beta2, decay_of(group), settings_.epsilon, /*amsgrad=*/false,
                          /*maximize=*/false, /*grad_scale=*/std::nullopt, optional(found_inf));
      };
      return rate.tensor.defined() ? run(rate.tensor) : run(rate.value);
    }
    at::_foreach_mul_(group.parameters, 1 - rate.value * decay_of(group));
    const Tensors denominators = update_means(group);
    at::_foreach_addcdiv_(group.parameters, group.parts[0], denominators, -rate.value / mean_correction());
  }
};

// What an update of lars and lamb multiplies by, on the device. After an overflow nothing may change: gradients and
// rate are 0, and decays are 1.
class DeviceFactors {
 public:
  // `found_inf`: undefined without loss scaling. Sets the gradients to 0 after an overflow.
  DeviceFactors(const torch::Tensor& found_inf, Tensors& gradients) {
    if (!found_inf.defined()) return;
    const torch::Tensor overflow = found_inf.squeeze() != 0;
    for (torch::Tensor& gradient : gradients) gradient.masked_fill_(overflow, 0);
    good_ = overflow.logical_not().to(torch::kFloat32);
  }
  void decay(Tensors& state, double factor) const {
    if (!good_.defined()) return at::_foreach_mul_(state, factor);
    at::_foreach_mul_(state, 1 - good_ * (1 - factor));
  }
  // `gradients` contain the decay of the weights.
  void add_gradients(Tensors& state, Tensors& gradients) const {
    if (good_.defined()) at::_foreach_mul_(gradients, good_);
    at::_foreach_add_(state, gradients);
  }
  [[nodiscard]] torch::Tensor rate(const torch::Tensor& rate) const { return good_.defined() ? rate * good_ : rate; }

 private:
  torch::Tensor good_;  // 1, or 0 after an overflow; undefined: 1
};

class Lamb final : public AdaptiveOptimiser {
 public:
  Lamb(const torch::nn::Module& network, const OptimiserSettings& settings) : AdaptiveOptimiser(network, settings) {}

 private:
  // 1 - beta^t, in float64, of which float32 would lose four digits for the first updates.
  [[nodiscard]] torch::Tensor correction(double beta) const {
    return 1 - torch::pow(torch::Scalar(beta), updates().to(torch::kFloat64));
  }
  void update(Group& group, const Rate& rate, const torch::Tensor& found_inf) override {
    Tensors &mean = group.parts[0], &square = group.parts[1];
    const DeviceFactors factors(found_inf, group.gradients);
    factors.decay(mean, settings_.beta1);
    at::_foreach_add_(mean, group.gradients, 1 - settings_.beta1);
    factors.decay(square, settings_.beta2);
    at::_foreach_addcmul_(square, group.gradients, group.gradients, 1 - settings_.beta2);
    Tensors denominators = at::_foreach_sqrt(square);
    at::_foreach_div_(denominators, correction(settings_.beta2).sqrt().to(torch::kFloat32));
    at::_foreach_add_(denominators, settings_.epsilon);
    Tensors change = at::_foreach_div(mean, denominators);
    at::_foreach_div_(change, correction(settings_.beta1).to(torch::kFloat32));
    if (group.decayed) {
      at::_foreach_add_(change, group.parameters, decay_of(group));
      at::_foreach_mul_(change, ratios(at::_foreach_norm(group.parameters), torch::stack(at::_foreach_norm(change))));
    }
    at::_foreach_mul_(change, factors.rate(rate.tensor));
    at::_foreach_sub_(group.parameters, change);
  }
};

class Lars final : public Optimiser {
 public:
  Lars(const torch::nn::Module& network, const OptimiserSettings& settings)
      : Optimiser(network, settings, {"momentum"}) {}

 private:
  void update(Group& group, const Rate& rate, const torch::Tensor& found_inf) override {
    Tensors& momentum = group.parts[0];
    const DeviceFactors factors(found_inf, group.gradients);
    if (group.decayed) {
      const Tensors weights = at::_foreach_norm(group.parameters);
      const Tensors gradients = at::_foreach_norm(group.gradients);
      const torch::Tensor sums = torch::stack(gradients) + torch::stack(weights) * decay_of(group);
      Tensors ratio = ratios(weights, torch::where(torch::stack(gradients) > 0, sums / settings_.trust, 0));
      at::_foreach_add_(group.gradients, group.parameters, decay_of(group));
      at::_foreach_mul_(group.gradients, ratio);
    }
    factors.decay(momentum, settings_.momentum);
    factors.add_gradients(momentum, group.gradients);
    at::_foreach_sub_(group.parameters, at::_foreach_mul(momentum, factors.rate(rate.tensor)));
  }
};

}  // namespace

Optimiser::Optimiser(const torch::nn::Module& network, const OptimiserSettings& settings,
                     std::vector<std::string> parts)
    : settings_(settings), parts_(std::move(parts)) {
  const std::set<std::string> norm_biases = norm_biases_of(network);
  for (const auto& parameter : network.named_parameters()) {
    const torch::Tensor& tensor = parameter.value();
    if (!tensor.requires_grad()) continue;
    Group& group = group_with(settings_.decay_all || tensor.dim() >= 2,
                              norm_biases.contains(parameter.key()) ? settings_.norm_bias_rate : 1);
    group.names.push_back(parameter.key());
    group.parameters.push_back(tensor);
    for (Tensors& part : group.parts) part.push_back(zeros_for(tensor));
  }
  const torch::Tensor& any = groups_.at(0).parameters.at(0);
  updates_ = torch::zeros({}, any.options().dtype(torch::kFloat32).requires_grad(false));
}

Optimiser::Group Optimiser::group_like(const Group& other) const {
  return {other.decayed, other.rate, {}, {}, {}, std::vector<Tensors>(parts_.size())};
}

Optimiser::Group& Optimiser::group_with(bool decayed, double rate) {
  for (Group& group : groups_) {
    if (group.decayed == decayed && group.rate == rate) return group;
  }
  groups_.push_back(group_like({.decayed = decayed, .rate = rate}));
  return groups_.back();
}

void Optimiser::step(double learning_rate, const torch::Tensor& found_inf) {
  const torch::NoGradGuard no_grad;
  if (on_device() && !fused()) {
    set_rate(learning_rate);
    return update_all({0, rate_}, found_inf);
  }
  if (!fused() && found_inf.defined() && found_inf.item<float>() != 0) return;
  update_all({learning_rate}, found_inf);
}

void Optimiser::set_rate(double learning_rate) {
  // The kernels of a GPU read float32; those of the host convert to float64.
  if (!rate_.defined()) rate_ = updates_.new_empty({}, updates_.is_cpu() ? torch::kFloat64 : torch::kFloat32);
  rate_.fill_(learning_rate);
}

void Optimiser::step_at_rate(const torch::Tensor& found_inf) {
  if (!on_device() || !rate_.defined())
    throw Error(ErrorKind::kArgument,
                "updating at a rate on the device: expected a form that reads it there, after set_rate()");
  const torch::NoGradGuard no_grad;
  update_all({0, rate_}, found_inf);
}

void Optimiser::update_all(const Rate& rate, const torch::Tensor& found_inf) {
  updates_.add_(1);
  ++host_updates_;
  for (const Group& group : groups_) {
    Group used = group_like(group);
    std::vector<std::pair<torch::Tensor, torch::Tensor>> copied;  // parameters, and contiguous copies of them
    const auto flush = [&] {
      if (!used.parameters.empty()) update(used, rate * group.rate, on_device() ? found_inf : torch::Tensor());
      for (auto& [parameter, copy] : copied) parameter.copy_(copy);
    };
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      torch::Tensor parameter = group.parameters[i], gradient = parameter.grad();
      if (!gradient.defined()) continue;
      if (settings_.form == UpdateForm::kEach) {
        flush();
        used = group_like(group);
      }
      // Fused kernels ignore strides. The parameter remains a view: other tensors may share its memory.
      if (fused() && !parameter.is_non_overlapping_and_dense()) {
        copied.emplace_back(parameter, parameter.detach().contiguous());
        parameter = copied.back().second;
        gradient = gradient.contiguous();
      }
      used.parameters.push_back(parameter);
      used.gradients.push_back(gradient);
      for (std::size_t part = 0; part < parts_.size(); ++part) used.parts[part].push_back(group.parts[part][i]);
    }
    flush();
  }
  if (on_device() && found_inf.defined()) updates_.sub_(found_inf.squeeze());
}

void Optimiser::keep_gradients() {
  keeps_gradients_ = true;
  for (Group& group : groups_)
    for (torch::Tensor& parameter : group.parameters)
      if (!parameter.grad().defined()) parameter.mutable_grad() = zeros_for(parameter);
}

void Optimiser::clear_gradients() {
  if (keeps_gradients_) {
    const torch::NoGradGuard no_grad;
    return at::_foreach_zero_(gradients());
  }
  for (Group& group : groups_)
    for (torch::Tensor& parameter : group.parameters) parameter.mutable_grad().reset();
}

bool Optimiser::has_gradients() const {
  return std::ranges::any_of(groups_, [](const Group& group) {
    return std::ranges::any_of(group.parameters, [](const torch::Tensor& each) { return each.grad().defined(); });
  });
}

std::vector<torch::Tensor> Optimiser::gradients() const {
  Tensors defined;
  for (const Group& group : groups_) {
    for (const torch::Tensor& parameter : group.parameters) {
      if (parameter.grad().defined()) defined.push_back(parameter.grad());
    }
  }
  return defined;
}

std::vector<StateEntry> Optimiser::state() const {
  std::vector<StateEntry> entries{{"optimiser.updates", updates_}};
  for (const Group& group : groups_) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (std::size_t i = 0; i < group.names.size(); ++i)
        entries.push_back({"optimiser." + parts_[part] + "." + group.names[i], group.parts[part][i]});
    }
  }
  return entries;
}

void Optimiser::restored() { host_updates_ = updates_.item<double>(); }

void Optimiser::reset() {
  updates_.zero_();
  host_updates_ = 0;
  for (const Group& group : groups_)
    for (const Tensors& part : group.parts)
      for (torch::Tensor tensor : part) tensor.zero_();
}

std::unique_ptr<Optimiser> make_optimiser(const torch::nn::Module& network, const OptimiserSettings& settings) {
  switch (settings.name) {
    case OptimiserName::kSgd: break;
    case OptimiserName::kAdamw: return std::make_unique<Adamw>(network, settings);
    case OptimiserName::kLars: return std::make_unique<Lars>(network, settings);
    case OptimiserName::kLamb: return std::make_unique<Lamb>(network, settings);
  }
  return std::make_unique<Sgd>(network, settings);
}

void clip_gradients(const std::vector<torch::Tensor>& gradients, double limit) {
  if (gradients.empty()) return;
  const torch::NoGradGuard no_grad;
  const torch::Tensor norm = torch::stack(at::_foreach_norm(gradients)).norm();
  at::_foreach_mul_(gradients, (limit / (norm + 1e-6)).clamp_max(1));
}

}  // namespace unstarve
