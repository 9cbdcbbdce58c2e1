#pragma once
// The time that comparisons of the ladder take, so that a step is tried only if it and the rest fit into the total.
//
// Threads, failure: pure functions.

#include <optional>

namespace unstarve {

// One side of a comparison.
struct SideTime {
  double step_s = 0;   // estimate
  int prefetch = 0;    // batches, which untimed steps consume before a block (Rig::run)
  double build_s = 0;  // that building it and its first steps took
};

// Time of the untimed steps of a block of `seconds`.
[[nodiscard]] double untimed_time(const SideTime& side, double seconds);
// `pairs` pairs of blocks of `seconds`.
[[nodiscard]] double pairs_time(const SideTime& a, const SideTime& b, int pairs, double seconds);

// The time to keep for the comparisons at the end: winner and base in kMinPairs pairs and, if anything was kept, before
// that tuned settings and defaults, all of which are built. `slow`, `fast`: the slowest and the fastest side so far.
[[nodiscard]] double final_time(const SideTime& slow, const SideTime& fast, bool kept);

// The comparison of winner and base runs this many pairs in any case.
inline constexpr int kLeastFinalPairs = 2;
// What that comparison takes at least, with building both sides.
[[nodiscard]] double least_final_time(const SideTime& base, const SideTime& winner);

// Training steps of a ladder that measures the base, one step of its own and the comparisons at the end, all as briefly
// as possible.
inline constexpr int kLeastLadderSteps = 140;
// A smaller batch, of which `steps` training steps fit into `seconds` if one of `batch` samples takes `step_s`; `batch`
// if its own fit. A multiple of 8 from 8 on, and at least 1.
[[nodiscard]] int batch_that_fits(int batch, double step_s, double seconds, int steps);

// The comparisons at the end take the time of this many steps.
inline constexpr int kFinalWeight = 2;

// The time for a step that needs `needed_s`, if it and `steps` - 1 more share `left_s` with the comparisons at the end,
// for which `final_s` is kept. Nothing if it does not fit.
[[nodiscard]] std::optional<double> plan_step(double left_s, int steps, double needed_s, double final_s);

}  // namespace unstarve
