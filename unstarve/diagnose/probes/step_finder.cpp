#include "unstarve/diagnose/probes/step_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewestSteps = 4;
constexpr std::size_t kFewestSamples = 3;  // of a step
constexpr std::size_t kMostTimes = 2000;
constexpr double kHeavy = 0.1;  // share of the loop's samples in a line that marks its steps

// The samples of one function that is called once: the lines that it executes.
struct Visit {
  std::size_t sample;  // when
  int line;            // index of a line
};
using Visits = std::vector<Visit>;

// The first samples of all runs of samples at `line`.
std::vector<std::size_t> arrivals(const Visits& visits, int line) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < visits.size(); ++i)
    if (visits[i].line == line && (i == 0 || visits[i - 1].line != line)) result.push_back(visits[i].sample);
  return result;
}

// Of the lines that take much time, the one that is visited least often: a statement of several lines is visited
// several times in each step.
std::pair<int, std::vector<std::size_t>> marking_line(const Visits& visits) {
  std::map<int, std::size_t> samples;
  for (const Visit& visit : visits) ++samples[visit.line];
  std::pair<int, std::vector<std::size_t>> best{-1, {}};
  for (const auto& [line, count] : samples) {
    if (static_cast<double>(count) < kHeavy * static_cast<double>(visits.size())) continue;
    std::vector<std::size_t> starts = arrivals(visits, line);
    // Visits of the line, and of the others, that are too short are missed.
    if (count < 2 * starts.size() || visits.size() - count < 2 * starts.size()) continue;
    if (best.first < 0 || starts.size() < best.second.size()) best = {line, std::move(starts)};
  }
  return best;
}

// Whether the loop of a function at `depth` of the stack may be the one over the steps.
bool may_mark_steps(const StackRecording& recording, const std::vector<int>& stack, std::size_t depth) {
  const CodeLine& own = recording.lines[static_cast<std::size_t>(stack[depth])];
  const bool within_part = std::any_of(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(depth), [&](int i) {
    return activity_of(recording.lines[static_cast<std::size_t>(i)]) != Activity::kOther;
  });
  return !within_part && (!is_library(own) || (is_trainer(own) && activity_of(own) == Activity::kOther));
}

}  // namespace

StepUse find_steps(const StackRecording& recording, int main_process) {
  const auto thread = std::ranges::find_if(
      recording.threads, [&](const RecordedThread& one) { return one.process == main_process && one.is_main; });
  if (thread == recording.threads.end()) return {};
  const auto& samples = thread->samples;
  std::size_t deepest = 0;
  for (const std::vector<int>& sample : samples) deepest = std::max(deepest, sample.size());
  for (std::size_t depth = 0; depth < deepest; ++depth) {
    // The calls that lead to a function, and its lines.
    std::map<std::pair<std::vector<int>, std::string>, Visits> functions;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].size() <= depth || !may_mark_steps(recording, samples[i], depth)) continue;
      const int index = samples[i][depth];
      const CodeLine& line = recording.lines[static_cast<std::size_t>(index)];
      std::vector<int> callers(samples[i].begin(), samples[i].begin() + static_cast<std::ptrdiff_t>(depth));
      functions[{std::move(callers), line.file + ":" + line.function}].push_back({i, index});
    }
    for (const auto& [function, visits] : functions) {
      if (2 * visits.size() < samples.size()) continue;
      const auto [line, starts] = marking_line(visits);
      if (line < 0 || starts.size() <= kFewestSteps) continue;
      const std::size_t length = starts.back() - starts.front();
      if (length < kFewestSamples * (starts.size() - 1)) continue;
      StepUse steps;
      steps.source = fmt::format("the loop at {}", to_string(recording.lines[static_cast<std::size_t>(line)]));
      steps.rate = static_cast<double>(starts.size() - 1) / (static_cast<double>(length) * recording.interval_s);
      for (std::size_t i = 1; i < starts.size(); ++i)
        steps.seconds.push_back(static_cast<double>(starts[i] - starts[i - 1]) * recording.interval_s);
      return steps;
    }
  }
  return {};
}

void add_steps(StepUse& sum, const StepUse& steps) {
  if (steps.source.empty()) return;
  if (sum.source != steps.source) {
    if (sum.seconds.size() < steps.seconds.size()) sum = steps;
    return;
  }
  const auto duration = [](const StepUse& use) { return static_cast<double>(use.seconds.size()) / use.rate; };
  const double seconds = duration(sum) + duration(steps);
  sum.rate = static_cast<double>(sum.seconds.size() + steps.seconds.size()) / seconds;
  sum.seconds.insert(sum.seconds.end(), steps.seconds.begin(), steps.seconds.end());
  if (sum.seconds.size() > kMostTimes) sum.seconds.resize(kMostTimes);
}

}  // namespace unstarve
