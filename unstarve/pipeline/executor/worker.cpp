#include "unstarve/pipeline/executor/worker.h"

#include <pthread.h>

#include <exception>
#include <new>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/delivery/delivery.h"
#include "unstarve/pipeline/executor/complete_batch.h"
#include "unstarve/pipeline/executor/error_policy.h"
#include "unstarve/pipeline/executor/run.h"
#include "unstarve/pipeline/executor/sample_program.h"
#include "unstarve/pipeline/executor/worker_timer.h"
#include "unstarve/pipeline/read_ahead/read_ahead.h"

namespace unstarve {
namespace {

// The error of `work`, if it throws.
template <class Work>
std::optional<Error> error_of(const Work& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return memory_error("out of memory in a worker thread");
  } catch (const std::exception& error) {
    return Error(ErrorKind::kInternal, error.what());
  }
}

// A claim is some consecutive samples of one batch, about 50 us of work: one photograph, or many tiny images
// (worker_timer.h). Its samples are made one after the other and written into the slot of the batch, whose memory the
// consumer gets. `timer_` measures a part of the samples; `gate` stops the threads that are too many after a change of
// their number.
class Worker {
 public:
  Worker(WorkerShared& shared, int number)
      : shared_(shared),
        number_(number),
        timer_(shared.counters.worker(number)),
        program_(shared.run.plan, shared.run.resources, {shared.run.decode_balance.get(), &shared.decoded}) {}

  void run() {
    while (shared_.gate.enter(number_)) {
      timer_.begin_claim();
      const bool timed = timer_.time_next();
      std::optional<Claim> claim = next_claim(timed);
      if (!claim) return;
      begin_epoch(claim->epoch);
      timer_.begin_samples();
      Failure failure = process(*claim, timed);
      const std::int64_t now = timer_.end_samples(claim->count);
      shared_.errors.count_tried(claim->count);
      if (shared_.delivery.finish(*claim, std::move(failure.error), failure.index)) {
        Slot& slot = *claim->slot;
        // Sets slot.delivered; then batch operations and padding, if there are any.
        if (auto error = error_of([&] { complete_batch(shared_.run, slot); })) slot.fill.fail(std::move(*error));
        shared_.delivery.publish(slot);
      }
      if (now >= shared_.periodic.due_ns.load(std::memory_order_relaxed)) shared_.periodic.call(now);
    }
  }

 private:
  struct Failure {
    std::optional<Error> error;
    std::size_t index = 0;  // of the failed sample in the slot; only with `error`
  };

  std::optional<Claim> next_claim(bool timed) {
    ReadAhead* const reading = shared_.run.relaxed() ? shared_.read_ahead.load(std::memory_order_acquire) : nullptr;
    if (reading == nullptr) return shared_.delivery.claim(timer_.samples_per_claim());
    ReadWait wait(timer_.totals(), timed);
    fetched_ = reading->take_any(program_.record());
    if (!fetched_) return {};
    wait.end();
    return shared_.delivery.claim_of(fetched_->number);
  }

  void begin_epoch(std::uint32_t epoch) {
    if (epoch_ && epoch_number_ == epoch) return;
    epoch_number_ = epoch;
    epoch_.emplace(shared_.run.run_order.of_epoch(epoch), epoch);  // RunOrder owns the orders of its epochs
    program_.begin_epoch(epoch);
  }

  // Makes and writes the samples of a claim. Returns what failed the run.
  Failure process(Claim& claim, bool timed) {
    Sample next = epoch_->sample(claim.batch, claim.index);
    for (std::size_t i = 0; i < claim.count; ++i) {
      const Sample sample = next;
      if (i > 0) timed = timer_.time_next();
      if (i + 1 < claim.count) {
        next = epoch_->sample(claim.batch, claim.index + i + 1);
        if (!claim.read_ahead) program_.announce(next.id);
      }
      ErrorPolicy::Outcome made;
      std::optional<Error> error = error_of([&] { made = make(claim, i, sample, timed); });
      if (claim.slot == nullptr) shared_.delivery.place(claim);
      const std::size_t index = claim.slot_index + i;
      if (!error) error = error_of([&] { write(made, *claim.slot, index, timed); });
      if (!error) continue;
      if (claim.read_ahead) skip_records(claim, i + 1);
      return {std::move(error), index};
    }
    return {};
  }

  // try_sample() calls the function below with `sample`. If it throws, the policy throws on, skips the sample, or calls
  // it again with another one.
  ErrorPolicy::Outcome make(const Claim& claim, std::size_t i, Sample sample, bool timed) {
    return shared_.errors.try_sample(sample, claim.epoch, [&](Sample candidate, bool first) {
      const bool is_read = first && fetch(claim, i, timed);
      return program_.make(candidate, timer_.totals(), timed, is_read);
    });
  }

  // Sample `index` of the slot has the bytes from index * sample_bytes() on.
  void write(const ErrorPolicy::Outcome& made, Slot& slot, std::size_t index, bool timed) {
    BatchArrays& arrays = slot.arrays;
    arrays.ids[index] = made.id;
    arrays.labels[index] = made.label;
    arrays.good[index] = made.good ? 1 : 0;
    if (!made.good) return;
    const Size size = program_.store(arrays.memory->data() + index * program_.sample_bytes(), timer_.totals(), timed);
    if (!arrays.sizes.empty()) arrays.sizes[index] = {size.height, size.width};
    if (!arrays.files.empty()) arrays.files[index] = program_.file();
  }

  // Takes the record of the claim's sample `i` from the read-ahead into program_.record(), if one runs: for servers and
  // for files that are not in the page cache.
  // Returns whether the record was read. Rethrows the exception of the reader.
  bool fetch(const Claim& claim, std::size_t i, bool timed) {
    if (fetched_) {
      if (fetched_->failure) std::rethrow_exception(fetched_->failure);
      return fetched_->is_read;
    }
    if (!claim.read_ahead) return false;
    ReadWait wait(timer_.totals(), timed);
    ReadAhead& reading = *shared_.read_ahead.load(std::memory_order_acquire);
    const bool is_read = reading.take(claim.epoch, claim.batch, claim.index + i, program_.record());
    wait.end();
    return is_read;
  }

  // Takes the records from sample `i` on, so that the read-ahead continues after them.
  void skip_records(const Claim& claim, std::size_t i) {
    ReadAhead& reading = *shared_.read_ahead.load(std::memory_order_acquire);
    for (; i < claim.count; ++i) {
      try {
        (void)reading.take(claim.epoch, claim.batch, claim.index + i, program_.record());
      } catch (const std::exception&) {
        continue;  // the batch has failed already
      }
    }
  }

  WorkerShared& shared_;
  const int number_;
  WorkerTimer timer_;
  SampleProgram program_;
  std::optional<Order::Epoch> epoch_;
  std::uint32_t epoch_number_ = 0;
  std::optional<ReadAhead::Ready> fetched_;  // relaxed order: the record that decided the claim
};

}  // namespace

WorkerShared::WorkerShared(const Run& the_run, ErrorPolicy& the_errors, Delivery& the_delivery, PeriodicCall& the_call,
                           int workers)
    : run(the_run),
      errors(the_errors),
      delivery(the_delivery),
      periodic(the_call),
      counters({kStageNames.begin(), kStageNames.end()}, workers),
      gate(run.execution.threads) {}

void run_worker(WorkerShared& shared, int number) {
  pthread_setname_np(pthread_self(), "unstarve-work");
  Worker(shared, number).run();
}

}  // namespace unstarve
