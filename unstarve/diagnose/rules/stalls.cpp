// The main thread does something else than training: it saves the model, writes logs, or compiles.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

struct Stall {
  Activity activity;
  const char* title;
  Changes changes;
  double threshold;
  HotLine otherwise{};  // the line if the caller is not known
};

std::optional<RunFinding> find_stall(const RunProfile& profile, const Stall& stall, double share) {
  if (share < stall.threshold) return std::nullopt;
  RunFinding finding;
  finding.title = stall.title;
  finding.evidence = fmt::format("the main thread does this for {:.0f} % of the time", 100 * share);
  HotLine line = caller_of(profile.stacks, StackThread::kMain, stall.activity);
  if (line.share <= 0) line = stall.otherwise;
  if (line.share > 0) finding.evidence += fmt::format(", called at {}", to_string(line.line));
  finding.changes = stall.changes;
  finding.gain = gain_without(share, profile.stacks.seconds > 0 ? profile.stacks.seconds : steady_seconds(profile));
  finding.lost = share;
  return finding;
}

double stacks_share(const RunProfile& profile, Activity activity, double least = 0.05, bool flushes = false) {
  return std::min(stall_share(profile.stacks, activity, least, flushes), 1.0);
}

// Logs and checkpoints may be written by functions of the user; fsync is seen in any program.
double flush_share(const RunProfile& profile) {
  return profile.watching.seconds > 0 ? main_thread_waits(profile).flush_s / steady_seconds(profile) : 0;
}

std::optional<RunFinding> find_checkpoint(const RunProfile& profile) {
  return find_stall(profile,
                    {Activity::kCheckpoint,
                     "saving checkpoints stops the training",
                     {"save less often, or from a copy in a thread",
                      "save less often, or from a copy in a thread (torch.distributed.checkpoint.async_save)",
                      "save less often, or in a thread (tf.train.CheckpointOptions(enable_async=True))",
                      "save less often, or from a copy in a thread (orbax.checkpoint.AsyncCheckpointer)",
                      "save less often: unstarve train --checkpoint-every"},
                     0.05},
                    stacks_share(profile, Activity::kCheckpoint));
}

std::optional<RunFinding> find_logging(const RunProfile& profile) {
  constexpr double kFlushes = 0.05;
  const bool saves = stacks_share(profile, Activity::kCheckpoint) > 0;  // fsync may be that of checkpoints
  // Frames do not show fsync, the text of lines does. Without it, a function of the user that waits for the disk has
  // little time in known functions.
  const double least = !saves && flush_share(profile) >= kFlushes ? 0.01 : kFlushes;
  const double by_stacks = stacks_share(profile, Activity::kLogging, least, !saves);
  return find_stall(profile,
                    {Activity::kLogging,
                     "writing logs stops the training",
                     {"log every 50 to 100 steps, keep values on the device until then, and do not flush each time",
                      "log every 50 to 100 steps, sum the loss on the device until then (no .item()), and use "
                      "SummaryWriter(flush_secs=120)",
                      "log every 50 to 100 steps: tf.summary.record_if(step % 100 == 0), TensorBoard(update_freq=100)",
                      "log every 50 to 100 steps, and keep values as arrays until then (no float() or print)"},
                     0.05,
                     hottest_flush(profile.stacks, StackThread::kMain)},
                    saves ? by_stacks : std::max(by_stacks, flush_share(profile)));
}

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
      stacks_share(profile, Activity::kCompile));
}

}  // namespace

const Rule kCheckpointStall{
    "checkpoint-stall",
    "the main thread is in functions that save models, or functions of the program around them, for 5 % of the time",
    find_checkpoint};
const Rule kLoggingStall{
    "logging-stall",
    "the main thread is in functions that write logs and images, or functions of the program around them, for 5 % of "
    "the time; or in fsync or functions around it, if the stacks show no checkpoints",
    find_logging};
const Rule kRecompilation{"recompilation",
                          "the main thread compiles for 10 % of the time, also in the second half of the run",
                          find_compilation};

}  // namespace unstarve
