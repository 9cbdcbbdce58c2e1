#pragma once
// The convolutions and linear layers of a network, and one of them alone, with random inputs: forward and backward
// passes as in a training step.
//
// Threads, failure: see train/trainer.h.

#include <memory>
#include <vector>

#include "unstarve/models/layers.h"
#include "unstarve/torch/placement.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// In the order of the network, with the sizes of the latest forward pass.
[[nodiscard]] std::vector<LayerShape> layer_shapes_of(const Network& network);
[[nodiscard]] std::unique_ptr<LayerRun> make_layer_run(const LayerShape& shape, int batch, const Placement& placement,
                                                       bool winograd);

}  // namespace unstarve
