#pragma once
// One optimisation of a plan: decides whether it applies to this pipeline over these data, and writes it into the plan.
//
// The passes run one after the other in the order of kPasses (passes.cpp) when a plan is made; each leaves a PassNote
// with its reason, applied or not. A spec switches one off by its name: "passes: {crop_into_decode: false}".
// Exact passes are proven bit-equal by passes_test.cpp and scan_index_test.cpp; approximate ones change pixels, tell by
// how much at most (`error`, which approximate_test.cpp holds them to), and stay out unless the spec asks.
//
// Failure: apply() throws Error(kArgument) naming the node of the spec that makes no sense.
// To add one: a file beside this one with its `const Pass`, declared below, a row in kPasses and in
// spec/pass_switches.cpp, a test that batches are equal with it and without.

#include <span>
#include <string>
#include <string_view>

#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {

// What a pass decided, and why; without reason it has none to give.
struct Decision {
  bool applied = false;
  std::string reason;
};

struct PassInput {
  Size probed;  // of the first sample that can be read
  Caches caches = Caches::kOpened;
  Consumer consumer = Consumer::kHost;
};

struct Pass {
  std::string_view name;
  bool exact = true;
  std::string_view help;  // one line: what it does
  Decision (*apply)(Plan& plan, const PassInput& input);
  // What has to be set where it is switched off; null: nothing.
  void (*leave_out)(Plan& plan) = nullptr;
  // Of approximate ones: how far what it makes may be from what there is without it.
  std::string_view error{};
};

extern const Pass kBatchFusionPass;
extern const Pass kDeadFieldRemovalPass;
extern const Pass kFilterFusionPass;
extern const Pass kFilterBeforeDecodePass;
extern const Pass kInterleavePass;
extern const Pass kNormaliseOnDevicePass;
extern const Pass kCachePass;
extern const Pass kCropIntoResizePass;
extern const Pass kCropIntoDecodePass;
extern const Pass kScaleIntoDecodePass;
extern const Pass kResizeIntoDecodePass;
extern const Pass kScanIndexPass;
extern const Pass kOperationFusionPass;
extern const Pass kReadAheadPass;

// Whether an operation of the plan may read less than all of its input, judged by an input of this size and one twice
// as large (crops to a size of their own read all of a smaller one), some draws each: a random one may take it all.
[[nodiscard]] bool selects_part(const Plan& plan, std::size_t operation, Size input);

// All of them, in the order in which they run.
[[nodiscard]] std::span<const Pass* const> passes();

// Runs all that the spec does not switch off and writes plan.passes.
void run_passes(Plan& plan, const PassInput& input);

}  // namespace unstarve
