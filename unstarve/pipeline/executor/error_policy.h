#pragma once
// What happens to bad samples (errors.policy), and to batches that have no good sample.
//
//   fail     the error of the first bad sample fails the run
//   skip     the sample is left out. A batch without a good sample is left out too, so that an epoch has up to
//            batches_per_epoch() of them; it fails the run if other ranks have that batch, because all ranks must have
//            equally many in a training, and if the epoch has no other batch
//   replace  the next good sample by id takes its position
//
// A sample is bad if reading, decoding or an operation throws, or the result has a wrong size; Error(kIo),
// std::bad_alloc and errors of steps of the whole batch fail the run. Damage of a JPEG counts only in the decoded
// region and above it. Under any policy, more bad samples than errors.limit or a higher rate than errors.rate fail the
// run.
//
// Ownership: borrows its arguments. Threads: failure_of_empty(), leaves_out() and note_batch() are for the consumer's
// thread, all others for any. Cost: a lock per bad sample.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/bad_sample.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct Resources;
struct Slot;

class ErrorPolicy {
 public:
  // `deliver_epoch_ends`: the last batch of an epoch is delivered even if it is empty. `uneven`: ranks may have
  // different numbers of batches, or none.
  ErrorPolicy(const ErrorSpec& spec, const Resources& resources, const Order& epoch_order, bool deliver_epoch_ends,
              bool uneven = false);

  struct Outcome {
    std::uint64_t id = 0;  // of the sample that was made
    std::int64_t label = 0;
    bool good = true;  // false: skipped
  };
  // Makes a sample of an epoch. `make(candidate, first)` returns its label or throws Error if it is bad; `first` is
  // false for replacements. Throws if the run fails.
  template <class Make>
  Outcome try_sample(Sample sample, std::uint32_t epoch, const Make& make) {
    for (std::uint64_t attempts = 0;; ++attempts) {
      try {
        return {sample.id, make(sample, attempts == 0)};
      } catch (const Error& error) {
        // Not the fault of the sample: during an outage, the rest of the epoch would be left out.
        if (spec_.policy == OnError::kFail || error.kind() == ErrorKind::kIo) throw;
        note_bad(sample.id, epoch, error.what());
      }
      if (spec_.policy == OnError::kSkip) return {sample.id, 0, false};
      sample.id = replacement(sample.id, attempts);
    }
  }
  // Counts samples that were tried, good or bad.
  void count_tried(std::size_t samples) {
    tried_.fetch_add(static_cast<std::int64_t>(samples), std::memory_order_relaxed);
  }

  // The error of a complete batch without samples; none if it may be left out.
  [[nodiscard]] std::optional<Error> failure_of_empty(const Slot& slot) const;
  [[nodiscard]] bool leaves_out(const Slot& slot) const;
  void note_batch(std::uint32_t epoch, bool empty) {
    empty_batches_ = empty ? empty_batches_ + 1 : 0;
    delivered_epoch_.store(epoch, std::memory_order_relaxed);
  }

  // The first `most` bad samples by id, without those of epochs of which no batch was delivered yet; before the first
  // batch all.
  [[nodiscard]] std::vector<BadSample> bad_samples(std::size_t most) const;
  [[nodiscard]] std::uint64_t bad_count() const;

 private:
  struct Bad {
    std::uint32_t epoch = 0;  // the first
    std::string reason;
  };
  void note_bad(std::uint64_t id, std::uint32_t epoch, const std::string& reason);
  [[nodiscard]] std::uint64_t replacement(std::uint64_t id, std::uint64_t attempts) const;

  const ErrorSpec spec_;
  const Resources& resources_;
  const Order& order_;
  const bool deliver_epoch_ends_;
  const bool uneven_;
  std::uint64_t empty_batches_ = 0;  // consecutive, up to the present batch
  std::atomic<std::int64_t> tried_{0};
  std::atomic<std::uint32_t> delivered_epoch_{UINT32_MAX};  // of the latest batch; before the first batch: all

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Bad> bad_;  // by id; up to errors.limit + 1
  std::optional<Error> too_many_;     // fails the run
};

}  // namespace unstarve
