// Arbitrary bytes as a recording of py-spy: rejected with Error(kInput), or added up and searched for steps.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/probes/step_finder.h"
#include "unstarve/diagnose/profile/stack_shares.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  StackRecording recording;
  try {
    recording = parse_stack_recording(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
    return 0;
  }
  StackSum sum;
  for (const RecordingKind kind : {RecordingKind::kAll, RecordingKind::kInterpreter})
    sum.add(recording, 72, kind, 1, 2);
  const PythonStacks stacks = sum.stacks();
  for (const StackUse& stack : stacks.stacks) {
    (void)activity_of(stacks, stack);
    for (const int line : stack.lines)
      if (line < 0 || static_cast<std::size_t>(line) >= stacks.lines.size()) std::abort();
  }
  (void)hottest_line(stacks, StackThread::kMain, Activity::kOther);
  const StepUse steps = find_steps(recording, 72);
  if (steps.source.empty() != steps.seconds.empty()) std::abort();
  return 0;
}
