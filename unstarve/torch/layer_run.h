#pragma once
// One convolution or linear layer alone, with random inputs: forward and backward passes as in a training step.
//
// Threads, failure: see train/trainer.h.

#include <functional>
#include <memory>

#include <torch/torch.h>

#include "unstarve/train/trainer.h"

namespace unstarve {

struct LayerPlacement {
  torch::Device device;
  torch::ScalarType type;      // of autocast, and of the inputs
  torch::MemoryFormat format;  // of weights and inputs of convolutions
};

// `use_device` is called before each run: it sets the device and the number of operator threads.
[[nodiscard]] std::unique_ptr<LayerRun> make_layer_run(const LayerShape& shape, int batch,
                                                       const LayerPlacement& placement,
                                                       std::function<void()> use_device);

}  // namespace unstarve
