#pragma once
// Compares two sides in interleaved blocks: A B B A A B B A ...
//
// A drift of the machine affects both sides; neighbouring A and B form one pair.
//
// Threads: one. Failure: as Subject::run().

#include <array>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/ladder/ladder_recorder.h"
#include "unstarve/jobs/ladder/ladder_time.h"
#include "unstarve/jobs/ladder/prediction.h"
#include "unstarve/jobs/ladder/subject.h"

namespace unstarve {

inline constexpr int kMostBlockPairs = 10;

// 0 without rates. Precondition: they are positive.
[[nodiscard]] double geometric_mean(const std::vector<double>& rates);

struct ComparisonPlan {
  double seconds = 0;                // for all pairs
  int least_pairs = 0;               // in any case, also if they take longer
  std::array<const char*, 2> names;  // of the sides, in the recording
};

struct BlockComparison {
  std::vector<double> a, b;             // samples/s of the blocks of each pair
  double step_ms_a = 0, step_ms_b = 0;  // at the rates below
  MeasuredStep step_b;

  [[nodiscard]] RatioInterval interval() const { return ratio_interval(b, a); }  // of the rate of b to that of a
  // `reason`, with a sentence if the ratio changes from pair to pair (pairs_drift()).
  [[nodiscard]] std::string with_drift(std::string reason) const;
  // The means of rates whose quotient is the ratio of the interval.
  [[nodiscard]] double rate_a() const;
  [[nodiscard]] double rate_b() const;
};

struct ComparedSide {
  Subject& subject;
  SideTime time;
};

// Each block is a span of the recording, with its rate.
[[nodiscard]] BlockComparison compare_blocks(const ComparedSide& a, const ComparedSide& b, const ComparisonPlan& plan,
                                             LadderRecorder& recorder);

[[nodiscard]] MeasuredStep measured_step(const Block& block);

}  // namespace unstarve
