#pragma once
// The order of a whole run: consecutive epochs, the first without the samples used before the start of the run. Epochs
// may have different numbers of samples (OrderBasis::shares).
//
// Samples of the run are numbered from its start. Read-ahead uses this number, batches use (epoch, batch, index).
// Threads: pure after construction.

#include <cstdint>
#include <limits>
#include <vector>

#include "unstarve/pipeline/order/order.h"

namespace unstarve {

// A batch of this rank.
struct RunBatch {
  std::uint32_t epoch = 0;
  std::uint64_t index = 0;  // within the epoch
  bool last_of_epoch = false;
  std::size_t samples = 0;
  std::size_t real = 0;  // the first samples: those of the epoch, without fillers of the last batch of all ranks
};

class RunOrder {
 public:
  struct EpochSample {
    std::uint32_t epoch = 0;
    std::uint64_t sample = 0;  // index among the samples of this rank in of_epoch(epoch)
  };

  // A start after the last batch of its epoch means the beginning of the next epoch. `epochs` includes the started one;
  // 0: endless. Throws Error(kArgument) if the epoch has no batch `start.batch`.
  RunOrder(const Order& order, const EpochPosition& start, std::uint32_t epochs);

  [[nodiscard]] EpochPosition start() const { return start_; }
  [[nodiscard]] const Order& of_epoch(std::uint32_t epoch) const {
    return epoch == start_.epoch ? first_ : stretch_of(epoch).order;
  }
  [[nodiscard]] bool has(std::uint32_t epoch) const { return epochs_ == 0 || epoch - first_epoch_ < epochs_; }
  [[nodiscard]] RunBatch batch(std::uint32_t epoch, std::uint64_t index) const;
  // Samples of this rank in the whole run.
  [[nodiscard]] std::uint64_t samples() const;
  [[nodiscard]] std::uint64_t number(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index) const;
  [[nodiscard]] EpochSample epoch_sample(std::uint64_t number) const;

 private:
  // Epochs after the first one with the same order.
  struct Stretch {
    std::uint32_t epoch;  // the first
    Order order;
    std::uint64_t number;  // of its first sample
  };
  [[nodiscard]] const Stretch& stretch_of(std::uint32_t epoch) const;

  Order first_;
  EpochPosition start_;
  std::uint32_t first_epoch_;  // as requested
  std::uint32_t epochs_;
  std::uint64_t skipped_ = 0;        // samples of first_ before the start
  std::uint64_t first_samples_ = 0;  // samples of first_ from the start on
  std::vector<Stretch> stretches_;   // one, or one per share of the samples
};

}  // namespace unstarve
