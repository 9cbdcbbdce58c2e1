#include "unstarve/diagnose/probes/thread_samples.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

constexpr double kSampleInterval = 0.01;

ThreadLook look(double running_s, double ready_s, std::optional<Wait> wait) {
  return {{static_cast<std::int64_t>(1e9 * running_s), static_cast<std::int64_t>(1e9 * ready_s)}, wait};
}

TEST_CASE("a thread has the state in which it was longest") {
  const auto state = [](double running_s, double ready_s, std::optional<Wait> from, std::optional<Wait> to,
                        ThreadState last = ThreadState::kWaiting) {
    return state_between(look(5, 3, from), look(5 + running_s, 3 + ready_s, to), kSampleInterval, last);
  };
  CHECK(state(0.006, 0.001, Wait::kNone, Wait::kPipe) == ThreadState::kRunning);
  CHECK(state(0.003, 0.005, Wait::kNone, Wait::kPipe) == ThreadState::kRunnable);
  CHECK(state(0.001, 0, Wait::kPipe, Wait::kNone) == ThreadState::kPipe);
  CHECK(state(0.001, 0, Wait::kNone, Wait::kFlush) == ThreadState::kFile);
  CHECK(state(0, 0, Wait::kLock, Wait::kLock) == ThreadState::kLock);
  CHECK(state(0, 0, std::nullopt, std::nullopt) == ThreadState::kWaiting);
  // Its times change with the clock of the kernel only.
  CHECK(state(0, 0, Wait::kNone, Wait::kNone, ThreadState::kRunning) == ThreadState::kRunning);
  CHECK(state(0, 0, Wait::kNone, Wait::kNone, ThreadState::kPipe) == ThreadState::kRunnable);
}

// A main thread that waits for `waits` samples and runs for `runs` in each step, and a worker that always runs.
ThreadSamples repeated(int steps, int waits, int runs) {
  ThreadSamples samples;
  samples.process = 7;
  samples.threads = {{"main 7 python", {}}, {"worker 8 python", {}}};
  for (int i = 0; i < steps * (waits + runs); ++i) {
    samples.threads[0].states.push_back(i % (waits + runs) < waits ? ThreadState::kPipe : ThreadState::kRunning);
    samples.threads[1].states.push_back(ThreadState::kRunning);
  }
  for (std::size_t i = 0; i <= samples.threads[0].states.size(); ++i)
    samples.times.push_back(100 + kSampleInterval * static_cast<double>(i));
  return samples;
}

TEST_CASE("steps are found by what the main thread repeats") {
  const ThreadSamples samples = repeated(20, 8, 12);
  const StepMarks marks = repeated_steps(samples, 0.19);  // about
  CHECK_FALSE(marks.source.empty());
  REQUIRE(marks.begins.size() >= 18);
  for (std::size_t i = 0; i < marks.begins.size(); ++i)
    CHECK(marks.begins[i] == Approx(100 + 0.2 * static_cast<double>(i)));
  CHECK(repeated_steps(samples, 0).begins.empty());
  CHECK(repeated_steps(samples, 0.02).source.empty());             // too short for samples
  CHECK(repeated_steps(samples, 2).source.empty());                // too long for the window
  CHECK(repeated_steps(repeated(20, 0, 20), 0.2).source.empty());  // it always runs
  CHECK(repeated_steps(ThreadSamples{}, 0.2).source.empty());
}

TEST_CASE("steps that vary are followed") {
  ThreadSamples samples = repeated(1, 8, 12);
  std::vector<double> begins{100};
  for (const int runs : {12, 14, 11, 13, 10, 12, 14, 12}) {
    begins.push_back(samples.times.back());
    for (int i = 0; i < 8 + runs; ++i) {
      samples.threads[0].states.push_back(i < 8 ? ThreadState::kPipe : ThreadState::kRunning);
      samples.times.push_back(samples.times.back() + kSampleInterval);
    }
  }
  const StepMarks marks = repeated_steps(samples, 0.2);
  REQUIRE(marks.begins.size() >= 6);
  for (std::size_t i = 0; i < marks.begins.size(); ++i) CHECK(marks.begins[i] == Approx(begins[i]).margin(0.021));
}

TEST_CASE("marks of the program count, then ranges, then what repeats") {
  const ThreadSamples samples = repeated(20, 8, 12);  // from second 100 to 104
  const StepMarks marked{"un.step()", {1, 101, 102}}, elsewhere{"un.step()", {1, 2, 104}};
  const std::vector<Interval> ranges{{100'500'000'000, 100'700'000'000}, {100'700'000'000, 100'900'000'000}};
  CHECK(marks_within(samples, marked, ranges, 5).begins == marked.begins);
  const StepMarks by_ranges = marks_within(samples, elsewhere, ranges, 5);
  CHECK(by_ranges.source == "NVTX ranges");
  REQUIRE(by_ranges.begins.size() == 3);
  CHECK(by_ranges.begins[1] == Approx(100.7));
  CHECK(marks_within(samples, elsewhere, {{5, 9}}, 5).source == "what the main thread repeats");
  CHECK(marks_within(samples, elsewhere, {}, 0).source.empty());
  CHECK(marks_within(ThreadSamples{}, marked, ranges, 5).source.empty());
}

TEST_CASE("the window shows typical steps with the states of every thread") {
  const ThreadSamples samples = repeated(20, 8, 12);
  StepMarks marks{"un.step()", {}};
  for (int i = 0; i <= 20; ++i) marks.begins.push_back(100 + 0.2 * i + (i >= 3 && i < 6 ? 0.1 : 0));
  const ThreadWindow window = thread_window(samples, marks, 90);
  CHECK(window.step_source == "un.step()");
  REQUIRE(window.steps.size() == kWindowSteps);
  CHECK((window.begin_s < 10.01 || window.begin_s > 11.19));  // without the steps that are longer and shorter
  CHECK(window.seconds == Approx(0.6).margin(kSampleInterval));
  CHECK(window.resolution_s == Approx(kSampleInterval));
  CHECK(window.lanes == std::vector<std::string>{"main 7 python", "worker 8 python"});
  REQUIRE(window.spans.size() >= 6 + 1);
  CHECK(window.spans.back().lane == 1);
  CHECK(window.spans.back().seconds == Approx(window.seconds));
  double main = 0;
  for (const ThreadSpan& span : window.spans)
    if (span.lane == 0 && span.state == ThreadState::kRunning) main += span.seconds;
  CHECK(main == Approx(0.36).margin(2 * kSampleInterval));
}

TEST_CASE("a window without steps, with short steps, and with a thread that ends") {
  ThreadSamples samples = repeated(40, 8, 12);
  samples.threads[1].states.resize(350);
  const ThreadWindow window = thread_window(samples, {}, 0);
  CHECK(window.steps.empty());
  CHECK(window.step_source.empty());
  CHECK(window.seconds == Approx(2));
  CHECK(window.spans.back().lane == 1);
  CHECK(window.spans.back().seconds == Approx(0.5));  // from sample 300 on
  StepMarks marks{"un.step()", {}};
  for (int i = 0; i < 200; ++i) marks.begins.push_back(101 + 0.02 * i);
  CHECK(thread_window(samples, marks, 0).steps.size() == 20);  // of 40 samples together
  CHECK(thread_window(ThreadSamples{}, marks, 0).spans.empty());
  marks.begins = {1, 2, 3};  // elsewhere
  CHECK(thread_window(samples, marks, 0).step_source.empty());
}

TEST_CASE("a window with too many changes is shown more coarsely") {
  ThreadSamples samples;
  samples.threads.resize(12);
  for (int i = 0; i < 800; ++i) {
    for (SampledThread& thread : samples.threads)
      thread.states.push_back(i % 2 == 0 ? ThreadState::kRunning : ThreadState::kLock);
    samples.times.push_back(0.001 * i);
  }
  samples.times.push_back(0.8);
  const ThreadWindow window = thread_window(samples, {"un.step()", {0, 0.3, 0.6, 0.8}}, 0);
  CHECK(window.spans.size() <= kMostThreadSpans);
  CHECK(window.resolution_s == Approx(0.002));
}

}  // namespace
}  // namespace unstarve
