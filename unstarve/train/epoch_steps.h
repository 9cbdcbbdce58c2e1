#pragma once
// The number of steps of each epoch of a run. Early epochs may have fewer steps than the later ones (progressive.h).
//
// Steps are counted from the begin of epoch 0. Threads: plain data and pure functions.

#include <cstdint>
#include <utility>
#include <vector>

namespace unstarve {

class EpochSteps {
 public:
  EpochSteps() = default;  // unknown
  // `first`: the steps of the first epochs; each later one has `full` steps. Precondition: all are above 0.
  explicit EpochSteps(std::int64_t full, std::vector<std::int64_t> first = {})
      : full_(full), first_(std::move(first)) {}

  [[nodiscard]] bool known() const { return full_ > 0; }
  [[nodiscard]] std::int64_t full() const { return full_; }
  [[nodiscard]] std::int64_t of_epoch(std::int64_t epoch) const {
    return epoch < std::ssize(first_) ? first_[static_cast<std::size_t>(epoch)] : full_;
  }
  // The steps of all epochs before `epoch`.
  [[nodiscard]] std::int64_t before(std::int64_t epoch) const;
  // The steps of `epochs`, of which the last one may be a part; rounded up.
  [[nodiscard]] std::int64_t steps_of(double epochs) const;
  // The epochs completed after `steps` steps, as a number with a fraction. `steps` may be negative.
  [[nodiscard]] double epochs_at(std::int64_t steps) const;
  // The same in units of full epochs' steps, rounded down: `steps` itself if all epochs are full.
  [[nodiscard]] std::int64_t full_steps_at(std::int64_t steps) const;

  friend bool operator==(const EpochSteps&, const EpochSteps&) = default;

 private:
  struct Position {
    std::int64_t epoch = 0;
    std::int64_t step = 0;  // in the epoch
  };
  [[nodiscard]] Position at(std::int64_t steps) const;

  std::int64_t full_ = 0;
  std::vector<std::int64_t> first_;
};

}  // namespace unstarve
