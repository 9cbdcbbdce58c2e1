#include "unstarve/jobs/training/step_trace.h"

#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"

namespace unstarve {
namespace {

void add_step(const TracedStep& step, nlohmann::json& events) {
  const auto add = [&](const std::string& name, bool exchange, double begin_us, double us) {
    events.push_back({{"name", name},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", exchange ? "exchange" : "training"},
                      {"ts", begin_us},
                      {"dur", us},
                      {"args", {{"step", step.step}}}});
  };
  const double begin_us = 1e6 * step.begin_s, step_us = begin_us + 1e6 * step.step_s;
  add("wait for batch", false, begin_us, 1e6 * step.wait_s);
  for (const StepSpan& span : step.spans)
    add(span.name, span.exchange, step_us + 1e3 * span.begin_ms, 1e3 * (span.end_ms - span.begin_ms));
}

}  // namespace

std::string step_trace(std::span<const TracedStep> steps) {
  nlohmann::json events = nlohmann::json::array();
  for (const TracedStep& step : steps) add_step(step, events);
  return json_text(nlohmann::json{{"traceEvents", events}});
}

}  // namespace unstarve
