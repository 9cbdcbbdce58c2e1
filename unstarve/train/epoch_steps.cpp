#include "unstarve/train/epoch_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace unstarve {

std::int64_t EpochSteps::before(std::int64_t epoch) const {
  const std::int64_t listed = std::min<std::int64_t>(epoch, std::ssize(first_));
  return std::accumulate(first_.begin(), first_.begin() + listed, std::int64_t{0}) + (epoch - listed) * full_;
}

std::int64_t EpochSteps::steps_of(double epochs) const {
  const double whole = std::floor(epochs);
  const auto epoch = static_cast<std::int64_t>(whole);
  const auto length = static_cast<double>(of_epoch(epoch));
  const double rounding = 1e-12 * std::max(1.0, epochs) * length;  // 2.2 - 2 is a little more than 0.2
  return before(epoch) + std::llround(std::ceil((epochs - whole) * length - rounding));
}

EpochSteps::Position EpochSteps::at(std::int64_t steps) const {
  std::int64_t epoch = 0;
  for (; epoch < std::ssize(first_) && steps >= of_epoch(epoch); ++epoch) steps -= of_epoch(epoch);
  if (epoch < std::ssize(first_)) return {epoch, steps};
  return {epoch + steps / full_, steps % full_};
}

double EpochSteps::epochs_at(std::int64_t steps) const {
  if (first_.empty()) return static_cast<double>(steps) / static_cast<double>(full_);
  const Position position = at(steps);
  return static_cast<double>(position.epoch) +
         static_cast<double>(position.step) / static_cast<double>(of_epoch(position.epoch));
}

std::int64_t EpochSteps::full_steps_at(std::int64_t steps) const {
  if (first_.empty()) return steps;
  const Position position = at(steps);
  return position.epoch * full_ + position.step * full_ / of_epoch(position.epoch);
}

}  // namespace unstarve
