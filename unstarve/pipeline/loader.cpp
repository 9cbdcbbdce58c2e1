#include "unstarve/pipeline/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "unstarve/core/counters.h"
#include "unstarve/core/topology.h"
#include "unstarve/pipeline/plan.h"
#include "unstarve/pipeline/read_ahead.h"
#include "unstarve/pipeline/sample_worker.h"
#include "unstarve/pipeline/slot_ring.h"

namespace unstarve {
namespace {

// A claim should last about this long: far above the cost of a critical section (about 100 ns), far below a batch.
constexpr std::int64_t kClaimNs = 50'000;
constexpr std::size_t kMostPerClaim = 64;
// Samples slower than this are timed one by one; of faster ones every kTimedEvery-th, since five clock reads (some
// 25 ns each) would show.
constexpr std::int64_t kAlwaysTimedNs = 20'000;
constexpr std::uint64_t kTimedEvery = 32;

// Closes the gaps that skipped samples left; returns how many samples remain.
std::size_t compact(Slot& slot, std::size_t sample_bytes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slot.samples; ++i) {
    if (!slot.good[i]) continue;
    if (kept != i) {
      std::memcpy(slot.memory->data() + kept * sample_bytes, slot.memory->data() + i * sample_bytes, sample_bytes);
      slot.labels[kept] = slot.labels[i];
      slot.ids[kept] = slot.ids[i];
    }
    ++kept;
  }
  return kept;
}

}  // namespace

struct Loader::State {
  State(Plan the_plan, Device& device, const Options& options, Clock& the_clock)
      : plan(std::move(the_plan)),
        clock(the_clock),
        storer(plan.spec.output),
        order(plan.order, options.start, options.epochs),
        ring(std::make_shared<SlotRing>(
            order,
            SlotRing::Options{storer.sample_bytes(plan.sample_size), static_cast<std::size_t>(plan.spec.batch.size),
                              plan.classes, plan.spec.execution.prefetch,
                              plan.spec.execution.pinned && !device.is_host(), options.grow},
            device)),
        read_ahead(start_read_ahead()),
        counters({kStageNames.begin(), kStageNames.end()}, plan.spec.execution.threads),
        started_ns(clock.now_ns()) {
    try {
      for (int i = 0; i < plan.spec.execution.threads; ++i)
        threads.emplace_back([this, i] { work(counters.worker(i)); });
    } catch (const std::system_error& error) {
      close();  // those that run wait, and are joined before the rest of this goes
      throw Error(ErrorKind::kMemory, std::string("start a loader thread: ") + error.what());
    }
  }

  ~State() {
    close();
    threads.clear();  // joins
  }

  void close() {
    ring->close();
    if (read_ahead) read_ahead->close();
  }

  std::unique_ptr<ReadAhead> start_read_ahead() const;

  void work(StageCounters::Worker& own);
  void run_sample(SampleWorker& worker, Slot& slot, std::size_t index, std::uint64_t id, StageTotals& totals,
                  bool timed);
  // The sample's record by the read-ahead; false where it has none.
  bool take_ahead(SampleWorker& worker, const Slot& slot, std::size_t index, StageTotals& totals, bool timed);
  // Takes records that nobody wants any more, so that the read-ahead can go on to those behind them.
  void drop_ahead(SampleWorker& worker, const Slot& slot, std::size_t begin, std::size_t end);
  void note_bad(std::uint64_t id, const std::string& reason);
  void complete(Slot& slot);

  Plan plan;
  Clock& clock;
  Storer storer;
  RunOrder order;
  std::shared_ptr<SlotRing> ring;
  std::unique_ptr<ReadAhead> read_ahead;  // null: the workers read
  StageCounters counters;

  mutable std::mutex bad_mutex;
  std::map<std::uint64_t, std::string> bad;  // id to reason; at most errors.limit + 1

  std::int64_t started_ns;
  std::atomic<std::int64_t> tried{0};  // samples read, good or bad
  std::atomic<std::int64_t> batches{0};
  std::atomic<std::int64_t> samples{0};
  std::atomic<std::int64_t> waited_ns{0};
  std::vector<std::jthread> threads;  // last: joined before what they use goes away
};

// What is done once all samples of a batch are there, by the thread that did the last of them.
void Loader::State::complete(Slot& slot) {
  const std::size_t sample_bytes = storer.sample_bytes(plan.sample_size);
  slot.kept = plan.spec.errors.policy == OnError::kSkip ? compact(slot, sample_bytes) : slot.samples;
  if (plan.batch_operations.empty() || slot.failure || slot.kept == 0) return;
  for (std::size_t i = 0; i < slot.kept; ++i) {
    if (slot.labels[i] >= 0 && slot.labels[i] < static_cast<std::int64_t>(plan.classes)) continue;
    slot.failure =
        Error(ErrorKind::kInput, fmt::format("{}: label {}, expected 0 to {} for the batch operations",
                                             plan.dataset->location(slot.ids[i]), slot.labels[i], plan.classes - 1));
    return;
  }
  const std::span targets(slot.targets.data(), slot.kept * plan.classes);
  write_one_hot({slot.labels.data(), slot.kept}, plan.classes, targets);
  const BatchPixels pixels{slot.memory->data(),     slot.kept, plan.sample_size, plan.spec.output.type,
                           plan.spec.output.layout, targets,   plan.classes};
  const std::uint64_t place = order.order(slot.epoch).place(slot.batch);
  for (std::size_t i = 0; i < plan.batch_operations.size(); ++i) {
    // Streams of the samples' operations count from 0.
    Random random(plan.spec.order.seed, slot.epoch, place, 0x8000'0000U + static_cast<std::uint32_t>(i));
    plan.batch_operations[i]->apply(pixels, random);
  }
}

std::unique_ptr<ReadAhead> Loader::State::start_read_ahead() const {
  if (plan.spec.execution.read_ahead == 0) return nullptr;
  ReadAhead::Spare spare;
  if (plan.pixel_cache) spare = [this](std::uint64_t id) { return plan.pixel_cache->find(id).has_value(); };
  return std::make_unique<ReadAhead>(plan.dataset, order,
                                     ReadAhead::Options{plan.spec.execution.read_ahead, kReadAheadBytes}, spare);
}

bool Loader::State::take_ahead(SampleWorker& worker, const Slot& slot, std::size_t index, StageTotals& totals,
                               bool timed) {
  if (!read_ahead) return false;
  const std::int64_t start = timed ? steady_clock().now_ns() : 0;
  const bool is_read = read_ahead->take(slot.epoch, slot.batch, index, worker.record());
  if (timed) totals.ns[static_cast<std::size_t>(Stage::kRead)] += steady_clock().now_ns() - start;
  return is_read;
}

void Loader::State::drop_ahead(SampleWorker& worker, const Slot& slot, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    try {
      (void)read_ahead->take(slot.epoch, slot.batch, i, worker.record());
    } catch (const std::exception&) {
      continue;  // the batch has failed by a sample before this one
    }
  }
}

// Remembers a bad sample; throws when there are more than the limit allows.
void Loader::State::note_bad(std::uint64_t id, const std::string& reason) {
  std::lock_guard lock(bad_mutex);
  bad.emplace(id, reason);
  if (bad.size() > plan.spec.errors.limit)
    throw Error(ErrorKind::kInput, fmt::format("{} bad samples, more than the limit of {}; the latest: {}", bad.size(),
                                               plan.spec.errors.limit, reason));
  const std::int64_t read = tried.load(std::memory_order_relaxed);
  if (read >= static_cast<std::int64_t>(kRateProbation) &&
      static_cast<double>(bad.size()) > plan.spec.errors.rate * static_cast<double>(read))
    throw Error(ErrorKind::kInput,
                fmt::format("{} bad samples among {}, more than the limit of {:.3g} %; the latest: {}", bad.size(),
                            read, 100 * plan.spec.errors.rate, reason));
}

// One sample under the error policy. Throws when the run is to fail by it.
void Loader::State::run_sample(SampleWorker& worker, Slot& slot, std::size_t index, std::uint64_t id,
                               StageTotals& totals, bool timed) {
  std::uint8_t* pixels = slot.memory->data() + index * worker.sample_bytes();
  const std::uint64_t total = plan.dataset->size();
  for (std::uint64_t candidate = id, attempts = 0;; candidate = (candidate + 1) % total) {
    slot.ids[index] = candidate;
    try {
      const bool is_read = attempts == 0 && take_ahead(worker, slot, index, totals, timed);
      slot.labels[index] = worker.run(candidate, slot.epoch, pixels, totals, timed, is_read);
      return;
    } catch (const Error& error) {
      if (plan.spec.errors.policy == OnError::kFail) throw;
      note_bad(candidate, error.what());
    }
    if (plan.spec.errors.policy == OnError::kSkip) {
      slot.good[index] = 0;
      return;
    }
    if (++attempts == total) throw Error(ErrorKind::kInput, "no sample of the data set can be read");
  }
}

void Loader::State::work(StageCounters::Worker& own) {
  SampleWorker worker(plan);
  std::optional<Order::Epoch> epoch;
  std::uint32_t epoch_number = 0;
  std::int64_t sample_ns = kClaimNs;  // a guess until the first claim is done: one sample
  std::uint64_t ran = 0;
  while (const auto claim = ring->claim(static_cast<std::size_t>(std::clamp<std::int64_t>(
             kClaimNs / std::max<std::int64_t>(sample_ns, 1), 1, static_cast<std::int64_t>(kMostPerClaim))))) {
    Slot& slot = *claim->slot;
    if (!epoch || epoch_number != slot.epoch) {
      epoch_number = slot.epoch;
      epoch.emplace(order.order(epoch_number), epoch_number);
    }
    std::optional<Error> failure;
    std::size_t failure_index = 0;
    StageTotals totals;
    const std::int64_t start = steady_clock().now_ns();
    const std::size_t end = claim->first + claim->count;
    std::uint64_t next_id = epoch->id(slot.batch, claim->first);
    for (std::size_t i = claim->first; i < end && !failure; ++i) {
      const std::uint64_t id = next_id;
      if (i + 1 < end) {
        next_id = epoch->id(slot.batch, i + 1);
        if (!read_ahead) worker.will_run(next_id);
      }
      const bool time_it = sample_ns > kAlwaysTimedNs || ran++ % kTimedEvery == 0;
      try {
        run_sample(worker, slot, i, id, totals, time_it);
      } catch (const Error& error) {
        failure = error;
      } catch (const std::bad_alloc&) {
        failure = Error(ErrorKind::kMemory, "out of memory in a loader thread");
      } catch (const std::exception& error) {
        failure = Error(ErrorKind::kInternal, error.what());
      }
      if (failure) {
        failure_index = i;
        if (read_ahead) drop_ahead(worker, slot, i + 1, end);
      }
    }
    sample_ns = (steady_clock().now_ns() - start) / static_cast<std::int64_t>(claim->count);
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      own.count(stage, static_cast<std::int64_t>(claim->count), totals.bytes[stage]);
      own.time(stage, totals.timed_samples, totals.ns[stage]);
    }
    tried.fetch_add(static_cast<std::int64_t>(claim->count), std::memory_order_relaxed);
    if (ring->finish(*claim, std::move(failure), failure_index)) {
      try {
        complete(slot);
      } catch (const Error& error) {
        slot.failure = error;
      } catch (const std::bad_alloc&) {
        slot.failure = Error(ErrorKind::kMemory, "out of memory in the batch operations");
      }
      ring->publish(&slot);
    }
  }
}

Batch::Batch(Batch&& other) noexcept { *this = std::move(other); }

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (ring_) ring_->release(slot_);
  pixels_ = std::exchange(other.pixels_, nullptr);
  pixel_bytes_ = std::exchange(other.pixel_bytes_, 0);
  labels_ = std::exchange(other.labels_, {});
  ids_ = std::exchange(other.ids_, {});
  targets_ = std::exchange(other.targets_, {});
  classes_ = other.classes_;
  size_ = other.size_;
  epoch_ = other.epoch_;
  index_ = other.index_;
  last_ = other.last_;
  pinned_ = other.pinned_;
  ring_ = std::move(other.ring_);
  slot_ = std::exchange(other.slot_, nullptr);
  return *this;
}

Batch::~Batch() {
  if (ring_) ring_->release(slot_);
}

Loader::Loader(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, Device& device, Options options, Clock& clock)
    : state_(std::make_unique<State>(make_plan(std::move(spec), std::move(dataset), read_topology().usable()), device,
                                     options, clock)) {}

Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  State& s = *state_;
  const std::int64_t start = s.clock.now_ns();
  Slot* slot = s.ring->take();
  s.waited_ns.fetch_add(s.clock.now_ns() - start, std::memory_order_relaxed);
  if (!slot) return {};

  Batch batch;
  batch.ring_ = s.ring;
  batch.slot_ = slot;
  if (slot->failure) {
    close();
    throw Error(*slot->failure);
  }
  const std::size_t sample_bytes = s.storer.sample_bytes(s.plan.sample_size);
  const std::size_t samples = slot->kept;
  if (samples == 0)
    throw Error(ErrorKind::kInput, fmt::format("every sample of epoch {} batch {} is bad", slot->epoch, slot->batch));
  batch.pixels_ = slot->memory->data();
  batch.pixel_bytes_ = samples * sample_bytes;
  batch.labels_ = {slot->labels.data(), samples};
  batch.ids_ = {slot->ids.data(), samples};
  batch.classes_ = s.plan.classes;
  batch.targets_ = {slot->targets.data(), samples * s.plan.classes};
  batch.size_ = s.plan.sample_size;
  batch.epoch_ = slot->epoch;
  batch.index_ = slot->batch;
  batch.last_ = s.ring->last_of_epoch(*slot);
  batch.pinned_ = slot->memory->pinned();
  s.batches.fetch_add(1, std::memory_order_relaxed);
  s.samples.fetch_add(static_cast<std::int64_t>(samples), std::memory_order_relaxed);
  return batch;
}

bool Loader::wait(std::chrono::milliseconds most) {
  State& s = *state_;
  const std::int64_t start = s.clock.now_ns();
  const bool ready = s.ring->wait(most);
  s.waited_ns.fetch_add(s.clock.now_ns() - start, std::memory_order_relaxed);
  return ready;
}

void Loader::close() { state_->close(); }

std::uint64_t Loader::batches_per_epoch() const { return state_->plan.order.batches_per_epoch(); }
Size Loader::sample_size() const { return state_->plan.sample_size; }
std::size_t Loader::memory_bytes() const {
  return state_->ring->memory_bytes() + (state_->read_ahead ? state_->read_ahead->memory_bytes() : 0);
}
int Loader::threads() const { return state_->plan.spec.execution.threads; }
const Plan& Loader::plan() const { return state_->plan; }

Profile Loader::profile() const {
  const State& s = *state_;
  Profile profile;
  profile.wall_ns = s.clock.now_ns() - s.started_ns;
  profile.samples = s.samples.load(std::memory_order_relaxed);
  profile.batches = s.batches.load(std::memory_order_relaxed);
  profile.loader_threads = s.plan.spec.execution.threads;
  profile.prefetch_batches = s.plan.spec.execution.prefetch;
  profile.stages = s.counters.sum();
  profile.stages.push_back({"wait", profile.samples, s.waited_ns.load(std::memory_order_relaxed), 0});
  return profile;
}

std::vector<BadSample> Loader::bad_samples(std::size_t most) const {
  std::lock_guard lock(state_->bad_mutex);
  std::vector<BadSample> list;
  for (const auto& [id, reason] : state_->bad) {
    if (list.size() == most) break;
    list.push_back({id, state_->plan.dataset->location(id), reason});
  }
  return list;
}

std::uint64_t Loader::bad_count() const {
  std::lock_guard lock(state_->bad_mutex);
  return state_->bad.size();
}

}  // namespace unstarve
