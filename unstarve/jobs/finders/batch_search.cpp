#include "unstarve/jobs/finders/batch_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/error.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// Sizes that are measured around the knee, and between the largest size that fits and one that does not.
constexpr int kRefinements = 3, kFitProbes = 3;
// The largest size is approached while a size that may fit exceeds the largest one so far by this factor.
constexpr double kWorthwhile = 1.2;

class Search {
 public:
  explicit Search(const BatchSearch& search) : search_(search), memory_{{0, search.base_bytes}} {}

  BatchSearchResult run() {
    add(search_.measure(search_.from));
    for (int batch = next_size(); batch > 0; batch = next_size())
      if (!grow_to(batch)) break;
    find_largest();
    for (int i = 0; i < kRefinements; ++i) {
      const std::optional<int> size = next_refinement(result_.points);
      if (!size || !memory_error(*size).empty()) break;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] int largest() const { return result_.points.back().batch; }

  void add(BatchPoint point) {
    if (point.batch > memory_.back().batch) memory_.push_back({point.batch, point.host_bytes});
    const auto at =
        std::ranges::find_if(result_.points, [&](const BatchPoint& other) { return other.batch > point.batch; });
    result_.points.insert(at, point);
  }

  // Measures a size. Returns why it ran out of memory; empty if it did not.
  std::string memory_error(int batch) {
    try {
      add(search_.measure(batch));
      return "";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kMemory) throw;
      const std::string text = error.what();
      return text.substr(0, text.find(". "));  // libtorch adds advice
    }
  }

  bool grow_to(int batch) {
    const std::string problem = memory_error(batch);
    if (problem.empty()) return true;
    failed_ = batch;
    result_.end = GrowthEnd::kMemory;
    result_.reason = fmt::format("a batch of {} ran out of memory ({})", batch, problem);
    return false;
  }

  // The next size of the doubling; 0 if it ends.
  int next_size() {
    const int batch = static_cast<int>(std::min<std::int64_t>(2 * std::int64_t{largest()}, search_.to));
    result_.limit_bytes = static_cast<std::size_t>(kMemoryShare * static_cast<double>(search_.available()));
    result_.predicted_largest = largest_within(memory_, result_.limit_bytes);
    if (batch <= largest()) {
      result_.reason = fmt::format("{} is the largest size to try", search_.to);
      return 0;
    }
    const std::size_t needed = predict_memory(memory_, batch);
    if (needed > result_.limit_bytes) {
      result_.end = GrowthEnd::kMemory;
      result_.reason = fmt::format("a batch of {} needs about {} of memory; {:.0f} % of the available memory is {}",
                                   batch, format_bytes(needed), 100 * kMemoryShare, format_bytes(result_.limit_bytes));
      return 0;
    }
    if (!in_time(batch)) {
      result_.end = GrowthEnd::kTime;
      result_.reason = fmt::format("a step with {} samples takes about {:.1f} s; raise --longest to measure it", batch,
                                   batch / result_.points.back().together.rate);
      return 0;
    }
    return batch;
  }

  [[nodiscard]] bool in_time(int batch) const {
    return kStepsOfMeasurement * batch / result_.points.back().together.rate <= search_.longest_s;
  }

  // Approaches the largest size that fits after the doubling was ended by memory.
  void find_largest() {
    if (result_.end != GrowthEnd::kMemory) return;
    for (int probe = 0; probe < kFitProbes; ++probe) {
      const int bound = failed_ > 0 ? failed_ : std::min(result_.predicted_largest.value_or(0), search_.to);
      const int size = round_to_eight(failed_ > 0 ? (largest() + failed_) / 2 : bound);
      if (bound < kWorthwhile * largest() || size <= largest() || !in_time(size)) return;
      const bool predicted = failed_ == 0;
      if (grow_to(size) && predicted) return;
    }
  }

  const BatchSearch& search_;
  BatchSearchResult result_;
  std::vector<BatchMemory> memory_;  // of the sizes that were larger than all before
  int failed_ = 0;                   // the smallest size that ran out of memory; 0: none
};

}  // namespace

BatchSearchResult search_batches(const BatchSearch& search) { return Search(search).run(); }

}  // namespace unstarve
