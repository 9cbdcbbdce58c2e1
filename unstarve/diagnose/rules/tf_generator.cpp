#include "unstarve/diagnose/rules/tf_generator.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kAlways = 0.9, kOne = 1.05;  // shares of the time; the times of samples are not exact

const CodeLine& line_at(const PythonStacks& stacks, int index) { return stacks.lines[static_cast<std::size_t>(index)]; }

// Whether a helper thread executes a generator for tf.data.
bool executes_generator(const PythonStacks& stacks, const StackUse& stack) {
  constexpr std::string_view kFile = "tensorflow/python/data/ops/from_generator_op.py";
  return stack.thread == StackThread::kHelper && std::ranges::any_of(stack.lines, [&](int index) {
           return line_at(stacks, index).file.find(kFile) != std::string::npos;
         });
}

// Whether the main thread executes a graph, or waits for it.
bool executes_graph(const PythonStacks& stacks, const StackUse& stack) {
  return stack.thread == StackThread::kMain && !stack.lines.empty() &&
         line_at(stacks, stack.lines.back()).file.find("tensorflow/python/eager/execute.py") != std::string::npos;
}

template <class Counts>
double share_of_stacks(const PythonStacks& stacks, const Counts& counts) {
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks)
    if (counts(stacks, stack)) seconds += stack.seconds;
  return seconds / stacks.seconds;
}

}  // namespace

double generator_share(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  if (profile.stacks.seconds <= 0 || main.lived_s <= 0) return 0;
  const double produces = share_of_stacks(profile.stacks, executes_generator);
  double waits = std::min(produces, share_of_stacks(profile.stacks, executes_graph));
  // A generator that always works may wait for a CPU or use one: the rest is computation, during which nobody waits.
  const bool always = produces >= kAlways && produces <= kOne;
  const double uses = (main.cpu_s + main.run_delay_s) / main.lived_s - (always ? produces : 0);
  waits = std::min(waits, 1 - std::max(uses, 0.0));
  for (const GpuUse& gpu : gpus_of_program(profile.gpus))
    if (gpu.samples > 0) waits = std::min(waits, 1 - gpu.utilisation_mean);
  return std::clamp(waits, 0.0, 1.0);
}

HotLine generator_line(const PythonStacks& stacks) {
  std::map<int, double> by_line;
  for (const StackUse& stack : stacks.stacks) {
    if (!executes_generator(stacks, stack)) continue;
    const auto own = std::find_if(stack.lines.rbegin(), stack.lines.rend(),
                                  [&](int index) { return !is_library(line_at(stacks, index)); });
    if (own != stack.lines.rend()) by_line[*own] += stack.seconds;
  }
  const auto most = std::ranges::max_element(by_line, {}, [](const auto& line) { return line.second; });
  return most == by_line.end() ? HotLine{} : HotLine{line_at(stacks, most->first), most->second / stacks.seconds};
}

}  // namespace unstarve
