#pragma once
// `unstarve demo`: the loader compared with other loaders, two tuning runs and one report, in a few minutes.
//
// The comparison (peer_comparison.h) reads JPEG photographs. The first tuning run trains a small network on the CPU or
// GPU of this machine. The second one feeds an emulated accelerator from the photographs, where the loader is the
// bottleneck. Missing data is generated (synth.h).
//
// Threads: one caller. Failure: as run_tune() and run_synth(). Without libtorch the training run is left out.

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/peer_comparison.h"
#include "unstarve/jobs/tune.h"

namespace unstarve {

struct DemoOptions {
  std::string thumbnails;      // 32-pixel dataset to train on; "": generated
  std::string photographs;     // JPEG photographs to load; "": generated
  std::string device = "cpu";  // training device: "cpu" or "cuda"
  std::string accelerator = "emulated:h100-resnet50";
  double minutes = 2;            // for both tuning runs; the comparison takes about as long
  std::filesystem::path folder;  // of generated datasets; existing ones are reused
};

struct DemoResult {
  ComparisonResult comparison;
  std::vector<TuneResult> ladders;
  std::vector<std::string> commands;  // of the ladders
  std::vector<std::string> left_out;  // tuning runs, with the reason
};

[[nodiscard]] DemoResult run_demo(const DemoOptions& options, const Progress& progress = {});

[[nodiscard]] Report report_of(const DemoResult& result, const std::string& command);
[[nodiscard]] std::string to_text(const DemoResult& result, int width);
[[nodiscard]] std::string to_json(const DemoResult& result);

}  // namespace unstarve
