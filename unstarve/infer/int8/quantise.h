#pragma once
// Post-training int8: layers read quantised activations and weights.
//
//   before    x ─────────────────────────────▶ Conv(x, weights)
//   after     x ─▶ QuantizeLinear ─▶ DequantizeLinear ─▶ Conv(x, DequantizeLinear(int8 weights))
//
// Engines compute such a layer in int8. Activations have one scale: uint8 if they cannot be negative, else int8, both
// without a zero point. Weights have a scale per output channel and are int8, also without a zero point. Inputs of an
// Add or average pooling that reads the result of such a layer are quantised too, so that engines need not return to
// float32 between layers.
//
// The order: run_passes(), quantisable_layers(), observed_activations(), Calibration, quantise().
//
// Threads: pure.

#include <cstddef>
#include <span>
#include <vector>

#include "unstarve/infer/graph/graph.h"
#include "unstarve/infer/int8/calibration.h"

namespace unstarve::infer {

// Indices of the nodes that int8 can compute: Conv, Gemm and MatMul with constant float32 weights.
[[nodiscard]] std::vector<std::size_t> quantisable_layers(const Graph& graph);
// The activations that Calibration observes for quantise() of `layers`.
[[nodiscard]] std::vector<ValueId> observed_activations(const Graph& graph, std::span<const std::size_t> layers);

struct QuantiseOptions {
  std::vector<std::size_t> layers{};  // of quantisable_layers(); others stay in float32
  CalibrationMethod method = CalibrationMethod::kMse;
  // 8, or 7: products of uint8 and int8 then fit into the 16-bit sums of processors without VNNI.
  int weight_bits = 8;
  // Subtract from the bias what rounding of the weights adds to the mean of each channel. Without biases of its own, a
  // layer gets them.
  bool correct_bias = true;
};

// `calibration` has observed observed_activations(graph, options.layers), or more, of at least one image.
[[nodiscard]] Graph quantise(Graph graph, const Calibration& calibration, const QuantiseOptions& options);

// Weights of `layers`, all Gemm or MatMul, are stored as int8 and computed in float32: they take longer to read than to
// multiply. No calibration.
[[nodiscard]] Graph quantise_weights(Graph graph, std::span<const std::size_t> layers);

}  // namespace unstarve::infer
