#pragma once
// The forward pass of a network on a batch: normalisation, autocast, and the views of test-time augmentation.
//
// Ownership: borrows the network. Threads: one at a time.

#include <vector>

#include <torch/types.h>

#include "unstarve/models/layers.h"
#include "unstarve/torch/common/normalise.h"
#include "unstarve/torch/placement.h"
#include "unstarve/torch/staging.h"

namespace unstarve {

class ForwardPass {
 public:
  ForwardPass(Network& network, const Placement& placement) : network_(network), placement_(placement) {}

  // The input of the network, N x 3 x H x W in the memory format of the placement: uint8 pixels are normalised to
  // float32; float pixels become float32 only if the network computes in it.
  [[nodiscard]] torch::Tensor images(const Staging::Current& batch);
  // Copies what images() reads to the device, which cannot be recorded.
  void prepare(const Staging::Current& batch);
  // In float32; the weighted means of those of all views (views.h).
  [[nodiscard]] torch::Tensor logits(const Staging::Current& batch, TestAugmentation views = TestAugmentation::kNone);
  // Tensors in addition to the batch and the network that the latest logits() read; later calls may replace them.
  [[nodiscard]] std::vector<torch::Tensor> constants() const { return normalise_.constants(); }

 private:
  Network& network_;
  Placement placement_;
  Normaliser normalise_;
};

}  // namespace unstarve
