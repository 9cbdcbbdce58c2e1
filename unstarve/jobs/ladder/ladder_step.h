#pragma once
// One step of the tuning ladder: a single optimisation, described by the settings it changes.
//
// A step decides whether it applies (and if not, why) and which settings to try. The ladder runs a short block of each
// candidate and compares the fastest with the current settings. A step measures nothing itself.
//
// Steps with a word of `tune --try` change what is learned. They apply on request only, have one candidate, and are
// compared by the time to an accuracy (run_comparison.h).
//
// To add a step: three functions and a LadderStep in one of the files *_steps.cpp, and a row in ladder_steps.inl.
// Threads: constants and pure functions.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/plan/facts.h"

namespace unstarve {

// The inputs of a step in addition to the settings.
struct LadderContext {
  Target target;
  MachineFacts machine;
  DataFacts data;
  std::uint64_t samples = 0;  // in the dataset
  HostFacts host;
  bool starts_processes = false;     // host settings can be measured
  bool reduced_batch = false;        // larger batches are too slow for the time
  std::vector<std::string> tried{};  // words of `tune --try`
  // False for an emulated accelerator, which computes nothing.
  [[nodiscard]] bool has_network() const { return !target.emulated(); }
};

struct Candidate {
  Settings settings;
  std::string change;  // "batch 32 -> 128"
};

struct LadderStep {
  std::string_view name;
  bool affects_learning = false;  // may change the training result: losses are compared
  bool approximate = false;       // pixels differ from those of the exact path
  // The reason why the step does not apply; empty if it applies.
  std::string (*not_applicable)(const LadderContext& context, const Settings& current) = nullptr;
  // Settings to try; not empty if the step applies.
  std::vector<Candidate> (*candidates)(const LadderContext& context, const Settings& current) = nullptr;
  // Copies what the step may change, and nothing else.
  void (*copy)(const Settings& from, Settings& to) = nullptr;
  std::string_view tried_by = "";  // the word of `tune --try`; "": tried always, compared by the rate
};

#define STEP(name) extern const LadderStep name;
#include "unstarve/jobs/ladder/ladder_steps.inl"
#undef STEP

// All steps in the order in which they are tried.
[[nodiscard]] std::span<const LadderStep> ladder_steps();
// The words of `tune --try`.
[[nodiscard]] std::vector<std::string_view> words_to_try();

}  // namespace unstarve
