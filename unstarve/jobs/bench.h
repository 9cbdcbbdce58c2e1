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
// Time:    `seconds`, divided among three rounds; one round if three steps of each do not fit. Slow steps may exceed
//          it: a run has at least four steps of the network, one of them for warming up.
// Threads: one caller. Failure: as Rig.

#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/observe/verdict.h"

namespace unstarve {

struct Report;  // observe/report.h

struct BenchOptions {
  Settings settings;
  Target target;
  double seconds = 20;
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
  int rounds = 0;
  BenchRounds rates;
  double seconds = 0;  // that the measurement took
  double step_s = 0;   // of the first training step after warming up
  Profile profile;     // of the joint runs
};

[[nodiscard]] BenchResult run_bench(const BenchOptions& options, const Progress& progress = {});

[[nodiscard]] std::string to_text(const BenchResult& result);
// One object: data, format, device, model, batch, storage, loader, copy, network, together (samples/s), data_wait,
// overlap, utilisation, bottleneck, verdict, rounds_of (rates of the rounds, by part), other_cores, profile.
[[nodiscard]] std::string to_json(const BenchResult& result);
// Defined in bench_report.cpp. `command`: the command line, shown in the report.
[[nodiscard]] Report report_of(const BenchResult& result, const std::string& command);

}  // namespace unstarve
