#include "unstarve/diagnose/probes/step_choice.h"

#include <catch2/catch.hpp>
#include <string>

namespace unstarve {
namespace {

StepUse steps_by(const std::string& source, std::size_t single) {
  StepUse steps;
  steps.source = source;
  steps.rate = 10;
  steps.seconds.assign(single, 0.1);
  return steps;
}

TraceUse trace_of(std::size_t steps) {
  TraceUse trace;
  trace.format = "CUPTI";
  trace.analysed_s = 0.2 * static_cast<double>(steps);
  trace.steps.resize(steps);
  for (TraceStep& step : trace.steps) step.seconds = 0.2;
  return trace;
}

TEST_CASE("steps that the program marks count most") {
  CHECK(choose_steps({}).source.empty());
  const TraceUse trace = trace_of(5);
  KnownSteps known{
      steps_by("marked", 1), steps_by("ranges", 100), steps_by("stacks", 100), steps_by("period", 0), 0, &trace};
  CHECK(choose_steps(known).source == "marked");
  known.marked = {};
  CHECK(choose_steps(known).source == "ranges");
  known.ranges.seconds.resize(7);  // a window has only a few: steps are long
  CHECK(choose_steps(known).source == "stacks");
  known.stacks = {};
  CHECK(choose_steps(known).source == "ranges");
}

TEST_CASE("a period counts unless it may be that of a CPU quota") {
  KnownSteps known;
  known.period = steps_by("period", 0);
  CHECK(choose_steps(known).source == "period");
  known.throttled_share = 0.5;
  CHECK(choose_steps(known).source.empty());
}

TEST_CASE("single steps by kernels are better than a period") {
  TraceUse trace = trace_of(3000);
  KnownSteps known;
  known.period = steps_by("period", 0);
  known.kernels = &trace;
  const StepUse steps = choose_steps(known);
  CHECK(steps.source == "the sequence of kernels");
  CHECK(steps.rate == Approx(5));
  CHECK(steps.seconds.size() == 2048);
  trace.overhead_s = trace.analysed_s / 2;  // recording disturbs the program
  CHECK(choose_steps(known).source == "period");
  trace = trace_of(0);
  CHECK(choose_steps(known).source == "period");
}

}  // namespace
}  // namespace unstarve
