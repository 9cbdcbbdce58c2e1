#pragma once
// A ring of batch slots, filled by many workers and read by one consumer, and the schedule between them.
//
//   claim() ── workers write samples ── finish() ── the last one completes the batch ── publish() ──▶ take() ──
//   consumer uses the batch ── release() ──▶ claim() ...
//
// Batches are opened in order, at most `prefetch` ahead of what the consumer has asked for, and taken in order; the
// workers' claims within them are short runs of samples, so that several workers fill one batch.
//
// Relaxed order: a worker claims the number of a sample, makes it in memory of its own, and is given a place only when
// the sample is ready to be written:
//
//   claim_number() ── worker makes the sample ── place() ── it writes ── finish() ── publish() ──▶ take()
//
// So one that takes long holds no place, and no batch waits for it but the last of its epoch. Numbers are claimed in
// order, none further than a window behind the first that has no place yet, and none beyond the batches that are open.
//
// Ownership: the ring owns the slots' memory for its lifetime; Slot pointers are borrowed until release().
// Threads:   claim(), finish() by any worker; take() by one consumer at a time; release(), close() by any thread.
// Blocking:  claim() waits for a batch to work on, take() for the next batch to be full; close() wakes both.
// Memory:    as many slots as slot_count.h says, untouched until they are filled, the one given back last the first to
//            be filled again. A consumer that keeps more batches gets further slots where `grow` allows it, so that as
//            many as `prefetch` are always being filled; they go when it lets its batches go. With `most_slots` it
//            waits, once there are so many, until it lets one go: all_held() tells that nothing else can end the wait.
// Cost:      no allocation after construction, but for `grow`; one short critical section per claim and per batch.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <unistd.h>

#include "unstarve/core/byte_budget.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/pad_batch.h"
#include "unstarve/pipeline/executor/reorder_window.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/plan/slot_count.h"

namespace unstarve {

struct Slot {
  std::unique_ptr<Memory> memory;
  std::vector<std::int64_t> labels;
  std::vector<std::uint64_t> ids;
  std::vector<std::uint8_t> good;      // 0: left out by the skip policy
  std::vector<float> targets;          // samples x classes, where the plan has batch operations
  std::vector<PixelExtent> sizes;      // of the samples as they are made, where batches are padded
  std::vector<FileExtent> files;       // of the samples, where a device takes part in decoding
  std::vector<std::uint64_t> numbers;  // of its samples in the run; relaxed order

  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;
  std::size_t samples = 0;
  std::size_t unfinished = 0;  // samples that no finish() has reported yet
  std::size_t placed = 0;      // samples that place() gave a place; relaxed order
  std::size_t real = 0;        // of `samples`, the first ones: those that do not fill up the last batch of all ranks
  std::size_t kept = 0;        // samples that are handed over: the good ones, moved together, and their copies
  std::size_t valid = 0;       // of those, the first ones: real ones, no copies
  Size size;                   // of each sample that is handed over
  bool complete = false;
  std::optional<Error> failure;  // of the bad sample with the lowest index
  std::size_t failure_index = 0;
};

// Samples first .. first + count - 1 of a slot.
struct Claim {
  Slot* slot = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  bool ahead = false;  // its records are read ahead
};

class SlotRing {
 public:
  struct Options {
    std::size_t sample_bytes = 0;
    std::size_t slot_bytes = 0;  // of all that a slot holds, for memory_bytes()
    std::size_t batch_samples = 0;
    std::size_t classes = 0;  // of the targets
    bool padded = false;      // samples have sizes of their own; room for one more of them is behind the batch
    int prefetch = 2;
    bool pinned = false;
    bool grow = false;
    std::size_t most_slots = 0;  // that `grow` and set_prefetch() may come to; 0: any number
    // With `most_slots` what further slots for a consumer that keeps batches are taken of while there is any; null:
    // nothing.
    std::shared_ptr<ByteBudget> room{};
    std::uint64_t window = 0;  // of relaxed order, in samples of this rank; 0: exact order
    int most_prefetch = 0;     // that set_prefetch() may ask for; 0: it is not called
    bool files = false;        // samples may stay files
  };

  // Throws Error(kMemory). `device` must outlive the ring.
  SlotRing(const RunOrder& order, Options options, Device& device);

  // Up to `most` samples of the oldest batch with unclaimed ones; nothing when closed or when all batches are claimed.
  [[nodiscard]] std::optional<Claim> claim(std::size_t most);
  // Exact order: calls begin(number of the first sample in the run that is not claimed yet) under the ring's lock; all
  // claims from there on say `ahead`. False when closed, when all are claimed or when `begin` says so; what `begin`
  // throws changes nothing.
  bool begin_ahead(const std::function<bool(std::uint64_t)>& begin);
  // Likewise calls end(number of the first unclaimed sample); no claim from there on says `ahead`. What is claimed
  // already has its records read ahead. False when closed or when all are claimed.
  bool end_ahead(const std::function<void(std::uint64_t)>& end);
  // Reports a claim as done, with the failure of its lowest bad sample if the run is to fail by it. True for the last
  // of its batch: the caller then owns the slot, sets `kept` and publishes it.
  [[nodiscard]] bool finish(const Claim& claim, std::optional<Error> failure = {}, std::size_t failure_index = 0);
  void publish(Slot* slot);

  // Relaxed order, instead of claim(). The number in the run of the next sample to make; waits until one may be made,
  // nothing when closed or when all are claimed.
  [[nodiscard]] std::optional<std::uint64_t> claim_number();
  // Instead of claim_number(), for those who get their numbers elsewhere: `allow` is called at once and later with the
  // first number that may not be made yet, under the ring's lock.
  void start(std::function<void(std::uint64_t)> allow);
  // A place for sample `number` of the run, to be written and finished without delay.
  [[nodiscard]] Claim place(std::uint64_t number);

  // What was given to the consumer, of the epoch that the next batch belongs to.
  [[nodiscard]] RankProgress progress() const;

  // The next batch in order; null at the end and after close(). Throws Error(kArgument) when the consumer holds so many
  // batches that none is left to fill, with `grow` Error(kMemory) when there is no memory for another.
  [[nodiscard]] Slot* take();
  // Waits until take() would not, at most for `most`; whether it would not. Throws as take().
  [[nodiscard]] bool wait(std::chrono::milliseconds most);
  // What take() would give without waiting, still the ring's; null where that is nothing.
  [[nodiscard]] const Slot* peek() const;
  void release(Slot* slot);
  // The number of slots where the consumer holds every one of them and no further one may be made: take() then waits
  // until one is released; else 0.
  [[nodiscard]] std::size_t all_held() const;
  void close();
  // From now on up to so many batches are made ahead, 1 to `most_prefetch`. Further slots are allocated by the
  // consumer's next take() or wait(), where there is memory for them; those that are too many go when it lets its
  // batches go.
  void set_prefetch(int prefetch);

  [[nodiscard]] bool pinned() const { return options_.pinned; }
  [[nodiscard]] std::size_t memory_bytes() const;    // of the slots, held ones included
  [[nodiscard]] std::size_t borrowed_bytes() const;  // of those, what is taken of Options::room
  [[nodiscard]] bool last_of_epoch(const Slot& slot) const {
    return slot.batch + 1 == order_.order(slot.epoch).batches_per_epoch();
  }

 private:
  // All of these expect mutex_ to be held.
  [[nodiscard]] bool exhausted() const;  // no further batch exists
  // The first sample in the run that claim() has not given away; none where it has given all.
  [[nodiscard]] std::optional<std::uint64_t> first_unclaimed() const;
  [[nodiscard]] bool may_open() const;  // the next batch may be started now
  [[nodiscard]] bool ready() const;     // take() need not wait
  void open();
  void add_slot(std::list<Slot>&& made);
  void ask();  // what take() does before it waits
  // Relaxed order: opens what may be opened, and finds out what may be made.
  void advance();
  [[nodiscard]] bool within_window(std::uint64_t number) const;
  [[nodiscard]] bool has_own_room() const { return options_.most_slots == 0 || slots_.size() < options_.most_slots; }
  [[nodiscard]] bool may_grow() const {
    return has_own_room() || (options_.room && options_.room->left() >= options_.slot_bytes);
  }
  // Whether one more slot may be made; its room has then been taken where it is of Options::room.
  [[nodiscard]] bool take_room() {
    return has_own_room() || (options_.room && options_.room->take(options_.slot_bytes));
  }
  // As a slot goes.
  void give_room_back() {
    if (!has_own_room() && slots_.size() > options_.most_slots) options_.room->give_back(options_.slot_bytes);
  }
  [[nodiscard]] std::size_t wanted_slots(bool holds_two) const {
    return slots_kept({prefetch_, options_.grow, options_.window > 0, holds_two});
  }

  // These expect it not to be held.
  [[nodiscard]] std::list<Slot> make_slot() const;
  void follow_prefetch();  // allocates what set_prefetch() asks for

  const pid_t process_ = ::getpid();
  const RunOrder order_;
  const Options options_;
  int prefetch_;
  Device& device_;

  mutable std::mutex mutex_;
  std::condition_variable work_;   // for claim()
  std::condition_variable ready_;  // for take()
  std::list<Slot> slots_;
  std::size_t held_ = 0;  // by the consumer
  int two_held_for_ = 0;  // for so many batches more it counts as one that holds two
  std::vector<Slot*> free_;
  std::vector<Slot*> in_flight_;  // opened and not taken, a ring indexed by batch sequence number
  std::uint64_t opened_ = 0;      // batches ever opened
  std::uint64_t taken_ = 0;       // batches ever taken
  std::uint64_t asked_ = 0;       // take() calls ever begun
  std::uint32_t next_epoch_;      // of the next batch to open
  std::uint64_t next_batch_;
  Slot* filling_ = nullptr;       // the latest opened slot, while it has unclaimed samples
  std::size_t filling_next_ = 0;  // its first unclaimed sample
  bool ahead_ = false;            // of the claims from now on
  bool closed_ = false;
  std::uint32_t given_epoch_;    // of the batch that was taken last
  std::uint64_t given_batches_;  // of that epoch

  // Relaxed order. Numbers are those of the run.
  ReorderWindow placed_;
  ReorderWindow given_;              // to the consumer
  std::uint64_t claimable_ = 0;      // numbers before this one may be made
  std::uint64_t next_number_ = 0;    // the next to claim
  std::uint64_t open_numbers_ = 0;   // samples of all batches opened so far
  std::uint64_t unplaced_from_ = 0;  // sequence number of the oldest batch with places left
  std::function<void(std::uint64_t)> allow_;
};

}  // namespace unstarve
