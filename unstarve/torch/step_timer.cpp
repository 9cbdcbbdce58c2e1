#include "unstarve/torch/step_timer.h"

namespace unstarve {

StepTimer::Step StepTimer::step_on(torch::Device device) {
  Step step;
  for (std::size_t i = 0; i < kMarks; ++i) step.marks.emplace_back(device);
  return step;
}

StepTimer::StepTimer(torch::Device device) : lag_(device.is_cpu() ? 0 : 1), steps_{step_on(device), step_on(device)} {}

void StepTimer::enable(bool on) {
  on_ = on;
  done_ = 0;
}

void StepTimer::mark(std::size_t index) {
  if (!on_) return;
  Step& step = steps_[done_ % 2];
  step.marks[index].record();
  if (index == 0) step.whole = false;
  if (index + 1 == kMarks) ++done_;
}

void StepTimer::mark_end() {
  steps_[done_ % 2].whole = true;
  mark(kMarks - 1);
}

StepTimes StepTimer::times(double copy_ms) {
  if (!on_ || done_ <= lag_) return {};
  Step& step = steps_[(done_ - 1 - lag_) % 2];
  const auto between_ms = [&](std::size_t from, std::size_t to) { return step.marks[to].ms_since(step.marks[from]); };
  StepTimes times;
  times.copy_ms = copy_ms;
  if (step.whole) {
    times.graph_ms = between_ms(0, kMarks - 1);
  } else {
    times.forward_ms = between_ms(0, 1);
    times.backward_ms = between_ms(1, 2);
    times.optimiser_ms = between_ms(2, 3);
  }
  if (lag_ > 0) times.idle_ms = steps_[(done_ - 1) % 2].marks[0].ms_since(step.marks[kMarks - 1]);
  return times;
}

std::vector<StepSpan> StepTimer::spans() {
  if (!on_ || done_ == 0) return {};
  constexpr std::array<const char*, kMarks - 1> kNames{"forward", "backward", "optimiser"};
  Step& step = steps_[(done_ - 1) % 2];
  Marks& marks = step.marks;
  if (step.whole) return {{"step", false, 0, marks[kMarks - 1].ms_since(marks[0])}};
  std::vector<StepSpan> result;
  for (std::size_t i = 0; i + 1 < kMarks; ++i)
    result.push_back({kNames[i], false, marks[i].ms_since(marks[0]), marks[i + 1].ms_since(marks[0])});
  return result;
}

}  // namespace unstarve
