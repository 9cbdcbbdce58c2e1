// The main thread compiles in the middle of the run.

#include <algorithm>

#include "unstarve/diagnose/rules/program/stall.h"
#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_compilation(const RunProfile& profile) {
  double latest = 0;
  for (const StackUse& stack : profile.stacks.stacks)
    if (stack.thread == StackThread::kMain && activity_of(profile.stacks, stack) == Activity::kCompile)
      latest = std::max(latest, stack.last_s);
  if (latest < 0.5 * profile.watching.seconds) return std::nullopt;  // only at the beginning
  return find_stall(
      profile,
      {Activity::kCompile,
       "graphs are recompiled repeatedly",
       {"keep shapes and types of the arguments constant: pad or drop the last batch",
        "keep shapes constant: DataLoader(drop_last=True) or padding; or mark dynamic sizes: "
        "torch.compile(dynamic=True)",
        "keep shapes constant: batch(drop_remainder=True); pass varying numbers as tensors, or use "
        "tf.function(reduce_retracing=True)",
        "keep shapes constant: pad or drop the last batch; pass varying numbers as arrays, not as static_argnums, and "
        "call jax.jit once, outside of the loop"},
       0.1},
      main_stall_share(profile, Activity::kCompile));
}

}  // namespace

const Rule kRecompilation{"recompilation",
                          "the main thread compiles for 10 % of the time, also in the second half of the run",
                          find_compilation};

}  // namespace unstarve
