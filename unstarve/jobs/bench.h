#pragma once
// `unstarve bench`: the loader alone, the copy alone, the network alone, all together; what starves whom.
//
// The parts are measured in rounds (loader, copy, network, together, and again), so that a machine that drifts drifts
// for all of them; each figure is the median over the rounds. Network and loader are idle while the other is measured:
// the loader's threads stop once its slots are full.
// Threads: one caller. Failure: as Rig.

#include <string>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/observe/verdict.h"

namespace unstarve {

struct BenchOptions {
  Settings settings;
  Target target;
  double seconds = 20;
};

struct BenchResult {
  std::string data;    // path
  std::string format;  // of the data set
  Settings settings;   // as run, with defaults filled in
  Target target;
  BenchFigures figures;
  BenchVerdict verdict;
  double copy_gb_per_s = 0;
  Profile profile;  // of the part that ran all together
};

[[nodiscard]] BenchResult run_bench(const BenchOptions& options, const Progress& progress = {});

// Loader: rate of batches taken as fast as they come, for `seconds`.
[[nodiscard]] double loader_rate(const PipelineSpec& spec, std::shared_ptr<const Dataset> dataset, Device& device,
                                 double seconds, double* cores_busy = nullptr,
                                 std::vector<StageProfile>* stages = nullptr);

// Step parts as the profile holds them, with mean, median and 95th percentile.
[[nodiscard]] std::vector<StepPart> summarise(const std::vector<StepParts>& steps);
// Utilisation over time, at most `points` of them.
[[nodiscard]] std::vector<UtilisationPoint> utilisation_over_time(const std::vector<StepParts>& steps,
                                                                  std::int64_t nominal_step_ns,
                                                                  std::size_t points = 120);

[[nodiscard]] std::string to_text(const BenchResult& result);
// One object: data, format, device, model, batch, storage, loader, copy, network, together (samples/s), data_wait,
// overlap, utilisation, bottleneck, verdict, profile.
[[nodiscard]] std::string to_json(const BenchResult& result);

}  // namespace unstarve
