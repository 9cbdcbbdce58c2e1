#pragma once
// int8: layers read quantised activations and weights.
//
//   before    x ─────────────────────────────▶ Conv(x, weights)
//   after     x ─▶ QuantizeLinear ─▶ DequantizeLinear ─▶ Conv(x, DequantizeLinear(int8 weights))
//
// Engines compute such a layer in int8. Activations have one scale: uint8 if they cannot be negative, else int8, both
// without a zero point. Weights have a scale per output channel and are int8, also without a zero point. Inputs of an
// Add or average pooling that reads the result of such a layer are quantised too, so that engines need not return to
// float32 between layers.
//
// After training:  run_passes(), quantisable_layers(), observed_activations(), Calibration, quantise().
// In training:     quantisation_plan(), limits while the model is trained, run_passes(), quantise() with Graph::limits.
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
// Those of them that are Gemm or MatMul.
[[nodiscard]] std::vector<std::size_t> linear_layers(const Graph& graph);
// The axis of the output channels of a layer's weights.
[[nodiscard]] std::size_t channel_axis(const Node& layer);
// Whether an operator other than a layer reads quantised activations too, where there are any.
[[nodiscard]] bool reads_quantised(OpKind kind);
// The activations that Calibration observes for quantise() of `layers`.
[[nodiscard]] std::vector<ValueId> observed_activations(const Graph& graph, std::span<const std::size_t> layers);

// What int8 changes in a model whose batch norms are not folded yet.
struct QuantisationPlan {
  struct Activation {
    ValueId value = 0;
    bool positive = false;  // none of its elements can be negative: uint8
    [[nodiscard]] int levels() const { return positive ? 255 : 127; }
  };
  std::vector<std::size_t> layers{};  // all quantisable_layers()
  std::vector<Activation> activations{};
};
// `folded`: the result of fold_batch_norm() for `graph`; activations are found by their names. Precondition: other
// passes change nothing. Throws Error(kInput) if there are no layers, and for an activation that folding changes: that
// between a layer, a MaxPool and a batch norm.
[[nodiscard]] QuantisationPlan quantisation_plan(const Graph& graph, const Graph& folded);

// The integers of weights and activations.
struct Int8Form {
  // 8, or 7: products of uint8 and int8 then fit into the 16-bit sums of CPUs without VNNI.
  int weight_bits = 8;
  bool signed_activations = false;  // all activations are int8: TensorRT has no uint8
};

struct QuantiseOptions {
  std::vector<std::size_t> layers{};  // of quantisable_layers(); others stay in float32
  CalibrationMethod method = CalibrationMethod::kMse;
  Int8Form form{};
  // Subtract from the bias what rounding of the weights adds to the mean of each channel. Without biases of its own, a
  // layer gets them.
  bool correct_bias = true;
};

// `calibration` has observed observed_activations(graph, options.layers), or more, of at least one image.
[[nodiscard]] Graph quantise(Graph graph, const Calibration& calibration, const QuantiseOptions& options);

// With the limits of training: `graph.limits`, of its activations. Quantises the layers that read them without
// correction of biases and, in the form {}, as training did. Throws Error(kInput) for a limit of another value.
[[nodiscard]] Graph quantise(Graph graph, const Int8Form& form = {});

// Weights of `layers`, all Gemm or MatMul, are stored as int8 and computed in float32: they take longer to read than to
// multiply. No calibration.
[[nodiscard]] Graph quantise_weights(Graph graph, std::span<const std::size_t> layers);

}  // namespace unstarve::infer
