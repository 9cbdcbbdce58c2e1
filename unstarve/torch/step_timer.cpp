#include "unstarve/torch/step_timer.h"

namespace unstarve {
namespace {

std::vector<TimeMark> marks_of(torch::Device device) {
  std::vector<TimeMark> marks;
  for (std::size_t i = 0; i < StepTimer::kMarks; ++i) marks.emplace_back(device);
  return marks;
}

}  // namespace

StepTimer::StepTimer(torch::Device device)
    : lag_(device.is_cpu() ? 0 : 1), steps_{marks_of(device), marks_of(device)} {}

void StepTimer::enable(bool on) {
  on_ = on;
  done_ = 0;
}

void StepTimer::mark(std::size_t index) {
  if (!on_) return;
  steps_[done_ % 2][index].record();
  if (index + 1 == kMarks) ++done_;
}

StepTimes StepTimer::times(double copy_ms) {
  if (!on_ || done_ <= lag_) return {};
  Marks& step = steps_[(done_ - 1 - lag_) % 2];
  const auto part_ms = [&](std::size_t index) { return step[index + 1].ms_since(step[index]); };
  const double idle_ms = lag_ > 0 ? steps_[(done_ - 1) % 2][0].ms_since(step[kMarks - 1]) : 0;
  return {copy_ms, part_ms(0), part_ms(1), part_ms(2), idle_ms};
}

std::vector<StepSpan> StepTimer::spans() {
  if (!on_ || done_ == 0) return {};
  constexpr std::array<const char*, kMarks - 1> kNames{"forward", "backward", "optimiser"};
  Marks& marks = steps_[(done_ - 1) % 2];
  std::vector<StepSpan> result;
  for (std::size_t i = 0; i + 1 < kMarks; ++i)
    result.push_back({kNames[i], false, marks[i].ms_since(marks[0]), marks[i + 1].ms_since(marks[0])});
  return result;
}

}  // namespace unstarve
