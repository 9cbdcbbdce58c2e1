#pragma once
// `unstarve compare BEFORE AFTER`: whether a run is slower than an earlier one, and which part of it.
//
// Both files are results of the same command:
//
//   watch --out      the rates of steps, by the times of single steps; parts are what the main thread does per step
//   bench --json     samples per second of the rounds; parts are storage, loader, copy and network alone
//
// A difference is significant if the 95 % interval of the ratio excludes 1. For CI: exit code 1 if AFTER is
// significantly slower.
//
// Threads: pure functions. Failure: Error(kInput) for files of other commands, of different ones, or with too few steps
// or rounds.

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/profile/thread_window.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/recording.h"

namespace unstarve {

struct Report;  // observe/report.h

struct ComparedPart {
  std::string name;
  std::string unit;  // "steps/s", "samples/s", "ms per step"
  double before = 0, after = 0;
  bool more_is_better = true;
  RatioInterval ratio;  // of speeds, after / before: below 1 is slower; low = high = 0: without interval
};

struct RunComparison {
  std::string before, after;  // names of the files
  ComparedPart whole;
  std::vector<ComparedPart> parts;
  std::vector<std::string> warnings;  // runs that are not in a steady state, other settings
  bool disturbed = false;  // of watch: other programs or the CPU quota took cores from a run, so no part is blamed
  bool slower = false, faster = false;
  std::string regressed;                                // the part that lost most; empty if not slower, or disturbed
  std::vector<RecordedSpan> before_steps, after_steps;  // in order; of bench, each is followed by its parts
  ThreadWindow before_threads, after_threads;           // of watch: without spans if the run was too short

  [[nodiscard]] std::string verdict() const;  // one sentence
};

[[nodiscard]] RunComparison compare_runs(const std::filesystem::path& before, const std::filesystem::path& after);
// `before_json`, `after_json`: contents of files; names are for messages.
[[nodiscard]] RunComparison compare_runs(const Json& before_json, const Json& after_json, const std::string& before,
                                         const std::string& after);

[[nodiscard]] std::string to_text(const RunComparison& comparison);
// See "compare" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const RunComparison& comparison);
// JUnit: a test case for the whole and for each part; significantly slower ones have failed.
[[nodiscard]] std::string to_junit(const RunComparison& comparison);
// Defined in compare_report.cpp. `command`: the command line, shown in the report.
[[nodiscard]] Recording recording_of(const RunComparison& comparison, const std::string& command);
[[nodiscard]] Report report_of(const RunComparison& comparison, const std::string& command);

}  // namespace unstarve
