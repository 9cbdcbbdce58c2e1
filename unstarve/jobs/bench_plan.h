#pragma once
// Divides the time of bench among its rounds, so that the total holds although rounds take longer than planned: each
// part runs until the step or batch that is in progress has ended.
//
// Threads: one. Failure: none.

#include <optional>

namespace unstarve {

inline constexpr int kBenchRounds = 3, kFurtherRounds = 2;
// Share of the time for further rounds.
inline constexpr double kFurtherShare = 0.15;

// Steps of the network, or batches of the loader, of a round whose parts are as brief as possible.
inline constexpr int kLeastRoundSteps = 5;

class RoundPlan {
 public:
  // `seconds`: of the whole measurement. `elapsed_s`: of these, before the first round. `step_s`: of the network.
  RoundPlan(double seconds, double elapsed_s, double step_s);

  // Rounds to measure, 1 to kBenchRounds.
  [[nodiscard]] int rounds() const { return rounds_; }
  // Begins the next round and returns the time for its parts, which is 0 if the first round does not fit. Nothing: all
  // rounds were measured, or no further one fits.
  [[nodiscard]] std::optional<double> next(double elapsed_s);
  // The same for a further round, of which there are up to kFurtherRounds.
  [[nodiscard]] std::optional<double> further(double elapsed_s);

 private:
  std::optional<double> begin(double left_s, int rounds, double elapsed_s);
  void end_round(double elapsed_s);

  double seconds_;
  int rounds_;
  int begun_ = 0, further_ = 0;
  std::optional<double> planned_;  // of the round that has begun
  double begin_s_ = 0;
  double excess_s_ = 0;  // by which a round exceeded its plan, at most
};

}  // namespace unstarve
