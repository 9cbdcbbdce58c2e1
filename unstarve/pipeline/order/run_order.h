#pragma once
// The order of a whole run: its epochs one after the other, the first without what was used before the run's start.
//
// Every sample of the run has a number, counted from its start; read-ahead goes by it, batches by (epoch, batch,
// index). Threads: pure after construction.

#include <cstdint>
#include <limits>

#include "unstarve/pipeline/order/order.h"

namespace unstarve {

class RunOrder {
 public:
  struct Place {
    std::uint32_t epoch = 0;
    std::uint64_t sample = 0;  // of this rank, in order(epoch)
  };

  // A start behind the last batch of its epoch is the beginning of the next one. `epochs`, the started one included;
  // 0: endless. Throws Error(kArgument) for a start at a batch that the epoch does not have.
  RunOrder(const Order& order, Position start, std::uint32_t epochs);

  [[nodiscard]] Position start() const { return start_; }
  [[nodiscard]] const Order& order(std::uint32_t epoch) const { return epoch == start_.epoch ? first_ : order_; }
  // Whether the run has that epoch.
  [[nodiscard]] bool has(std::uint32_t epoch) const { return epochs_ == 0 || epoch - started_ < epochs_; }
  // Of this rank, in the whole run.
  [[nodiscard]] std::uint64_t samples() const;
  [[nodiscard]] std::uint64_t number(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index) const;
  [[nodiscard]] Place place(std::uint64_t number) const;

 private:
  Order order_;
  Order first_;
  Position start_;
  std::uint32_t started_;  // the epoch that was asked for
  std::uint32_t epochs_;
  std::uint64_t skipped_ = 0;  // samples of first_ before the start
  std::uint64_t begun_ = 0;    // samples of first_ behind it
};

}  // namespace unstarve
