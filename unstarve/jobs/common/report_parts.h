#pragma once
// Parts of reports that several commands share: charts over time or steps, bars, findings.
//
// Threads: pure functions. Failure: none.

#include <span>
#include <string>
#include <vector>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/observe/curves.h"
#include "unstarve/observe/timeline.h"

namespace unstarve {

struct ThreadWindow;

// For pages of what another machine may have measured.
inline constexpr const char* kMachineOfPage = "Machine that wrote this page";

inline constexpr std::size_t kMostPoints = 2048;  // of a curve

// Over seconds, from 0.
[[nodiscard]] CurveChart time_chart(const char* title, CurveUnit unit);
// Values that are `interval` apart, each multiplied by `factor`. Of more than kMostPoints values, means are shown.
void add_curve(CurveChart& chart, const std::string& name, std::span<const double> values, double interval,
               double factor = 1);
// Milliseconds per step, by the number of the step.
[[nodiscard]] CurveChart steps_chart(const char* title);

// A bar of one part.
[[nodiscard]] Bar plain_bar(std::string name, double value, std::string figure);
// How many steps took how long; no bars with fewer than kFewestForHistogram. The slowest hundredth is one bar.
inline constexpr std::size_t kFewestForHistogram = 20;
[[nodiscard]] BarChart step_histogram(std::span<const double> seconds,
                                      const char* title = "Durations of steps: number of steps");

// A few consecutive steps of typical duration. Each track is a lane with those of its spans whose names are in `parts`;
// spans named "step N" are shown in a lane of their own, and the steps of the first track that has some are marked.
// Without such spans, the first part begins a step. No spans if there are fewer than three steps.
[[nodiscard]] Timeline timeline_of_steps(const std::string& title, std::span<const RecordedTrack> tracks,
                                         const std::vector<std::string>& parts);

// A row of steps, if they are known, and one for each thread. Without spans if the window has none.
[[nodiscard]] Timeline timeline_of_threads(const ThreadWindow& window);

[[nodiscard]] std::vector<ReportFinding> report_findings(std::span<const RunFinding> findings);

}  // namespace unstarve
