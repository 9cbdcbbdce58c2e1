// The main process prepares its batches itself, while cores are free.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Whether batches come from tf.data, whose threads belong to the main process.
bool is_tf_data(const PythonStacks& stacks) {
  return std::ranges::any_of(stacks.lines, [](const CodeLine& line) {
    return line.file.find("tensorflow/python/data/ops/") != std::string::npos;
  });
}

std::optional<RunFinding> find_serial_input(const RunProfile& profile) {
  const double in_loader = share_of(profile.stacks, StackThread::kMain, Activity::kInput);
  const double own = own_loading_share(profile), input = std::min(std::max(in_loader, own), 1.0);
  const double spinning = spinning_cores(profile);
  const GainPrediction gain = least_of(gain_by_cores(profile, spinning), gain_without(input, profile.stacks.seconds));
  const double possible = possible_gain(profile, input, spinning);
  if (input < 0.1 || possible < 1.1 || sum_of(profile, ProcessRole::kLoader).processes > 0) return std::nullopt;
  const ThreadWaits waits = main_thread_waits(profile);
  if (waits.network_s + waits.file_s >= 0.5 * input * steady_seconds(profile)) return std::nullopt;  // slow-reads
  RunFinding finding;
  const bool tf_data = is_tf_data(profile.stacks);
  finding.title = tf_data ? "the main process waits for tf.data, which uses few cores"
                          : "the main process prepares its batches itself, without workers";
  const bool is_own = own > in_loader;
  const HotLine line = is_own ? own_loading_line(profile) : HotLine{};
  finding.evidence = fmt::format("the main thread {} for {:.0f} % of the time{}; {:.1f} of {:.1f} cores are free",
                                 is_own ? "loads and decodes images" : "is in the loader", 100 * input,
                                 line.share > 0 ? ", mostly at " + to_string(line.line) : "", free_cores(profile),
                                 usable_cores(profile.machine));
  if (spinning >= kFewestSpinning)
    finding.evidence += fmt::format("; operator threads busy-wait on {:.1f} cores", spinning);
  const int workers = std::max(1, static_cast<int>(std::min(input * possible + 0.99, usable_cores(profile.machine))));
  const std::string spread = "map(..., num_parallel_calls=tf.data.AUTOTUNE), and prefetch(tf.data.AUTOTUNE) at the end";
  finding.changes = {
      tf_data ? "" : fmt::format("prepare batches in {} other {}", workers, workers == 1 ? "process" : "processes"),
      is_own ? fmt::format("load samples in __getitem__() of a Dataset, which the workers of "
                           "DataLoader(num_workers={}) execute",
                           workers)
             : fmt::format("prepare batches in other processes (num_workers={})", workers),
      spread,
      tf_data ? spread : fmt::format("prepare batches in other processes: grain.DataLoader(worker_count={})", workers),
      is_own ? "load with unstarve.open(), whose threads prepare batches while the main thread trains"
             : "leave options(threads=) out, so that the number of threads is chosen automatically"};
  if (spinning >= kFewestSpinning) finding.changes.add(no_spinning());
  finding.gain = gain;
  finding.lost = lost_by(gain);
  return finding;
}

}  // namespace

const Rule kSerialInput{
    "serial-input",
    "no worker processes; the main thread is in the loader for 10 % of the time, or trains and loads "
    "images itself for 10 %; reads from files and sockets are less than half of that, and the "
    "cores permit a gain of 1.1",
    find_serial_input};

}  // namespace unstarve
