#include "unstarve/torch/updates/pruner.h"

#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr const char* kMaskPrefix = "pruned.";
constexpr std::int64_t kLinear = 2, kConvolution = 4;  // dimensions of their weights

struct Candidate {
  std::string name;
  torch::Tensor weight;
};

// The weights of convolutions and linear layers, in the order of the network.
std::vector<Candidate> weights_of_layers(const Network& network) {
  std::vector<Candidate> found;
  for (const auto& item : network.named_parameters()) {
    const torch::Tensor& tensor = item.value();
    if ((tensor.dim() == kLinear || tensor.dim() == kConvolution) && item.key().ends_with("weight"))
      found.push_back({item.key(), tensor});
  }
  return found;
}

// The first index with that number of dimensions, or the last one; the number of weights if there is none.
std::size_t index_of(const std::vector<Candidate>& weights, std::int64_t dimensions, bool last) {
  std::size_t found = weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].weight.dim() != dimensions) continue;
    found = i;
    if (!last) break;
  }
  return found;
}

// Why a layer stays dense; "": it is pruned.
std::string reason_against(const torch::Tensor& weight, const PrunePattern& pattern) {
  if (!weight.requires_grad()) return "not trained";
  const std::int64_t inputs = weight.size(1);
  if (weight.dim() == kConvolution && inputs == 1) return "depthwise convolution";
  if (inputs % pattern.of != 0) return fmt::format("{} input channels, not a multiple of {}", inputs, pattern.of);
  return "";
}

}  // namespace

torch::Tensor smallest_weights(const torch::Tensor& weight, const torch::Tensor& pruned, const PrunePattern& pattern,
                               std::int64_t count) {
  // Input channels come last, so that a group is consecutive.
  const torch::Tensor magnitudes = weight.abs().masked_fill_(pruned, -1).movedim(1, -1);
  torch::Tensor groups = magnitudes.reshape({-1, pattern.of});
  if (!pattern.any_weights()) {
    const torch::Tensor ranks =
        groups.argsort(/*stable=*/true, /*dim=*/1, /*descending=*/false).argsort(std::int64_t{1}, false);
    groups = groups.masked_fill(ranks >= pattern.of - pattern.keep, std::numeric_limits<float>::infinity());
  }
  const torch::Tensor all = groups.reshape({-1});
  const torch::Tensor largest = std::get<0>(all.kthvalue(count));
  const torch::Tensor below = all < largest, ties = all == largest;
  const torch::Tensor chosen = below | (ties & (ties.cumsum(0) <= count - below.sum()));
  return chosen.view(magnitudes.sizes()).movedim(-1, 1);
}

Pruner::Pruner(const Network& network, const PruneSettings& settings)
    : settings_(settings), pattern_(pattern_of(settings)) {
  const std::vector<Candidate> weights = weights_of_layers(network);
  // Whitening is a convolution before the first one that is trained.
  const bool begins_fixed = network.whitening_bias().defined();
  const std::size_t first = begins_fixed ? weights.size() : index_of(weights, kConvolution, /*last=*/false);
  const std::size_t last = index_of(weights, kLinear, /*last=*/true);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& [name, weight] = weights[i];
    const std::string reason = i == first  ? "first convolution"
                               : i == last ? "last linear layer"
                                           : reason_against(weight, pattern_);
    if (reason.empty())
      layers_.push_back({name, weight.detach(), torch::zeros_like(weight, torch::kBool).detach()});
    else
      dense_.push_back({name, reason});
  }
  if (!layers_.empty()) return;
  std::string reasons;
  for (const DenseLayer& layer : dense_) reasons += fmt::format("\n  {}: {}", layer.name, layer.reason);
  throw Error(ErrorKind::kArgument,
              fmt::format("prune the network: found no layer that can be pruned; expected at least one convolution or "
                          "linear layer that is none of these. Train without pruning, or use another network or "
                          "pattern.{}",
                          reasons));
}

void Pruner::add_copies(std::span<const StateEntry> entries, std::string_view prefix) {
  for (Layer& layer : layers_) {
    for (const StateEntry& entry : entries) {
      if (entry.name == std::string(prefix) + layer.name) layer.copies.push_back(entry.tensor.detach());
    }
  }
}

void Pruner::apply() const {
  const torch::NoGradGuard no_grad;
  // Not multiplied by a mask: the product of 0 and a negative number is -0, which would spoil the compression.
  for (const Layer& layer : layers_) layer.weight.masked_fill_(layer.pruned, 0);
}

void Pruner::keep_zeros() {
  const torch::NoGradGuard no_grad;
  for (Layer& layer : layers_) layer.pruned.copy_(layer.weight.eq(0));
  restored();
}

void Pruner::choose(const PruneUpdate& update) {
  if (!choice_due(settings_, update)) return;
  const torch::NoGradGuard no_grad;
  const double sparsity = sparsity_at(settings_, update.share);
  for (Layer& layer : layers_) {
    const std::int64_t count = pruned_count(layer.weight.numel(), sparsity);
    if (count <= layer.count) continue;
    layer.pruned.copy_(smallest_weights(layer.weight, layer.pruned, pattern_, count));
    layer.count = count;
    layer.weight.masked_fill_(layer.pruned, 0);
    for (torch::Tensor& copy : layer.copies) copy.masked_fill_(layer.pruned, 0);
  }
}

std::vector<StateEntry> Pruner::state() const {
  std::vector<StateEntry> entries;
  for (const Layer& layer : layers_) entries.push_back({kMaskPrefix + layer.name, layer.pruned});
  return entries;
}

void Pruner::restored() {
  for (Layer& layer : layers_) layer.count = layer.pruned.sum().item<std::int64_t>();
}

void Pruner::reset() {
  for (Layer& layer : layers_) {
    layer.pruned.zero_();
    layer.count = 0;
  }
}

std::vector<PrunedLayer> Pruner::layers() const {
  std::vector<PrunedLayer> result;
  for (const Layer& layer : layers_)
    result.push_back({layer.name, layer.weight.numel(), layer.weight.eq(0).sum().item<std::int64_t>()});
  return result;
}

}  // namespace unstarve
