#pragma once
// Keeps the pruned weights of a network at zero, and chooses more of them as the schedule rises (train/pruning.h).
//
// Graphs:    apply() can be recorded (graphs/step_graphs.h): masks keep their memory. choose() cannot.
// Ranks:     equal weights give equal masks on all ranks; ties go to the lower index. The host never waits for the
//            device, except in restored() and layers().
// Ownership: shares weights and their copies with their owners, owns the masks. One byte per weight.
// Threads:   one at a time.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <torch/types.h>

#include "unstarve/models/weights.h"
#include "unstarve/train/pruning.h"

namespace unstarve {

class Pruner {
 public:
  // Nothing is pruned at first. Throws Error(kArgument) for a network in which nothing can be pruned, with the reason
  // for each layer.
  Pruner(const Network& network, const PruneSettings& settings);

  // Prunes with the weights also what `entries` have under `prefix` + the name of a weight, such as averages. An
  // average of zeros remains zero, so choose() is sufficient for them.
  void add_copies(std::span<const StateEntry> entries, std::string_view prefix);
  // Sets the pruned weights to zero, after an update of the weights.
  void apply() const;
  // Prunes the weights that are zero now, in addition to what the schedule chooses.
  void keep_zeros();
  // If a choice is due, prunes the smallest weights up to the sparsity of the schedule, in the copies too.
  void choose(const PruneUpdate& update);

  // The masks, "pruned.<name of the weight>", as a checkpoint contains them; shares memory with this object. After they
  // were overwritten, restored() must be called.
  [[nodiscard]] std::vector<StateEntry> state() const;
  void restored();
  // As after construction.
  void reset();

  [[nodiscard]] const PruneSettings& settings() const { return settings_; }
  [[nodiscard]] std::vector<PrunedLayer> layers() const;
  [[nodiscard]] const std::vector<DenseLayer>& dense() const { return dense_; }

 private:
  struct Layer {
    std::string name;
    torch::Tensor weight;
    torch::Tensor pruned;  // true: is zero
    std::vector<torch::Tensor> copies{};
    std::int64_t count = 0;  // of pruned weights
  };

  const PruneSettings settings_;
  const PrunePattern pattern_;
  std::vector<Layer> layers_;
  std::vector<DenseLayer> dense_;
};

// The `count` smallest candidates of a weight (out, in, ...), of which none is negative in number: all that are
// `pruned` already, then by magnitude, then by index. With a pattern the candidates are the smallest weights of each
// group. Preconditions: `count` is at least 1 and the number of those pruned, at most the number of candidates.
[[nodiscard]] torch::Tensor smallest_weights(const torch::Tensor& weight, const torch::Tensor& pruned,
                                             const PrunePattern& pattern, std::int64_t count);

}  // namespace unstarve
