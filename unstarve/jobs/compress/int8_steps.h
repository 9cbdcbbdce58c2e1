#pragma once
// The steps of a compression that quantise.
//
// Threads: one. Failure: as StepLedger, and calibrate().

#include "unstarve/jobs/compress/step_ledger.h"
#include "unstarve/jobs/inference/calibrate.h"

namespace unstarve {

// Proposes int8 for all layers of `graph`, with the method and the bits whose outputs for calibration images are
// closest to those of the original. If that loses too much accuracy, proposes fewer layers (layer_choice.h): the time
// of each layer is taken from profiles of the engine, and its error by quantising it alone.
// Returns the number of layers that int8 can compute.
std::size_t propose_int8(StepLedger& ledger, const infer::Graph& graph, const EvaluationImages& images,
                         const CalibrationOptions& options, const Progress& progress, const std::stop_token& stop);

}  // namespace unstarve
