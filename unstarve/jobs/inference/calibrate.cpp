#include "unstarve/jobs/inference/calibrate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "unstarve/core/machine/topology.h"
#include "unstarve/infer/engines/choose_engine.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/infer/int8/equalise.h"
#include "unstarve/infer/int8/quantise.h"
#include "unstarve/jobs/inference/first_engine.h"
#include "unstarve/jobs/inference/graph_file.h"
#include "unstarve/jobs/inference/model_fit.h"

namespace unstarve {

infer::Calibration calibrate(const infer::Graph& graph, std::span<const std::size_t> layers,
                             const EvaluationImages& images, const CalibrationOptions& options) {
  const std::string what = "calibrate " + graph.name;
  infer::Calibration calibration(graph, infer::observed_activations(graph, layers));
  const GraphFile file(calibration.observed_graph());
  const std::unique_ptr<EngineProcess> engine = first_engine(options.engine, options.program, file.path());
  const std::vector<std::int64_t> shape = sample_shape(what, engine->model(), 0);
  const int threads = read_topology().usable();
  const EngineSettings settings =
      supported_by(engine->name(), {threads, threads, std::max(fixed_batch(engine->model()), 1)});
  engine->compile(settings, shape, settings.streams + 1);
  const ImageRun run{
      .what = what, .images = options.images, .seed = options.seed, .progress = options.progress, .stop = options.stop};
  run_images({*engine, static_cast<int>(shape[1]), settings}, images, run,
             [&](const FedSamples&, std::span<const float> rows) { calibration.add(rows); });
  return calibration;
}

std::optional<CalibratedGraph> calibrate_equalised(const infer::Graph& graph, const infer::Calibration& calibration,
                                                   std::span<const std::size_t> layers, const EvaluationImages& images,
                                                   const CalibrationOptions& options) {
  infer::EqualisedGraph equalised = infer::equalise(graph, calibration);
  if (equalised.activations == 0) return std::nullopt;
  infer::Calibration again = calibrate(equalised.graph, layers, images, options);
  return CalibratedGraph{std::move(equalised.graph), std::move(again), equalised.activations};
}

}  // namespace unstarve
