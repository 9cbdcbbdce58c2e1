#pragma once
// `unstarve demo`: the whole idea in a few minutes, as two ladders and one report.
//
// The first ladder trains a small network on this machine's processor (or GPU); the second feeds an emulated
// accelerator from JPEG photographs, where the loader's rungs show. Data that is not given is made (see synth.h).
// Threads: one caller. Failure: as run_tune() and run_synth().

#include <filesystem>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/tune.h"

namespace unstarve {

struct DemoOptions {
  std::string thumbnails;      // 32-pixel data set to train on; "": made
  std::string photographs;     // JPEG photographs to feed from; "": made
  std::string device = "cpu";  // what trains: "cpu" or "cuda"
  std::string accelerator = "emulated:h100-resnet50";
  double minutes = 3;            // both ladders together
  std::filesystem::path folder;  // where made data sets go, and are found again
};

[[nodiscard]] std::vector<TuneResult> run_demo(const DemoOptions& options, const Progress& progress = {});

}  // namespace unstarve
