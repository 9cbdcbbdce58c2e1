#pragma once
// The order in which batch sizes are measured: doubling until memory, time or the largest size ends it, then sizes
// around the knee, then the largest size that fits.
//
// Memory: a size is measured only if its predicted memory is within the limit (predict_memory()). A size that runs out
//         of memory nevertheless, as on a GPU, whose memory is not predicted, ends the doubling; the search continues
//         with smaller sizes.
// Time:   a size is measured only if it takes at most `longest_s`, predicted from the rate of the last one.
// Threads: one caller. Failure: exceptions of `measure`, except Error(kMemory) after the first size.

#include <functional>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/jobs/finders/batch_curve.h"

namespace unstarve {

// Training steps that a measurement runs at least.
inline constexpr int kStepsOfMeasurement = 12;
// Share of the available memory that a size may use.
inline constexpr double kMemoryShare = 0.85;

struct BatchSearch {
  int from = 1;
  int to = 1;
  double longest_s = 40;
  std::size_t base_bytes = 0;  // memory of the process before the first size
  // Measures one size. May throw Error(kMemory).
  std::function<BatchPoint(int batch)> measure;
  // The bytes that this process may use, at present; kMemoryShare of them are used.
  std::function<std::size_t()> available;
};

enum class GrowthEnd { kLargest, kMemory, kTime };
template <>
inline constexpr std::array<std::string_view, 3> kWords<GrowthEnd>{"largest", "memory", "time"};

struct BatchSearchResult {
  std::vector<BatchPoint> points;  // by size
  GrowthEnd end = GrowthEnd::kLargest;
  std::string reason;           // why the doubling ended, one sentence
  std::size_t limit_bytes = 0;  // of the process, when the doubling ended
  // The largest size within the limit, predicted from the memory of the process; none if it is unknown.
  std::optional<int> predicted_largest{};
};

[[nodiscard]] BatchSearchResult search_batches(const BatchSearch& search);

}  // namespace unstarve
