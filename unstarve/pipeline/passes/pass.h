#pragma once
// A pass: one optimisation, a function from a plan to a plan with one line of explanation.
//
// make_plan() runs the passes in the order of spec/pass_table.inl. Each leaves a PassNote, applied or not. Exact passes
// change no bit of any batch (passes_test.cpp); approximate passes change pixels by at most their error
// (approximate_test.cpp) and apply only where the spec requests them by name.
// To add one: its file with pass_NAME(), a row in spec/pass_table.inl, a test that batches are equal with and without
// it, a row in the documentation.
//
// Threads: pure. Failure: Error(kArgument) naming the node of the spec that is invalid.

#include <string>
#include <string_view>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

struct ExecutionPlan;
struct RunOptions;

// What a pass may consider in addition to the plan.
struct PassContext {
  const RunOptions& run;
  const ExecutionPlan& execution;
  std::string_view cache_choice{};  // cache.what auto: the reason of the choice
};

struct Rewrite {
  Plan plan;
  bool applied = false;
  std::string reason;  // one line, for users
};

#define PASS(name, help, error) Rewrite pass_##name(Plan plan, const PassContext& context);
#include "unstarve/pipeline/spec/pass_table.inl"
#undef PASS

// Why no pass can move work of the first operation into decoding; empty if one can.
[[nodiscard]] std::string why_decoding_is_fixed(const Plan& plan);

// Whether `operation` may read less than all of an input of this size or of one twice as large (crops read all of a
// smaller image). A random operation is drawn 32 times.
[[nodiscard]] bool selects_part(const Plan& plan, OpIndex operation, Size input);

}  // namespace unstarve
