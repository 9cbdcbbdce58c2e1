#pragma once
// Runs images through a model and observes the activations that int8 needs (infer/int8/calibration.h).
//
//   Loader, images in random order ──▶ EngineProcess with the observed graph ──▶ Calibration
//
// Threads: one caller. Memory: that of the loader, and a row of activations per request: 180 MB for ResNet-50.
// Failure: as run_images(); Error(kInput) if the model has another input than images.

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "unstarve/infer/graph/graph.h"
#include "unstarve/infer/int8/calibration.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/inference/evaluation_images.h"

namespace unstarve {

struct CalibrationOptions {
  std::uint64_t images = 500;  // chosen at random by `seed`; at most those of the data
  std::uint64_t seed = 0;
  std::string engine = "auto";  // engine_table.h; "auto": the first that can run the model
  std::string program{};        // path of this program
  Progress progress{};
  std::stop_token stop{};
};

// `layers`: of infer::quantisable_layers(graph), not empty.
[[nodiscard]] infer::Calibration calibrate(const infer::Graph& graph, std::span<const std::size_t> layers,
                                           const EvaluationImages& images, const CalibrationOptions& options);

struct CalibratedGraph {
  infer::Graph graph{};
  infer::Calibration calibration;  // of this graph
  int equalised = 0;               // EqualisedGraph::activations
};
// Equalises the graph by its calibration (infer/int8/equalise.h) and calibrates the result with the same images.
// Nothing if there is nothing to equalise: the network has no depthwise layers after such activations.
[[nodiscard]] std::optional<CalibratedGraph> calibrate_equalised(const infer::Graph& graph,
                                                                 const infer::Calibration& calibration,
                                                                 std::span<const std::size_t> layers,
                                                                 const EvaluationImages& images,
                                                                 const CalibrationOptions& options);

}  // namespace unstarve
