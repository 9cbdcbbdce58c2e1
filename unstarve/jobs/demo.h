#pragma once
// `unstarve demo`: two tuning runs and one report, in a few minutes.
//
// The first run trains a small network on the CPU or GPU of this machine. The second run feeds an emulated accelerator
// from JPEG photographs, where the loader is the bottleneck. Missing data is generated (synth.h).
//
// Threads: one caller. Failure: as run_tune() and run_synth().

#include <filesystem>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/tune.h"

namespace unstarve {

struct DemoOptions {
  std::string thumbnails;      // 32-pixel dataset to train on; "": generated
  std::string photographs;     // JPEG photographs to load; "": generated
  std::string device = "cpu";  // training device: "cpu" or "cuda"
  std::string accelerator = "emulated:h100-resnet50";
  double minutes = 3;            // for both runs
  std::filesystem::path folder;  // of generated datasets; existing ones are reused
};

[[nodiscard]] std::vector<TuneResult> run_demo(const DemoOptions& options, const Progress& progress = {});

}  // namespace unstarve
