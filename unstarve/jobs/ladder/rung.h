#pragma once
// One rung of the tuning ladder: a single optimisation, described by the settings it changes.
//
// A rung decides whether it applies (and if not, why) and which settings to try. The ladder runs a short block of each
// candidate and compares the fastest with the current settings. A rung measures nothing itself.
//
// To add a rung: a file next to this one with a `const Rung`, its declaration below, and a row in kRungs (rungs.cpp).
// Threads: constants and pure functions.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/observe/machine.h"

namespace unstarve {

// The inputs of a rung besides the settings.
struct RungContext {
  Target target;
  MachineFacts machine;
  bool encoded = false;       // samples are encoded images
  std::uint64_t samples = 0;  // in the dataset
  // False for an emulated accelerator, which computes nothing.
  [[nodiscard]] bool has_network() const { return !target.emulated(); }
};

struct Candidate {
  Settings settings;
  std::string change;  // "batch 32 -> 128"
};

struct Rung {
  std::string_view name;
  bool affects_learning;  // may change the training result: losses are compared
  bool approximate;       // pixels differ from those of the exact path
  // The reason why the rung does not apply; empty if it applies.
  std::string (*not_applicable)(const RungContext& context, const Settings& current);
  // Settings to try; not empty if the rung applies.
  std::vector<Candidate> (*candidates)(const RungContext& context, const Settings& current);
};

// All rungs in the order in which they are tried.
[[nodiscard]] std::span<const Rung* const> rungs();

extern const Rung kBatchSizeRung;
extern const Rung kMixedPrecisionRung;
extern const Rung kChannelsLastRung;
extern const Rung kFusedOptimiserRung;
extern const Rung kUint8BusRung;
extern const Rung kLoaderThreadsRung;
extern const Rung kPrefetchRung;
extern const Rung kPinnedMemoryRung;
extern const Rung kCropOnlyDecodeRung;
extern const Rung kReducedScaleRung;
extern const Rung kOperatorThreadsRung;

}  // namespace unstarve
