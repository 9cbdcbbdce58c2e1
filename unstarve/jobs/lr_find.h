#pragma once
// `unstarve lr-find`: the learning rate that a sweep on the real data suggests, with the real network, optimiser,
// batch, accumulation and precision. Nothing is kept: the network starts from fresh weights, or from `weights`.
//
// Checks:  all faults of options, device and data are reported together, before anything is allocated.
//
// Threads: one caller. Failure: as Loader, Trainer and find_learning_rate(); Error(kCheck) if the loss is not finite
// before the first update.

#include <filesystem>
#include <string>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/train/rate_sweep.h"

namespace unstarve {

struct Report;

struct LrFindOptions {
  Settings settings;
  ConfigurationFaults faults{};   // that are already known; run_lr_find() reports them with those that it finds
  std::filesystem::path weights;  // to start from, possibly of another number of classes; "": fresh ones
  RateSweepOptions sweep;         // without `report`
};

struct LrFindResult {
  Settings settings;
  std::string data;
  RateSweepOptions options;
  RateSweep sweep;
  RateSuggestion suggestion;
  double seconds = 0;
};

[[nodiscard]] LrFindResult run_lr_find(const LrFindOptions& options, const Progress& progress = {});

[[nodiscard]] std::string to_text(const LrFindResult& result);
// See "lr-find" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const LrFindResult& result);
[[nodiscard]] Report report_of(const LrFindResult& result, const std::string& command);

}  // namespace unstarve
