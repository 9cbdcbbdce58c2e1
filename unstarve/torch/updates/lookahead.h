#pragma once
// Lookahead (Zhang et al., arXiv:1907.08610) in the form of airbench94: every n updates the weights return to a slow
// average of themselves.
//
//   every n updates:        slow <- d slow + (1 - d) weight,  weight <- slow        d = decay share^3
//   at the end of the run:  weight <- slow
//
// share: of the run, so that d rises from 0 to `decay`. Weights include batch-norm statistics; integers are left out.
// Ownership: owns the averages, shares the weights with the network. Threads: one at a time.

#include <vector>

#include <torch/types.h>

#include "unstarve/models/weights.h"
#include "unstarve/train/settings.h"

namespace unstarve {

class Lookahead {
 public:
  // Starts with the present weights of the network.
  Lookahead(const Network& network, const LookaheadSettings& settings);

  // After an update of the weights. `share`: of the run, completed with this update; 1: its end.
  void update(double share);
  // At the end of a run whose last update had a share below 1: weight <- slow.
  void end();
  // Starts again with the present weights.
  void reset();

  // What a checkpoint contains: "lookahead.<name>" and "lookahead.updates"; shares memory with this object. After they
  // were overwritten, restored() must be called.
  [[nodiscard]] std::vector<StateEntry> state() const;
  void restored() { count_ = updates_.item<std::int64_t>(); }

 private:
  LookaheadSettings settings_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> weights_, slow_;  // by name
  torch::Tensor updates_;
  std::int64_t count_ = 0;
};

}  // namespace unstarve
