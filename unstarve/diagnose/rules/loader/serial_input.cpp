// The main process prepares its batches itself, while cores are free.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/rules/tf_generator.h"

namespace unstarve {
namespace {

// Whether batches come from tf.data, whose threads belong to the main process.
bool is_tf_data(const PythonStacks& stacks) {
  return std::ranges::any_of(stacks.lines, [](const CodeLine& line) {
    return line.file.find("tensorflow/python/data/ops/") != std::string::npos;
  });
}

// How the main thread gets its data.
enum class Source { kLoader, kOwn, kGenerator };
struct Input {
  Source source = Source::kLoader;
  double share = 0;  // of its time
  HotLine line{};
};

Input input_of(const RunProfile& profile) {
  const double in_loader = share_of(profile.stacks, StackThread::kMain, Activity::kInput);
  const double own = own_loading_share(profile), generator = generator_share(profile);
  if (generator > std::max(in_loader, own)) return {Source::kGenerator, generator, generator_line(profile.stacks)};
  if (own > in_loader) return {Source::kOwn, own, own_loading_line(profile)};
  return {Source::kLoader, std::min(in_loader, 1.0)};
}

const char* verb_of(Source source) {
  switch (source) {
    case Source::kLoader: return "is in the loader";
    case Source::kOwn: return "loads and decodes images";
    case Source::kGenerator: return "waits for the generator";
  }
  return "";
}

const char* title_of(Source source, bool tf_data) {
  if (source == Source::kGenerator) return "the main process waits for a Python generator, which one thread executes";
  return tf_data ? "the main process waits for tf.data, which uses few cores"
                 : "the main process prepares its batches itself, without workers";
}

Changes changes_of(Source source, bool tf_data, int workers) {
  const std::string spread = "map(..., num_parallel_calls=tf.data.AUTOTUNE), and prefetch(tf.data.AUTOTUNE) at the end";
  const std::string processes =
      fmt::format("PyDataset(workers={}, use_multiprocessing=True), or {}, instead of the generator", workers, spread);
  const bool is_own = source == Source::kOwn, is_generator = source == Source::kGenerator;
  return {
      tf_data ? "" : fmt::format("prepare batches in {} other {}", workers, workers == 1 ? "process" : "processes"),
      is_own ? fmt::format("load samples in __getitem__() of a Dataset, which the workers of "
                           "DataLoader(num_workers={}) execute",
                           workers)
             : fmt::format("prepare batches in other processes (num_workers={})", workers),
      is_generator ? processes : spread,
      tf_data ? spread : fmt::format("prepare batches in other processes: grain.DataLoader(worker_count={})", workers),
      is_own ? "load with unstarve.open(), whose threads prepare batches while the main thread trains"
             : "leave options(threads=) out, so that the number of threads is chosen automatically"};
}

std::optional<RunFinding> find_serial_input(const RunProfile& profile) {
  const Input input = input_of(profile);
  const bool is_generator = input.source == Source::kGenerator;
  const double spinning = spinning_cores(profile);
  // The stacks show how long the generator works, and not exactly how long the main thread waits for it.
  const GainPrediction gain =
      least_of(gain_by_cores(profile, spinning), gain_without(input.share, is_generator ? 0 : profile.stacks.seconds));
  const double possible = possible_gain(profile, input.share, spinning);
  if (input.share < 0.1 || possible < 1.1 || sum_of(profile, ProcessRole::kLoader).processes > 0) return std::nullopt;
  const ThreadWaits waits = main_thread_waits(profile);
  if (waits.network_s + waits.file_s >= 0.5 * input.share * steady_seconds(profile)) return std::nullopt;  // slow-reads
  RunFinding finding;
  const bool tf_data = !is_generator && is_tf_data(profile.stacks);
  finding.title = title_of(input.source, tf_data);
  finding.evidence = fmt::format("the main thread {} for {:.0f} % of the time{}; {:.1f} of {:.1f} cores are free",
                                 verb_of(input.source), 100 * input.share,
                                 input.line.share > 0 ? ", mostly at " + to_string(input.line.line) : "",
                                 free_cores(profile), usable_cores(profile.machine));
  if (spinning >= kFewestSpinning)
    finding.evidence += fmt::format("; operator threads busy-wait on {:.1f} cores", spinning);
  const int workers =
      std::max(1, static_cast<int>(std::min(input.share * possible + 0.99, usable_cores(profile.machine))));
  finding.changes = changes_of(input.source, tf_data, workers);
  if (spinning >= kFewestSpinning) finding.changes.add(no_spinning());
  finding.gain = gain;
  finding.lost = lost_by(gain);
  return finding;
}

}  // namespace

const Rule kSerialInput{
    "serial-input",
    "no worker processes; the main thread is in the loader for 10 % of the time, or trains and loads "
    "images itself for 10 %, or executes a graph of TensorFlow while a Python generator works for 90 %, or for 10 % "
    "while no other thread can run; reads from files and sockets are less than half of that, and the "
    "cores permit a gain of 1.1",
    find_serial_input};

}  // namespace unstarve
