#include "unstarve/diagnose/probes/thread_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "unstarve/diagnose/traces/window.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewestSamplesShown = 40, kSamplesWithoutSteps = 200;
constexpr std::size_t kShortestStep = 5;  // samples
constexpr double kRepeats = 0.15;         // by which two steps agree more than a step and a part of the next one

ThreadState state_of(Wait wait) {
  switch (wait) {
    case Wait::kLock:
    case Wait::kMutex: return ThreadState::kLock;
    case Wait::kFile:
    case Wait::kFlush: return ThreadState::kFile;
    case Wait::kPipe: return ThreadState::kPipe;
    case Wait::kNetwork: return ThreadState::kNetwork;
    case Wait::kEvents: return ThreadState::kEvents;
    case Wait::kSleep: return ThreadState::kSleep;
    case Wait::kNone:
    case Wait::kOther: break;
  }
  return ThreadState::kWaiting;
}

// Share of `length` states that are the same from `a` and from `b` on.
double agreement(const std::vector<ThreadState>& states, std::size_t a, std::size_t b, std::size_t length) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < length; ++i) same += states[a + i] == states[b + i] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(length);
}

// The begin of the longest wait among the first `length` states.
std::size_t longest_wait(const std::vector<ThreadState>& states, std::size_t length) {
  std::size_t best = 0, most = 0, begin = 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (states[i] == ThreadState::kRunning) continue;
    if (i == 0 || states[i - 1] == ThreadState::kRunning) begin = i;
    if (i - begin + 1 > most) {
      most = i - begin + 1;
      best = begin;
    }
  }
  return best;
}

// Index of the sample nearest to `seconds`.
std::size_t sample_at(const ThreadSamples& samples, double seconds) {
  const auto& times = samples.times;
  const auto next = std::lower_bound(times.begin(), times.end(), seconds);
  if (next == times.begin()) return 0;
  const bool before = next == times.end() || seconds - *(next - 1) < *next - seconds;
  return static_cast<std::size_t>(next - times.begin()) - (before ? 1 : 0);
}

// The most frequent one; of several, the first one in the order of ThreadState.
ThreadState most_of(const std::vector<ThreadState>& states, std::size_t from, std::size_t to) {
  std::array<int, kThreadStates> counts{};
  for (std::size_t i = from; i < to; ++i) ++counts[static_cast<std::size_t>(states[i])];
  return static_cast<ThreadState>(std::ranges::max_element(counts) - counts.begin());
}

// The states of the samples from `first` to `last`, `group` of them together.
std::vector<ThreadSpan> spans_of(const ThreadSamples& samples, std::size_t first, std::size_t last, std::size_t group) {
  std::vector<ThreadSpan> spans;
  for (std::size_t lane = 0; lane < samples.threads.size(); ++lane) {
    const std::vector<ThreadState>& states = samples.threads[lane].states;
    const std::size_t end = std::min(last, states.size());
    bool is_new = true;
    for (std::size_t from = first; from < end; from += group) {
      const std::size_t to = std::min(from + group, end);
      const ThreadState state = most_of(states, from, to);
      if (is_new || spans.back().state != state)
        spans.push_back({static_cast<int>(lane), state, samples.times[from] - samples.times[first], 0});
      spans.back().seconds = samples.times[to] - samples.times[first] - spans.back().begin_s;
      is_new = false;
    }
  }
  return spans;
}

}  // namespace

ThreadState state_between(const ThreadLook& from, const ThreadLook& to, double seconds, ThreadState last) {
  const double running = 1e-9 * static_cast<double>(to.times.running_ns - from.times.running_ns);
  const double ready = 1e-9 * static_cast<double>(to.times.waiting_ns - from.times.waiting_ns);
  const double rest = seconds - running - ready;
  // The kernel updates both times at its ticks, which may be longer than the interval.
  if (running <= 0 && ready <= 0 && from.wait == Wait::kNone && to.wait == Wait::kNone)
    return last == ThreadState::kRunning ? last : ThreadState::kRunnable;
  if (running >= ready && running >= rest) return ThreadState::kRunning;
  if (ready >= rest) return ThreadState::kRunnable;
  const Wait before = from.wait.value_or(Wait::kNone);
  return state_of(before != Wait::kNone ? before : to.wait.value_or(Wait::kNone));
}

StepMarks repeated_steps(const ThreadSamples& samples, double period_s) {
  StepMarks marks;
  if (samples.threads.empty() || samples.times.size() < 2 || !(period_s > 0)) return marks;
  const std::vector<ThreadState>& states = samples.threads[0].states;
  const double interval =
      (samples.times.back() - samples.times.front()) / static_cast<double>(samples.times.size() - 1);
  const double length_of_step = period_s / interval;
  if (length_of_step < kShortestStep || 3 * length_of_step > static_cast<double>(states.size())) return marks;
  const auto length = static_cast<std::size_t>(length_of_step);
  const std::size_t shortest = length - length / 4, longest = length + length / 4;
  double same = 0, shifted = 0;
  std::size_t at = longest_wait(states, length);
  marks.begins.push_back(samples.times[at]);
  while (at + longest + length <= states.size()) {
    std::size_t best = shortest;
    double most = -1;
    for (std::size_t shift = shortest; shift <= longest; ++shift) {
      // Of equal ones, that nearest to the period.
      const double distance = std::abs(static_cast<double>(shift) - length_of_step) / length_of_step;
      const double value = agreement(states, at, at + shift, length) - 0.01 * distance;
      if (value <= most) continue;
      most = value;
      best = shift;
    }
    same += most;
    shifted += agreement(states, at, at + best / 2, length);
    at += best;
    marks.begins.push_back(samples.times[at]);
  }
  const auto steps = static_cast<double>(marks.begins.size() - 1);
  if (steps < 1 || same - shifted < kRepeats * steps) return {};
  marks.source = "what the main thread repeats";
  return marks;
}

StepMarks marks_within(const ThreadSamples& samples, const StepMarks& marked, const std::vector<Interval>& ranges,
                       double rate) {
  if (samples.threads.empty() || samples.times.empty()) return {};
  const auto within = [&](const StepMarks& marks) {
    return std::ranges::count_if(marks.begins, [&](double time) {
             return time >= samples.times.front() && time <= samples.times.back();
           }) >= 2;
  };
  if (within(marked)) return marked;
  StepMarks marks{"NVTX ranges", {}};
  for (const Interval& range : ranges) {
    for (const std::int64_t ns : {range.begin, range.end}) {
      const double time = 1e-9 * static_cast<double>(ns);
      if (marks.begins.empty() || time > marks.begins.back()) marks.begins.push_back(time);
    }
  }
  if (within(marks)) return marks;
  return rate > 0 ? repeated_steps(samples, 1 / rate) : StepMarks{};
}

ThreadWindow thread_window(const ThreadSamples& samples, const StepMarks& marks, double begin_s) {
  ThreadWindow window;
  if (samples.threads.empty() || samples.times.size() < 2) return window;
  const std::size_t all = samples.times.size() - 1;
  const double interval = (samples.times.back() - samples.times.front()) / static_cast<double>(all);
  std::vector<Interval> steps;  // within the samples
  for (std::size_t i = 0; i + 1 < marks.begins.size(); ++i) {
    if (marks.begins[i] < samples.times.front() || marks.begins[i + 1] > samples.times.back() ||
        marks.begins[i + 1] <= marks.begins[i])
      continue;
    steps.push_back(
        {static_cast<std::int64_t>(1e9 * marks.begins[i]), static_cast<std::int64_t>(1e9 * marks.begins[i + 1])});
  }
  std::size_t first = all > kSamplesWithoutSteps ? (all - kSamplesWithoutSteps) / 2 : 0;
  std::size_t last = std::min(first + kSamplesWithoutSteps, all);
  if (!steps.empty()) {
    const double mean =
        1e-9 * static_cast<double>(steps.back().end - steps.front().begin) / static_cast<double>(steps.size());
    const auto count = static_cast<std::size_t>(
        std::clamp(std::ceil(static_cast<double>(kFewestSamplesShown) * interval / mean),
                   static_cast<double>(kWindowSteps), static_cast<double>(std::max(steps.size(), kWindowSteps))));
    const std::size_t from = typical_step(steps, count), to = std::min(from + count, steps.size());
    first = sample_at(samples, 1e-9 * static_cast<double>(steps[from].begin));
    last = sample_at(samples, 1e-9 * static_cast<double>(steps[to - 1].end));
    window.step_source = marks.source;
    for (std::size_t i = from; i < to; ++i) {
      const double begin = 1e-9 * static_cast<double>(steps[i].begin) - samples.times[first];
      window.steps.push_back(std::max(begin, 0.0));
    }
  }
  std::size_t group = 1;
  for (; (window.spans = spans_of(samples, first, last, group)).size() > kMostThreadSpans; group *= 2) {
  }
  window.begin_s = samples.times[first] - begin_s;
  window.seconds = samples.times[last] - samples.times[first];
  window.resolution_s = interval * static_cast<double>(group);
  for (const SampledThread& thread : samples.threads) window.lanes.push_back(thread.name);
  return window;
}

}  // namespace unstarve
