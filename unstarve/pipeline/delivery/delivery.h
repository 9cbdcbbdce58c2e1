#pragma once
// Delivers batches: many workers fill slots, one consumer takes the batches in order.
//
//   claim() ── worker makes samples ── place() ── writes them ── finish(); the last of the batch: publish() ──▶
//   wait() ── take() ── consumer uses the batch ── release() ──▶ claim() ...
//
//   exact order    ExactDelivery: a claim is a run of samples, each with its index in its batch from the start
//   relaxed order  RelaxedDelivery: a batch consists of the samples that are ready first
//
// In exact order claim() assigns the slot already, and place() does nothing.
// Batches are opened in order, up to `prefetch` beyond what the consumer has requested, and taken in order.
//
// Ownership: owns the slots. A claim borrows its slot until finish(), the last claim of a batch until publish(), the
//            consumer from take() to release().
// Threads:   claim(), place(), finish() and publish() by any worker; wait(), take(), peek() by one consumer at a time;
//            all others by any thread. In a fork of the process release() does nothing.
// Blocking:  claim() waits until a batch may be opened: a slot is free, and fewer than `prefetch` are open beyond what
//            the consumer has requested. take() waits for a complete batch; close() wakes both.
// Cost:      no allocation after construction, except by a growing pool. Workers: two short critical sections per claim
//            and one per batch, one virtual call per claim. The consumer: about six per batch.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <unistd.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/delivery/slot_pool.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/order/run_order.h"

namespace unstarve {

class ReadAhead;

// Consecutive samples of a batch of the order, made by one worker.
struct Claim {
  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;
  std::size_t index = 0;  // of the first sample in `batch`
  std::size_t count = 0;
  bool read_ahead = false;     // the records are taken from the read-ahead
  Slot* slot = nullptr;        // relaxed order: null until place()
  std::size_t slot_index = 0;  // of the first sample in `slot`
};

class Delivery {
 public:
  virtual ~Delivery() = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Up to `most` samples to make; nothing after close() and when all samples are claimed.
  [[nodiscard]] virtual std::optional<Claim> claim(std::size_t most) = 0;
  // The claim of sample `number` of the run, where a read-ahead decides which sample is next.
  [[nodiscard]] Claim claim_of(std::uint64_t number) const;
  // Assigns slot and slot_index to a claim without them; the samples are then written and finished without delay.
  virtual void place(Claim& claim) = 0;
  // Ends a claim, with the failure of its bad sample at the lowest index of the slot, if that fails the run. True for
  // the last claim of a batch: the caller then completes the slot and publishes it.
  [[nodiscard]] bool finish(const Claim& claim, std::optional<Error> failure = {}, std::size_t failure_index = 0);
  void publish(Slot& slot);

  // Resumes `reading` for all samples that are not claimed yet. False after close(), if all samples are claimed, or if
  // `reading` cannot resume now.
  virtual bool begin_read_ahead(ReadAhead& reading) = 0;
  // Pauses `reading` from the first unclaimed sample on. False if it was not begun, after close(), if all samples are
  // claimed, or if `reading` cannot pause now.
  virtual bool end_read_ahead(ReadAhead& reading) = 0;

  // The next batch; null after the last one and after close(). Throws Error(kArgument) if the consumer holds all slots
  // of a pool that does not grow, Error(kMemory) if the pool has to grow and cannot.
  [[nodiscard]] Slot* take();
  // Waits up to `timeout` until take() would not block, and returns whether it would not. Throws as take().
  [[nodiscard]] bool wait(std::chrono::milliseconds timeout);
  // The batch that take() would return without waiting; null if there is none.
  [[nodiscard]] const Slot* peek() const;
  void release(Slot& slot);
  void close();
  // The progress after the last batch that was taken without a failure.
  [[nodiscard]] RankProgress progress() const;

  // From 1 to SlotLimits::max_prefetch. The consumer's next take() or wait() adds slots if memory is available;
  // surplus slots are freed on release.
  void set_prefetch(int prefetch);
  // As SlotPool::all_held(); 0 if no batch remains to be filled.
  [[nodiscard]] std::size_t all_held() const;
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] std::size_t borrowed_bytes() const;
  [[nodiscard]] bool pinned() const { return pool_.layout().pinned; }

 protected:
  // The open batches that were not taken yet, by sequence number.
  class OpenBatches {
   public:
    explicit OpenBatches(std::size_t most) : slots_(most) {}
    void push(Slot& slot) { slots_[opened_++ % slots_.size()] = &slot; }
    void pop() { ++taken_; }
    [[nodiscard]] bool empty() const { return taken_ == opened_; }
    [[nodiscard]] std::uint64_t opened() const { return opened_; }  // ever
    [[nodiscard]] std::uint64_t taken() const { return taken_; }    // ever
    [[nodiscard]] Slot& at(std::uint64_t sequence) const { return *slots_[sequence % slots_.size()]; }
    [[nodiscard]] Slot& first() const { return at(taken_); }

   private:
    std::vector<Slot*> slots_;
    std::uint64_t opened_ = 0, taken_ = 0;
  };
  struct BatchPosition {
    std::uint32_t epoch = 0;
    std::uint64_t batch = 0;
  };

  // Throws Error(kMemory). `device` must outlive the delivery.
  Delivery(const RunOrder& order, const SlotLayout& layout, const SlotLimits& limits, Device& device);

  // All of these expect mutex_ to be locked.
  // Called when the number of slots, the prefetch or the consumer's request has changed.
  virtual void advance() {}
  // A batch without a failure was taken.
  virtual void note_taken(const Slot&) {}
  // Adds the used samples to the progress of an unfinished epoch.
  virtual void describe_progress(RankProgress& progress) const = 0;
  [[nodiscard]] bool exhausted() const { return !order_.has(next_.epoch); }  // no further batch can be opened
  [[nodiscard]] bool may_open() const;
  Slot& open();

  const pid_t process_ = ::getpid();
  const RunOrder order_;
  mutable std::mutex mutex_;
  std::condition_variable work_;   // for claim()
  std::condition_variable ready_;  // for take()
  SlotPool pool_;
  OpenBatches open_;
  std::uint64_t requested_ = 0;  // batches that the consumer has requested
  BatchPosition next_;           // to be opened
  BatchPosition delivered_;      // after the last batch taken
  bool closed_ = false;

 private:
  [[nodiscard]] bool next_is_ready() const;
  void request();             // take() and wait(), before they wait
  void add_prefetch_slots();  // expects mutex_ not to be locked
};

}  // namespace unstarve
