// What the threads of a loader do.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "unstarve/pipeline/executor/loader_state.h"

namespace unstarve {
namespace {

// A claim should last about this long: far above the cost of a critical section (about 100 ns), far below a batch.
constexpr std::int64_t kClaimNs = 50'000;
constexpr std::size_t kMostPerClaim = 64;
// Samples slower than this are timed one by one; of faster ones every kTimedEvery-th, since five clock reads (some
// 25 ns each) would show.
constexpr std::int64_t kAlwaysTimedNs = 20'000;
constexpr std::uint64_t kTimedEvery = 32;
// The thread's processor time costs a system call: it is taken in claims of slow samples, and in every kCpuEvery-th of
// others. How long it was kept waiting for a processor costs two: some 50 times a second.
constexpr std::int64_t kAlwaysCpuNs = 200'000;
constexpr std::uint64_t kCpuEvery = 16;
constexpr std::int64_t kDelayEveryNs = 20'000'000;

// What is measured of the samples of a claim.
StageTotals totals_for(WorkerTime& time, std::int64_t sample_ns) {
  StageTotals totals;
  totals.take_cpu = sample_ns > kAlwaysCpuNs || time.claims++ % kCpuEvery == 0;
  return totals;
}

// The wait for a record that is read ahead, as part of the sample's reading.
class BringTime {
 public:
  BringTime(StageTotals& totals, bool timed) : totals_(totals), timed_(timed) {
    if (!timed_) return;
    if (totals_.take_cpu) cpu_ns_ = thread_cpu_ns();
    start_ns_ = steady_clock().now_ns();
  }
  void end() {
    if (!timed_) return;
    constexpr auto kRead = static_cast<std::size_t>(WorkStage::kRead);
    const std::int64_t ns = steady_clock().now_ns() - start_ns_;
    totals_.ns[kRead] += ns;
    if (!totals_.take_cpu) return;
    totals_.both_ns[kRead] += ns;
    totals_.cpu_ns[kRead] += thread_cpu_ns() - cpu_ns_;
  }

 private:
  StageTotals& totals_;
  const bool timed_;
  std::int64_t start_ns_ = 0, cpu_ns_ = 0;
};

// How often the thread sleeps over the samples of a claim whose processor time is taken.
class SleepCount {
 public:
  explicit SleepCount(const StageTotals& totals) {
    if (totals.take_cpu) before_ = thread_sleeps();
  }
  void end(WorkerTime& time, std::size_t samples) const {
    if (before_) time.own.sleeps(static_cast<std::int64_t>(samples), *thread_sleeps() - *before_);
  }

 private:
  std::optional<std::int64_t> before_;
};

void note_time(WorkerTime& time, std::int64_t now_ns) {
  if (now_ns - time.delay_taken_ns < kDelayEveryNs) return;
  time.delay_taken_ns = now_ns;
  time.own.delay(time.delay.take_ns());
}

// What doing `work` failed by, if it did.
template <class Work>
std::optional<Error> failure_of(const Work& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kMemory, "out of memory in a loader thread");
  } catch (const std::exception& error) {
    return Error(ErrorKind::kInternal, error.what());
  }
}

}  // namespace

void Loader::State::start_read_ahead(int reads, std::uint64_t first) {
  // Its readers' own buffers, half as many as the ring's, are within its part of a memory limit.
  const std::uint64_t limit = plan.memory.limit > 0 ? plan.memory.read_ahead * 2 / 3 : plan.memory.read_ahead;
  ReadAhead::Spare spare;
  if (resources.pixel_cache) spare = [this](std::uint64_t id) { return resources.pixel_cache->find(id).has_value(); };
  const bool relaxed = plan.spec.execution.order == ExecutionOrder::kRelaxed;
  readers =
      std::make_unique<ReadAhead>(resources.dataset, order, ReadAhead::Options{reads, limit, relaxed, first}, spare);
  read_ahead.store(readers.get(), std::memory_order_release);
}

bool Loader::State::take_ahead(SampleProgram& worker, const Slot& slot, std::size_t index, StageTotals& totals,
                               bool timed) {
  BringTime time(totals, timed);
  const bool is_read = ahead()->take(slot.epoch, slot.batch, index, worker.record());
  time.end();
  return is_read;
}

void Loader::State::drop_ahead(SampleProgram& worker, const Slot& slot, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    try {
      (void)ahead()->take(slot.epoch, slot.batch, i, worker.record());
    } catch (const std::exception&) {
      continue;  // the batch has failed by a sample before this one
    }
  }
}

// Remembers a bad sample; throws when there are more than the limit allows. Workers that meet another before the run
// has ended throw the same, so that what it ends with does not depend on which of their batches is the first.
void Loader::State::note_bad(std::uint64_t id, const std::string& reason) {
  std::lock_guard lock(bad_mutex);
  if (too_many_bad) throw Error(*too_many_bad);
  bad.emplace(id, reason);
  const std::int64_t read = tried.load(std::memory_order_relaxed);
  if (bad.size() > plan.spec.errors.limit) {
    too_many_bad.emplace(ErrorKind::kInput,
                         fmt::format("{} bad sample{}, more than the limit of {}; the latest: {}", bad.size(),
                                     bad.size() == 1 ? "" : "s", plan.spec.errors.limit, reason));
  } else if (read >= static_cast<std::int64_t>(kRateProbation) &&
             static_cast<double>(bad.size()) > plan.spec.errors.rate * static_cast<double>(read)) {
    too_many_bad.emplace(ErrorKind::kInput,
                         fmt::format("{} bad samples among {}, more than the limit of {:.3g} %; the latest: {}",
                                     bad.size(), read, 100 * plan.spec.errors.rate, reason));
  }
  if (too_many_bad) throw Error(*too_many_bad);
}

template <class Bring>
Loader::State::Made Loader::State::make_sample(SampleProgram& worker, Sample sample, const Bring& bring,
                                               StageTotals& totals, bool timed) {
  const std::uint64_t total = resources.samples->size();
  for (std::uint64_t candidate = sample.id, attempts = 0;; candidate = resources.samples->next(candidate)) {
    try {
      const bool is_read = attempts == 0 && bring();
      return {candidate, worker.make({candidate, sample.draw}, totals, timed, is_read), true};
    } catch (const Error& error) {
      if (plan.spec.errors.policy == OnError::kFail) throw;
      note_bad(candidate, error.what());
    }
    if (plan.spec.errors.policy == OnError::kSkip) return {candidate, 0, false};
    if (++attempts == total) throw Error(ErrorKind::kInput, "no sample of the data set can be read");
  }
}

void Loader::State::write_sample(SampleProgram& worker, const Made& made, Slot& slot, std::size_t index,
                                 StageTotals& totals, bool timed) {
  slot.ids[index] = made.id;
  slot.labels[index] = made.label;
  slot.good[index] = made.good ? 1 : 0;
  if (!made.good) return;
  const Size size = worker.store(slot.memory->data() + index * worker.sample_bytes(), totals, timed);
  if (!slot.sizes.empty()) slot.sizes[index] = {size.height, size.width};
  if (!slot.files.empty()) slot.files[index] = worker.file();
}

void Loader::State::count(WorkerTime& time, std::size_t made, const StageTotals& totals) {
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    time.own.count(stage, static_cast<std::int64_t>(made), totals.bytes[stage]);
    time.own.time(stage, totals.timed_samples, totals.ns[stage], totals.squares_us2[stage]);
    if (totals.take_cpu) time.own.cpu(stage, totals.both_ns[stage], totals.cpu_ns[stage]);
  }
  tried.fetch_add(static_cast<std::int64_t>(made), std::memory_order_relaxed);
}

void Loader::State::finish(const Claim& claim, std::optional<Error> failure, std::size_t failure_index) {
  if (!ring->finish(claim, std::move(failure), failure_index)) return;
  Slot& slot = *claim.slot;
  if (auto failed = failure_of([&] { complete(slot); })) slot.failure = std::move(failed);
  ring->publish(&slot);
}

void Loader::State::work(int number) {
  WorkerTime time{counters.worker(number), number};
  if (plan.spec.execution.order == ExecutionOrder::kRelaxed)
    work_relaxed(time);
  else
    work_in_order(time);
}

void Loader::State::work_in_order(WorkerTime& time) {
  SampleProgram worker(plan, resources, {balance.get(), &decoded});
  std::optional<Order::Epoch> epoch;
  std::uint32_t epoch_number = 0;
  std::int64_t sample_ns = kClaimNs;  // a guess until the first claim is done: one sample
  std::uint64_t ran = 0;
  while (gate.enter(time.number)) {
    const auto claim = ring->claim(static_cast<std::size_t>(std::clamp<std::int64_t>(
        kClaimNs / std::max<std::int64_t>(sample_ns, 1), 1, static_cast<std::int64_t>(kMostPerClaim))));
    if (!claim) return;
    Slot& slot = *claim->slot;
    if (!epoch || epoch_number != slot.epoch) {
      epoch_number = slot.epoch;
      epoch.emplace(order.order(epoch_number), epoch_number);
      worker.enter(epoch_number);
    }
    std::optional<Error> failure;
    std::size_t failure_index = 0;
    StageTotals totals = totals_for(time, sample_ns);
    const SleepCount sleeps(totals);
    const std::int64_t start = steady_clock().now_ns();
    const std::size_t end = claim->first + claim->count;
    Sample next = epoch->sample(slot.batch, claim->first);
    for (std::size_t i = claim->first; i < end && !failure; ++i) {
      const Sample sample = next;
      if (i + 1 < end) {
        next = epoch->sample(slot.batch, i + 1);
        if (!claim->ahead) worker.announce(next.id);
      }
      const bool time_it = sample_ns > kAlwaysTimedNs || ran++ % kTimedEvery == 0;
      failure = failure_of([&] {
        const auto bring = [&] { return claim->ahead && take_ahead(worker, slot, i, totals, time_it); };
        write_sample(worker, make_sample(worker, sample, bring, totals, time_it), slot, i, totals, time_it);
      });
      if (failure) {
        failure_index = i;
        if (claim->ahead) drop_ahead(worker, slot, i + 1, end);
      }
    }
    const std::int64_t now = steady_clock().now_ns();
    sample_ns = (now - start) / static_cast<std::int64_t>(claim->count);
    sleeps.end(time, claim->count);
    count(time, claim->count, totals);
    finish(*claim, std::move(failure), failure_index);
    note_time(time, now);
    if (look_is_due(now)) look(now);
  }
}

// One sample at a time: those behind a straggler in the same claim would wait for it.
void Loader::State::work_relaxed(WorkerTime& time) {
  SampleProgram worker(plan, resources, {balance.get(), &decoded});
  std::optional<Order::Epoch> epoch;
  std::uint32_t epoch_number = 0;
  std::int64_t sample_ns = kClaimNs;
  std::uint64_t ran = 0;
  while (gate.enter(time.number)) {
    const bool time_it = sample_ns > kAlwaysTimedNs || ran++ % kTimedEvery == 0;
    StageTotals totals = totals_for(time, sample_ns);
    std::optional<ReadAhead::Ready> brought;
    std::uint64_t number = 0;
    if (ReadAhead* const reading = ahead()) {
      BringTime bring_time(totals, time_it);
      brought = reading->take_any(worker.record());
      if (!brought) return;
      number = brought->number;
      bring_time.end();
    } else {
      const auto claimed = ring->claim_number();
      if (!claimed) return;
      number = *claimed;
    }
    const SleepCount sleeps(totals);
    const std::int64_t start = steady_clock().now_ns();
    const RunOrder::EpochSample place = order.epoch_sample(number);
    if (!epoch || epoch_number != place.epoch) {
      epoch_number = place.epoch;
      epoch.emplace(order.order(epoch_number), epoch_number);
      worker.enter(epoch_number);
    }
    Made made;
    std::optional<Error> failure = failure_of([&] {
      const auto bring = [&] {
        if (brought && brought->failure) std::rethrow_exception(brought->failure);
        return brought && brought->is_read;
      };
      made = make_sample(worker, epoch->sample_at(place.sample), bring, totals, time_it);
    });
    const Claim claim = ring->place(number);
    if (!failure) failure = failure_of([&] { write_sample(worker, made, *claim.slot, claim.first, totals, time_it); });
    const std::int64_t now = steady_clock().now_ns();
    sample_ns = now - start;
    sleeps.end(time, 1);
    count(time, 1, totals);
    finish(claim, std::move(failure), claim.first);
    note_time(time, now);
    if (look_is_due(now)) look(now);
  }
}

}  // namespace unstarve
