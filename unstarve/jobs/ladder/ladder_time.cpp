#include "unstarve/jobs/ladder/ladder_time.h"

#include <algorithm>

#include "unstarve/jobs/ladder/subject.h"
#include "unstarve/observe/ledger.h"

namespace unstarve {

double untimed_time(const SideTime& side, double seconds) {
  return std::clamp(side.step_s * (side.prefetch + 1), side.step_s, side.step_s + seconds);
}

double pairs_time(const SideTime& a, const SideTime& b, int pairs, double seconds) {
  const auto block = [&](const SideTime& side) { return std::max(seconds, side.step_s) + untimed_time(side, seconds); };
  return pairs * (block(a) + block(b));
}

double final_time(const SideTime& slow, const SideTime& fast, bool kept) {
  const double with_base = pairs_time(slow, fast, kMinPairs, kShortestBlock) + slow.build_s + fast.build_s;
  const double with_defaults = pairs_time(fast, fast, kMinPairs, kShortestBlock) + 2 * fast.build_s;
  return with_base + (kept ? with_defaults : 0);
}

double least_final_time(const SideTime& base, const SideTime& winner) {
  return pairs_time(base, winner, kLeastFinalPairs, kShortestBlock) + base.build_s + winner.build_s;
}

int batch_that_fits(int batch, double step_s, double seconds, int steps) {
  const double fitting = batch * seconds / (steps * std::max(step_s, 1e-9));
  if (fitting >= batch) return batch;
  const int whole = std::max(static_cast<int>(fitting), 1);
  return whole < 8 ? whole : whole / 8 * 8;
}

std::optional<double> plan_step(double left_s, int steps, double needed_s, double final_s) {
  if (needed_s > left_s - final_s) return std::nullopt;
  return std::clamp(left_s / (steps + kFinalWeight), needed_s, left_s - final_s);
}

}  // namespace unstarve
