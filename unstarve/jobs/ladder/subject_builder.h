#pragma once
// Builds the subjects of a ladder, and knows how long that takes.
//
// Threads: one. Failure: as measure_here() and measure_in_process().

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/jobs/ladder/ladder_time.h"
#include "unstarve/jobs/ladder/subject.h"

namespace unstarve {

class SubjectBuilder {
 public:
  // `program`: path of the program, for other processes.
  SubjectBuilder(std::shared_ptr<const Dataset> dataset, Target target, std::string program)
      : dataset_(std::move(dataset)),
        target_(std::move(target)),
        program_(std::move(program)),
        facts_(read_host_facts()) {}

  // Host settings other than the defaults require a process of its own.
  [[nodiscard]] static bool needs_process(const Settings& settings) { return settings.host != HostSettings(); }
  [[nodiscard]] std::unique_ptr<Subject> build(const Settings& settings, bool in_process) {
    const double begin = seconds_now();
    std::unique_ptr<Subject> subject = in_process ? measure_in_process(settings, target_, program_, facts_, ++built_)
                                                  : measure_here(settings, dataset_, target_, ++built_);
    longest_s_ = std::max(longest_s_, seconds_now() - begin);
    return subject;
  }
  // The longest time that build() took.
  [[nodiscard]] double longest_s() const { return longest_s_; }
  [[nodiscard]] SideTime time_of(const Subject& side) const {
    return {side.first().step_s, side.settings().pipeline.execution.prefetch, longest_s_};
  }

  [[nodiscard]] const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }
  [[nodiscard]] const HostFacts& facts() const { return facts_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
  Target target_;
  std::string program_;
  HostFacts facts_;
  double longest_s_ = 0;
  std::uint32_t built_ = 0;  // each begins with other samples
};

}  // namespace unstarve
