#pragma once
// Figures of a watched run for Prometheus.
//
// Source:  https://prometheus.io/docs/instrumenting/exposition_formats/, text format 0.0.4.
// Threads: pure function.

#include <span>
#include <string>

#include "unstarve/diagnose/metrics/run_counters.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {

// The content type of the text.
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// All metrics begin with "unstarve_"; docs/guide/watch.md lists them. `counters`: of the run up to this profile.
[[nodiscard]] std::string metrics_text(const RunProfile& profile, const RunCounters& counters,
                                       std::span<const RunFinding> findings);

}  // namespace unstarve
