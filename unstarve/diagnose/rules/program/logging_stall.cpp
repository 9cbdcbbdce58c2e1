// The training stops while the main thread writes logs.

#include <algorithm>

#include "unstarve/diagnose/rules/program/stall.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Logs and checkpoints may be written by functions of the user; writes and fsync are seen in any program.
double flush_share(const RunProfile& profile) {
  return profile.watching.seconds > 0 ? main_thread_waits(profile).flush_s / steady_seconds(profile) : 0;
}

std::optional<RunFinding> find_logging(const RunProfile& profile) {
  constexpr double kFlushes = 0.05;
  const bool saves = main_stall_share(profile, Activity::kCheckpoint) > 0;  // fsync may be that of checkpoints
  // Frames do not show fsync, the text of lines does. Without it, a function of the user that waits for the disk has
  // little time in known functions.
  const double least = !saves && flush_share(profile) >= kFlushes ? 0.01 : kFlushes;
  const double by_stacks = main_stall_share(profile, Activity::kLogging, least, !saves);
  if (by_stacks == 0 && !saves) {
    return find_stall(profile,
                      {Activity::kLogging, "the main thread waits for writes to files",
                       Changes{"write files in another thread, in large pieces, and rarely with fsync"}, kFlushes},
                      flush_share(profile));
  }
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

}  // namespace

const Rule kLoggingStall{
    "logging-stall",
    "the main thread is in functions that write logs and images, or functions of the program around them, for 5 % of "
    "the time; or in writes, fsync or functions around it, if the stacks show no checkpoints",
    find_logging};

}  // namespace unstarve
