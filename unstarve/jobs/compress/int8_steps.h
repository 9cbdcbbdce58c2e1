#pragma once
// The steps of a compression that quantise.
//
// Threads: one. Failure: as StepLedger, and calibrate().

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "unstarve/jobs/compress/step_ledger.h"
#include "unstarve/jobs/inference/calibrate.h"

namespace unstarve {

struct LayerCost {
  std::size_t layer = 0;
  double saved_ms = 0;    // by int8
  double divergence = 0;  // of the outputs if only this layer is int8 (accuracy.h)
};
// The layers in the order in which they return to float32: those that save nothing, then the greatest divergence per
// saved time first. The greedy solution of the knapsack, which differs from the best by at most one layer.
[[nodiscard]] std::vector<std::size_t> order_of_return(std::vector<LayerCost> costs);

// The least number from 1 to `most` that `is_accurate`, where larger ones are, too; after 8 trials, the least one that
// was found. Doubles the number, then bisects. Nothing: no number that was tried.
[[nodiscard]] std::optional<std::size_t> least_accurate(std::size_t most,
                                                        const std::function<bool(std::size_t)>& is_accurate);

struct Int8Steps {
  std::size_t layers = 0;  // that int8 can compute
  // Of a kept step with weights of 8 bits, the same with 7: for CPUs without VNNI.
  std::optional<infer::Graph> seven_bits{};
};

// Whether sums of products of uint8 and int8 may overflow on this CPU: those of 16 bits, on x86 without VNNI.
// In tests, the environment variable UNSTARVE_VNNI (0 or 1) replaces the answer of the CPU.
[[nodiscard]] bool sums_may_overflow();

// Proposes int8 for all layers of `graph`, first with the limits of its training, if it was trained for int8. If there
// are none, or if that is reverted, with the method and the bits whose outputs for calibration images are closest to
// those of the original. If that loses too much accuracy, proposes fewer layers, by order_of_return(): the time of each
// layer is taken from profiles of the engine, and its error by quantising it alone.
Int8Steps propose_int8(StepLedger& ledger, const infer::Graph& graph, const EvaluationImages& images,
                       const CalibrationOptions& options);

// Unless a step before has quantised activations: proposes to store the weights of linear layers as int8 and to compute
// them in float32. Does nothing without such layers.
void propose_int8_weights(StepLedger& ledger);

}  // namespace unstarve
