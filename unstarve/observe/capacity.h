#pragma once
// How many accelerators a host can feed: estimate, search and what-if as pure functions of measured rates.
//
//   R        measured rate of the loader, samples/s          b, t, AU  batch, seconds per step, least utilisation
//   estimate N = floor(R t / (b AU))
//   model    R(cores, storage) = efficiency * min(cores / c, storage rate);  c: CPU seconds per sample = busy cores / R
//            efficiency = R / R(present cores, present storage), at most 1
//
// Threads: pure functions, except for the function that search_capacity() calls.
// Failure: none; a rate that is not positive counts as not measured.

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/observe/verdict.h"

namespace unstarve {

struct CapacityDemand {
  int batch = 0;
  double step_s = 0;
  double min_utilisation = 0;
  // Of one accelerator that waits as much as is allowed.
  [[nodiscard]] double samples_per_s() const { return step_s > 0 ? batch / step_s * min_utilisation : 0; }
};

// The accelerators that a loader of this rate feeds; 0 if it is not known.
[[nodiscard]] int estimate_accelerators(double samples_per_s, const CapacityDemand& demand);

struct CapacitySearch {
  int fed = 0;                        // the largest number with at least the minimum; 0: not even one
  std::map<int, double> utilisation;  // of all numbers that were measured, `fed` and `fed` + 1 among them
};

// Searches the largest number from 1 to `most` whose utilisation, `measure(number)`, is at least `minimum`. Begins at
// `estimate`, doubles its distance from there until a result differs, then halves the interval.
[[nodiscard]] CapacitySearch search_capacity(int estimate, int most, double minimum,
                                             const std::function<double(int)>& measure);

// kOthers: other programs, or other virtual machines, use the cores. kQuota: the CPU quota of the container stops the
// loader before it uses all usable cores. kVariation: the rates would suffice for one accelerator more, but its batches
// come too irregularly.
enum class CapacityLimit { kUnknown, kStorage, kCpu, kOthers, kQuota, kThreads, kVariation };
template <>
inline constexpr std::array<std::string_view, 7> kWords<CapacityLimit>{"unknown", "storage", "cpu",      "others",
                                                                       "quota",   "threads", "variation"};

struct CapacityVerdict {
  CapacityLimit limit = CapacityLimit::kUnknown;
  std::string sentence;  // "the CPU: decode takes 71 % of the loader's time, 2.0 of 2 cores are busy"
};
// What prevents that `fed` + 1 accelerators are fed; unknown if `fed` is `most`, the largest number that is tried. Uses
// the rates of storage and loader, cores and stages. What else used the cores is named first, unless the loader had
// nearly all of them: the other figures are then not those of this machine.
[[nodiscard]] CapacityVerdict judge_capacity(const BenchFigures& figures, const CapacityDemand& demand, int fed,
                                             int most = std::numeric_limits<int>::max());

struct WhatIf {
  std::string change;  // "4 cores"
  double samples_per_s = 0;
  int fed = 0;
  std::string arithmetic;  // how the rate was computed
};
// The predicted rate with more cores and, if the storage was measured, with faster storage and with both. Empty without
// a rate of the loader and its busy cores.
[[nodiscard]] std::vector<WhatIf> what_if(const BenchFigures& figures, const CapacityDemand& demand);
// "samples/s = 0.90 x min(cores / 0.5 ms, storage 2 000)"; empty in the same case.
[[nodiscard]] std::string model_text(const BenchFigures& figures);

// "3 accelerators need 3 x 1607 samples/s x 2.9 ms of CPU time = 14 cores (2 usable)"; empty without the rates.
[[nodiscard]] std::string cores_needed(const BenchFigures& figures, const CapacityDemand& demand, int accelerators);

}  // namespace unstarve
