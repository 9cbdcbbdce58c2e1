#pragma once
// Times of the parts of a training step, on the host clock or, by events, on a GPU.
//
// Threads: one at a time. Cost: nothing unless enabled; reading a GPU's times waits for the events that it needs.

#include <array>
#include <cstddef>
#include <vector>

#include <torch/types.h>

#include "unstarve/torch/ranks/time_mark.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// The marks of the latest two steps.
class StepTimer {
 public:
  static constexpr std::size_t kMarks = 4;  // begin, forward done, backward done, optimiser done

  explicit StepTimer(torch::Device device);
  // Forgets all marks.
  void enable(bool on);
  [[nodiscard]] bool enabled() const { return on_; }
  // Records mark `index` of the present step; those of a step are recorded in order.
  void mark(std::size_t index);
  // Records the end of a step that has no marks between its begin and its end.
  void mark_end();
  // On the host of the latest step, on a GPU of the one before, so that nothing waits for the present one.
  // Zeros without such a step.
  [[nodiscard]] StepTimes times(double copy_ms);
  // Of the latest step; empty without one.
  [[nodiscard]] std::vector<StepSpan> spans();
  // The beginning of the latest step. Precondition: there was one.
  [[nodiscard]] TimeMark& begin() { return steps_[(done_ - 1) % 2].marks[0]; }

 private:
  using Marks = std::vector<TimeMark>;
  struct Step {
    Marks marks;
    bool whole = false;  // it has the first and the last mark only
  };
  static Step step_on(torch::Device device);

  std::size_t lag_;  // steps
  bool on_ = false;
  std::size_t done_ = 0;  // steps since the timer was enabled
  std::array<Step, 2> steps_;
};

}  // namespace unstarve
