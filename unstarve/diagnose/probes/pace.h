#pragma once
// When to repeat something whose CPU time is limited to a share of one core. The distance follows the mean of the last
// costs: a single expensive time, such as the start of a recorder on a busy machine, does not stop it for long.
//
// Threads: one.

#include <algorithm>

namespace unstarve {

class Pace {
 public:
  Pace(double shortest_s, double longest_s) : shortest_s_(shortest_s), longest_s_(longest_s) {}

  [[nodiscard]] double next_s() const { return next_s_; }  // 0: immediately
  // It was done at `now_s` and took `cost_s` of CPU time.
  void done(double now_s, double cost_s, double share) {
    mean_cost_s_ += kWeight * (cost_s - mean_cost_s_);
    next_s_ = now_s + std::clamp(mean_cost_s_ / share, shortest_s_, longest_s_);
  }

 private:
  static constexpr double kWeight = 0.25;  // of the last cost
  const double shortest_s_, longest_s_;
  double mean_cost_s_ = 0, next_s_ = 0;
};

}  // namespace unstarve
