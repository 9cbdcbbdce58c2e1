#pragma once
// `unstarve bench`: find the bottleneck by measuring the loader alone, the copy alone, the network alone, and all
// together.
//
// The parts are measured in rounds (loader, copy, network, together, loader, ...), so that a drift of the machine
// affects all of them; each figure is the median over the rounds. The loader is idle while the network is measured: its
// threads stop when all batch slots are full.
//
// If all together are faster than a part alone, up to two further rounds are measured. Cores that other programs use
// meanwhile are counted.
//
// Time:    `seconds`, from warming up on, divided among three rounds, or fewer if steps are slow (bench_plan.h). Each
//          part ends with the step or batch in progress. One round is measured in any case: with a network that is
//          slow, its three steps, one of them for warming up, and three batches of the loader. If these do not fit and
//          the batch may be reduced, smaller batches are measured, after one step of the larger ones.
// Threads: one caller. Failure: as Rig.

#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/jobs/ladder/step_profile.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/observe/verdict.h"

namespace unstarve {

struct Report;  // observe/report.h

struct BenchOptions {
  Settings settings;
  Target target;
  double seconds = 20;
  bool may_reduce_batch = false;  // if the steps of a network on the host are too slow for `seconds`
};

// Samples per second of each round.
struct BenchRounds {
  std::vector<double> storage, loader, copy, network, together;
};

struct BenchResult {
  std::string data;    // path
  std::string format;  // of the dataset
  Settings settings;   // as run, including defaults
  Target target;
  BenchFigures figures;
  BenchVerdict verdict;
  double copy_gb_per_s = 0;
  int reduced_from = 0;  // the batch size whose steps did not fit; 0: none
  int rounds = 0;
  BenchRounds rates;
  double seconds = 0;                // that the measurement took
  std::int64_t nominal_step_ns = 0;  // of an emulated accelerator; 0: a network
  double step_s = 0;                 // of the first training step after warming up
  Profile profile;                   // of the joint runs
  std::vector<RecordedSpan> spans;   // of the parts, with their rates; seconds since warming up began
  std::vector<StepParts> steps;      // of the joint runs; begin_ns is relative, too
  RecordedCounter stages;            // worker threads that are busy with each stage, in the joint runs
};

inline constexpr std::size_t kMostListedSteps = 5000;

[[nodiscard]] BenchResult run_bench(const BenchOptions& options, const Progress& progress = {});

[[nodiscard]] std::string to_text(const BenchResult& result);
// See "bench" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const BenchResult& result);
// Defined in bench_report.cpp. `command`: the command line, shown in the report.
[[nodiscard]] Recording recording_of(const BenchResult& result, const std::string& command);
[[nodiscard]] Report report_of(const BenchResult& result, const std::string& command);

}  // namespace unstarve
