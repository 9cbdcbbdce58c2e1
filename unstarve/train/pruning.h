#pragma once
// Magnitude pruning during training: which weights become zero, and when. The tensors: torch/updates/pruner.h.
//
// Layers:   the weights of convolutions and linear layers. Dense remain the first convolution, the last linear layer,
//           depthwise convolutions, and with a pattern layers whose input channels are not a multiple of M.
// Weights:  of each layer the smallest ones by magnitude, so that all layers have the same sparsity. With the pattern
//           N:M at most M - N of each M consecutive input channels, of one filter at one position of its kernel: the
//           form of sparse tensor cores. The smallest of these candidates become zero first, and all of them in the
//           end.
// Schedule: that of Zhu & Gupta (arXiv:1710.01878), with S the final sparsity and x from 0 to 1 between the two ends
//           of the ramp:
//
//             sparsity = S (1 - (1 - x)^3)
//
// A weight that was pruned stays zero until the end of the run.
//
// The pattern "channels" is another mechanism: before the first step, channels of trained weights are removed
// (torch/networks/starting_network.h).
// Threads: pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/train/settings.h"

namespace unstarve {

// `keep` of each `of` weights remain; without a pattern none of each 1 has to.
struct PrunePattern {
  int keep = 0;
  int of = 1;
  [[nodiscard]] bool any_weights() const { return of == 1; }
};

// Throws Error(kArgument) for a text that is neither "any", "channels" nor N:M, for a sparsity other than that of the
// pattern, and for channels without one.
void check_pattern(const PruneSettings& settings);
[[nodiscard]] PrunePattern pattern_of(const PruneSettings& settings);  // throws as check_pattern()
// The final sparsity, 0..1.
[[nodiscard]] double final_sparsity(const PruneSettings& settings);
// The sparsity when `share` of the run is completed.
[[nodiscard]] double sparsity_at(const PruneSettings& settings, double share);
// Of a layer with `weights`.
[[nodiscard]] std::int64_t pruned_count(std::int64_t weights, double sparsity);
// The settings as text, for checkpoints and messages: "0.5 between 0.1 and 0.6 of the run"; "none" without pruning.
[[nodiscard]] std::string to_text(const PruneSettings& settings);

// An update of the weights.
struct PruneUpdate {
  std::int64_t step = 0;    // steps done with this update
  std::int64_t before = 0;  // steps done with the update before
  double share = 0;         // of the run, completed with this update
};
// Whether weights are chosen after this update: after every n steps, and from the end of the ramp on. n is
// `settings.every`, or by default a twentieth of the ramp, at most 100: no choice prunes more than 15 % of the final
// zeros, also in short runs.
[[nodiscard]] bool choice_due(const PruneSettings& settings, const PruneUpdate& update);

// What a run has pruned.
struct PrunedLayer {
  std::string name;  // of the tensor: "layer1.0.conv1.weight"
  std::int64_t weights = 0;
  std::int64_t zeros = 0;
};
struct DenseLayer {
  std::string name;
  std::string reason;  // "first convolution"
};
struct LayerChannels {
  std::string name{};                  // of the weights
  std::int64_t before = 0, after = 0;  // output channels
  std::string fixed{};                 // why all of them remain; empty: some can be removed
};
// Of one image.
struct PrunedChannels {
  std::vector<LayerChannels> layers{};  // convolutions and matrix products, in the order of the network
  double multiply_adds_before = 0, multiply_adds_after = 0;
  std::int64_t parameters_before = 0, parameters_after = 0;
};
struct PruneResult {
  std::vector<PrunedLayer> layers;  // in the order of the network
  std::vector<DenseLayer> dense;    // convolutions and linear layers that are not pruned
  // The weights and statistics alone as a safetensors file, and that file compressed as in a zip archive, at level 9.
  std::int64_t file_bytes = 0;
  std::int64_t zip_bytes = 0;
  std::optional<PrunedChannels> channels{};    // of the pattern "channels", which has no layers and dense layers
  [[nodiscard]] std::int64_t weights() const;  // of all pruned layers
  [[nodiscard]] std::int64_t zeros() const;
};

}  // namespace unstarve
