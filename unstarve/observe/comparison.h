#pragma once
// The rate of this library's loader compared with other loaders on the same data, as `python -m unstarve.comparison`
// measures it.
//
// Threads: plain data.

#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"

namespace unstarve {

struct ComparedLoader {
  std::string name;
  std::string settings;                      // the fastest ones of those that were tried; empty for this library
  double samples_per_s = 0;                  // geometric mean of the blocks, as the ratios
  std::optional<RatioInterval> times;        // this library's rate relative to this loader; none for itself
  std::optional<RatioInterval> times_later;  // the same from the second epoch on
};

struct Comparison {
  std::string headline;                 // one sentence with the ratio to the fastest other loader; empty: not measured
  std::string note;                     // that noise leaves the ratios open, with a command; empty: nothing
  std::string command;                  // repeats the measurement
  std::string setup;                    // data, cores, blocks
  std::vector<ComparedLoader> loaders;  // this library first
  std::vector<std::string> left_out;    // what was not measured, with the reason
};

}  // namespace unstarve
