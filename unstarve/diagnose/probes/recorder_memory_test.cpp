// The memory of the recorders after an hour and after a day: it must not depend on the duration.
#include <malloc.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "unstarve/diagnose/probes/gpu_recorder.h"
#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/probes/step_finder.h"
#include "unstarve/diagnose/probes/timeline_recorder.h"
#include "unstarve/diagnose/profile/steady_part.h"

namespace unstarve {
namespace {

constexpr int kSamples = 100'000;  // an hour at 25 Hz, and more

// By how much the heap grows from sample `warm_up` to the last of `count` further ones.
std::int64_t growth(int warm_up, int count, const std::function<void(int sample)>& add) {
  for (int i = 0; i < warm_up; ++i) add(i);
  const auto before = static_cast<std::int64_t>(::mallinfo2().uordblks);
  for (int i = warm_up; i < warm_up + count; ++i) add(i);
  return static_cast<std::int64_t>(::mallinfo2().uordblks) - before;
}

constexpr std::int64_t kPage = 4096;  // less is noise of the allocator

std::vector<ProcessUse> processes_at(int sample) {
  std::vector<ProcessUse> processes;
  for (int i = 0; i < 9; ++i) {
    ProcessUse use;
    use.pid = i < 5 ? i + 1 : 10 + 4 * sample + i;  // some live for one sample
    use.role = i == 0 ? ProcessRole::kMain : ProcessRole::kLoader;
    use.cpu_s = 0.01 * sample;
    use.storage_bytes = 1000LL * sample;
    use.threads.resize(3);
    processes.push_back(std::move(use));
  }
  return processes;
}

TEST_CASE("the timeline and the steady part of a long run have a fixed size", "[memory]") {
  TimelineRecorder timeline;
  SteadyPart steady;
  const std::int64_t bytes = growth(20'000, kSamples, [&](int sample) {
    const std::vector<ProcessUse> processes = processes_at(sample);
    timeline.add(0.04 * sample, processes, 0.5, {1000LL * sample, 10LL * sample});
    steady.add(0.04 * sample, processes);
  });
  CHECK(bytes <= kPage);
}

TEST_CASE("samples of GPUs have a fixed size", "[memory]") {
  GpuStates states;
  states.gpus.resize(8);
  GpuRecorder recorder(states, "/no/such/root");
  const std::int64_t bytes = growth(20'000, kSamples, [&](int sample) {
    std::vector<GpuLook> looks(8);
    for (GpuLook& look : looks) {
      look.utilisation = 0.01 * (sample % 100 + 1);
      look.processes.resize(2);
      look.processes[0].process = static_cast<unsigned>(1 + sample);  // many short programs of others
      look.processes[1].process = 1;
    }
    recorder.add(0.1 * sample, looks);
    (void)recorder.take_utilisation();
  });
  CHECK(bytes <= kPage);
  CHECK(recorder.use().at(0).samples > kSamples / 2);
}

// A window of 240 samples of the main thread, in a loop of four lines; every stack has a line of its own.
StackRecording window_of(int number) {
  StackRecording recording;
  recording.interval_s = 1 / 60.0;
  RecordedThread thread{7, true, {}};
  for (int line = 0; line < 4; ++line) recording.lines.push_back({"train", "train.py", 10 + line});
  for (int sample = 0; sample < 240; ++sample) {
    recording.lines.push_back({"step_" + std::to_string(number), "generated.py", 240 * number + sample});
    thread.samples.push_back({sample / 5 % 4, 4 + sample});
  }
  recording.threads.push_back(std::move(thread));
  return recording;
}

TEST_CASE("stacks, and the steps found in them, have a limited size", "[memory]") {
  constexpr int kWindows = kSamples / 240;  // those of a day have distances of minutes
  StackSum sum;
  StepUse steps;
  const std::int64_t bytes = growth(40, kWindows, [&](int number) {
    const StackRecording recording = window_of(number);
    sum.add(recording, 7, RecordingKind::kAll, 4, 4.0 * number);
    add_steps(steps, find_steps(recording, 7));
  });
  CHECK(bytes <= 1 << 20);  // of 4000 stacks with lines of other lengths, and of steps
  CHECK(sum.stacks().stacks.size() == 4000);
}

}  // namespace
}  // namespace unstarve
