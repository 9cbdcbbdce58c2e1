#pragma once
// Equalisation: the channels of an activation get the same range before it is quantised.
//
//   before   layer ─▶ Relu or Clip ─▶ depthwise Conv
//   after    layer, channel c times f(c) ─▶ Relu or Clip ─▶ depthwise Conv, channel c divided by f(c)
//
// All channels of an activation share one int8 scale, so channels with a small range get few of its levels. Weights
// have a scale for each output channel, which is that of the activation in both layers: their integers stay the same.
// Before other layers it would cost precision of weights, and nothing is changed.
//
// Source: the scales between layers of https://arxiv.org/abs/1906.04721, here from ranges of activations. A Clip stays,
// because no channel leaves its bounds for the calibration images.
//
// Threads: pure.

#include "unstarve/infer/graph/graph.h"
#include "unstarve/infer/int8/calibration.h"

namespace unstarve::infer {

struct EqualisedGraph {
  Graph graph{};
  int activations = 0;  // that changed; 0: the graph is the one before
};

// `calibration` has observed the inputs of the layers of `graph`. In float32, the result computes the same within
// rounding for the calibration images; for others, a Clip may change activations outside the calibrated range.
[[nodiscard]] EqualisedGraph equalise(Graph graph, const Calibration& calibration);

}  // namespace unstarve::infer
