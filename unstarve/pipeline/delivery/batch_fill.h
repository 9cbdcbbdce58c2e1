#pragma once
// How far a batch is filled: which of its samples have a position, how many are unfinished, and what failed.
//
// Threads: one at a time; after the last finish() and until set_complete(), the worker that completes the batch.

#include <cstddef>
#include <optional>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {

class BatchFill {
 public:
  // A batch of `samples` samples, none of them finished.
  explicit BatchFill(std::size_t samples = 0) : unfinished_(samples) {}

  // Relaxed order: the next free position.
  [[nodiscard]] std::size_t place() { return placed_++; }
  [[nodiscard]] std::size_t placed() const { return placed_; }

  // `count` samples are finished, with the failure of the one at position `index`, if any; the failure at the lowest
  // position is kept. True if no sample is unfinished.
  [[nodiscard]] bool finish(std::size_t count, std::optional<Error> failure, std::size_t index) {
    if (failure && (!failure_ || index < failure_index_)) {
      failure_ = std::move(failure);
      failure_index_ = index;
    }
    unfinished_ -= count;
    return unfinished_ == 0;
  }
  // A step of the whole batch failed.
  void fail(Error error) { failure_ = std::move(error); }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

  void set_complete() { complete_ = true; }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  std::size_t unfinished_;
  std::size_t placed_ = 0;
  bool complete_ = false;
  std::optional<Error> failure_;
  std::size_t failure_index_ = 0;
};

}  // namespace unstarve
