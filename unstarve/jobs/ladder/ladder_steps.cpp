#include <array>

#include "unstarve/jobs/ladder/ladder_step.h"

namespace unstarve {

std::span<const LadderStep> ladder_steps() {
  static const std::array kSteps{
#define STEP(name) name,
#include "unstarve/jobs/ladder/ladder_steps.inl"
#undef STEP
  };
  return kSteps;
}

std::vector<std::string_view> words_to_try() {
  std::vector<std::string_view> words;
  for (const LadderStep& step : ladder_steps())
    if (!step.tried_by.empty()) words.push_back(step.tried_by);
  return words;
}

}  // namespace unstarve
