#pragma once
// A pass: one optimisation, a function from a plan to a plan with one line of explanation.
//
// The passes run in the order of spec/pass_switches.cpp. Each leaves a PassNote, applied or not. A spec switches one
// off by its name: "passes: {crop_into_decode: false}". Exact passes change no bit of any batch (passes_test.cpp);
// approximate passes change pixels by at most their `error` (approximate_test.cpp) and apply only where the spec
// requests them by name.
// To add one: its file with its `const Pass`, a declaration and a row in passes.cpp, a row in spec/pass_switches.cpp, a
// test that batches are equal with and without it, a row in the documentation.
//
// Threads: pure. Failure: rewrite() throws Error(kArgument) naming the node of the spec that makes no sense.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

struct Rewrite {
  Plan plan;
  bool applied = false;
  std::string reason;  // one line, for people
};

struct Pass {
  std::string_view name;  // that of its row in spec/pass_switches.cpp, which has its help and error
  Rewrite (*rewrite)(Plan plan, const RunOptions& run);
};

extern const Pass kCachePass;
extern const Pass kCropIntoResizePass;
extern const Pass kCropIntoDecodePass;
extern const Pass kScaleIntoDecodePass;
extern const Pass kResizeIntoDecodePass;
extern const Pass kScanIndexPass;
extern const Pass kOperationFusionPass;
extern const Pass kNormaliseOnDevicePass;

[[nodiscard]] std::span<const Pass* const> passes();

// Why no pass can move work of the first operation into decoding; empty where one can.
[[nodiscard]] std::string why_decoding_is_fixed(const Plan& plan);

// Whether `operation` may read less than all of an input of this size or of one twice as large (crops read all of a
// smaller image). A random operation is drawn 32 times.
[[nodiscard]] bool selects_part(const Plan& plan, OpIndex operation, Size input);

// Runs all passes and verifies the plan after each. `after` is called with the plan after every pass.
// Throws Error(kInternal) when a pass leaves a plan that is not valid.
[[nodiscard]] Plan run_passes(Plan plan, const RunOptions& run,
                              const std::function<void(const Plan&, const PassNote&)>& after = {});

}  // namespace unstarve
