#pragma once
// One rung of the tuning ladder: a single optimisation, as the settings it would change.
//
// A rung says whether it applies here and, if not, why; and which settings to try. When it offers several candidates,
// the ladder scans them briefly and measures the fastest properly. It never measures anything itself.
// To add one: a file beside this one with a `const Rung`, and a row in kRungs (rungs.cpp), in the order of the climb.
// Threads: constants and pure functions.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/observe/machine.h"

namespace unstarve {

// What a rung may look at besides the settings.
struct RungContext {
  Target target;
  MachineFacts machine;
  bool encoded = false;       // samples need decoding
  std::uint64_t samples = 0;  // in the data set
  // An emulated accelerator only takes time.
  [[nodiscard]] bool has_network() const { return !target.emulated(); }
};

struct Candidate {
  Settings settings;
  std::string change;  // "batch 32 -> 128"
};

struct Rung {
  std::string_view name;
  bool affects_learning;  // may change what is learned: its loss is compared
  bool approximate;       // pixels differ from the exact path
  // Why this rung does not apply, empty when it does.
  std::string (*not_applicable)(const RungContext& context, const Settings& current);
  // Settings to try; never empty when the rung applies.
  std::vector<Candidate> (*candidates)(const RungContext& context, const Settings& current);
};

// All rungs in the order of the climb.
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
