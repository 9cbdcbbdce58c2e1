#include "unstarve/pipeline/executor/loader.h"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <system_error>
#include <utility>

#include "unstarve/core/topology.h"
#include "unstarve/pipeline/executor/loader_state.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {

namespace {

// How far samples may overtake others, in samples of this rank; 0: not at all.
std::uint64_t window(const Plan& plan) {
  const ExecutionSpec& execution = plan.spec.execution;
  if (execution.order == ExecutionOrder::kExact) return 0;
  const auto in_flight = static_cast<std::uint64_t>(plan.execution.prefetch) + 2;
  return std::max(kLeastWindow, in_flight * static_cast<std::uint64_t>(plan.spec.batch.size));
}

// How often a consumer that waits looks what for.
constexpr std::chrono::milliseconds kLookEvery{500};

// How soon after the start the autotuner looks first.
constexpr std::int64_t kFirstLookNs = 50'000'000;

// Whether there is something to tune.
bool looks(const Plan& plan) { return plan.execution.tuned || plan.execution.most_read_ahead > 0; }

int most_prefetch(const Plan& plan) {
  return plan.execution.tuned ? std::max(plan.execution.prefetch, autotune::Limits().max_prefetch) : 0;
}

// The time of one call of the consumer's; it goes with a batch where `slot` is one in the end.
class ConsumerCall {
 public:
  ConsumerCall(autotune::ConsumerClock& consumer, Clock& clock, Slot* const& slot)
      : consumer_(consumer), clock_(clock), slot_(slot) {
    consumer_.enter(clock_.now_ns());
  }
  ~ConsumerCall() { consumer_.leave(clock_.now_ns(), slot_ != nullptr); }
  ConsumerCall(const ConsumerCall&) = delete;
  ConsumerCall& operator=(const ConsumerCall&) = delete;

 private:
  autotune::ConsumerClock& consumer_;
  Clock& clock_;
  Slot* const& slot_;
};

}  // namespace

Loader::State::State(PlannedRun&& run, Device& device, const Options& options, Clock& the_clock, int the_cores)
    : plan(std::move(run.plan)),
      epoch_order(std::move(run.order)),
      resources(open_resources(plan, run.data)),
      clock(the_clock),
      storer(plan.output),
      order(epoch_order, options.start, options.epochs),
      balance(options.decode),
      ring(std::make_shared<SlotRing>(
          order,
          SlotRing::Options{storer.sample_bytes(plan.sample_size), batch_bytes(plan),
                            static_cast<std::size_t>(plan.spec.batch.size), plan.target_classes(), plan.padded(),
                            plan.execution.prefetch, plan.spec.execution.pinned && !device.is_host(), options.grow,
                            plan.memory.most_batches, resources.cache_budget, window(plan), most_prefetch(plan),
                            balance != nullptr},
          device)),
      tell(options.tell ? options.tell : emit_notice),
      epoch_ends(options.epoch_ends),
      cores(the_cores),
      counters({kStageNames.begin(), kStageNames.end()},
               plan.execution.tuned ? std::max(cores, autotune::Limits().max_threads) : plan.execution.threads),
      gate(plan.execution.threads),
      started_ns(clock.now_ns()),
      next_look_ns(looks(plan) ? steady_clock().now_ns() + kFirstLookNs : std::numeric_limits<std::int64_t>::max()),
      in_force{plan.execution.threads, plan.execution.prefetch, plan.execution.read_ahead} {
  if (balance) balance->set_host_threads(plan.execution.threads);
  if (const int reads = plan.execution.read_ahead; reads > 0) {
    if (plan.spec.execution.order == ExecutionOrder::kRelaxed) {
      start_read_ahead(reads, 0);
      ring->start([this](std::uint64_t before) { ahead()->allow(before); });
    } else {
      (void)ring->begin_ahead([&](std::uint64_t first) {
        start_read_ahead(reads, first);
        return true;
      });
    }
  }
  try {
    start_threads(plan.execution.threads);
  } catch (const std::system_error& error) {
    close();  // those that run wait, and are joined before the rest of this goes
    throw Error(ErrorKind::kMemory, std::string("start a loader thread: ") + error.what());
  }
}

Loader::State& Loader::State::here() {
  if (forked())
    throw Error(
        ErrorKind::kArgument,
        fmt::format(
            "the loader was started in process {}; its threads do not exist in process {}, a fork of it. Create a "
            "loader there, or start processes by spawn.",
            process, ::getpid()));
  return *this;
}

void Loader::State::look_at_held() {
  const std::size_t held = ring->all_held();
  if (!held_watch.look(held > 0, clock.now_ns())) return;
  const double batch = static_cast<double>(plan.memory.batch) / 1e6;
  const std::uint64_t in_cache =
      resources.cache_budget ? resources.cache_budget->size() - resources.cache_budget->left() - ring->borrowed_bytes()
                             : 0;
  const std::string cached =
      in_cache > 0 ? fmt::format(" and {:.1f} MB in the cache", static_cast<double>(in_cache) / 1e6) : "";
  tell(fmt::format(
      "the consumer still holds all {} batch buffers of {:.1f} MB that execution.memory_limit_mb: {} permits{}; the "
      "next "
      "batch is made when it releases one. Hold fewer, copy the batches that you keep, or raise the limit by {:.1f} MB "
      "per batch.",
      held, batch, plan.memory.limit / 1'000'000, cached, batch));
}

bool Loader::State::ready(std::chrono::milliseconds most) {
  while (ring->wait(most))
    if (!leave_out()) return true;
  look_at_held();
  return false;
}

bool Loader::State::leave_out() {
  const Slot* next = ring->peek();
  if (!next || next->failure || next->kept > 0) return false;
  if (failure_of_empty(*next) || (epoch_ends && ring->last_of_epoch(*next))) return false;
  ring->release(ring->take());
  ++left_out;
  return true;
}

std::optional<Error> Loader::State::failure_of_empty(const Slot& slot) const {
  const std::uint64_t world = epoch_order.world();
  const bool whole_epoch = ring->last_of_epoch(slot) && left_out + 1 >= epoch_order.batches_per_epoch();
  if (world == 1 && !whole_epoch) return {};
  const std::string reason = [&] {
    std::lock_guard lock(bad_mutex);
    const auto first = bad.find(slot.ids.front());
    return first == bad.end() ? resources.dataset->location(slot.ids.front()) : first->second;
  }();
  if (world == 1)
    return Error(ErrorKind::kInput, fmt::format("every sample of epoch {} is bad, and errors: skip leaves none; "
                                                "the first of its last batch: {}",
                                                slot.epoch, reason));
  return Error(
      ErrorKind::kInput,
      fmt::format(
          "every sample of epoch {} batch {} is bad; expected at least one good sample, because each of {} ranks "
          "must have equally many batches. Use errors: replace, or larger batches. The first: {}",
          slot.epoch, slot.batch, world, reason));
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
  sizes_ = std::exchange(other.sizes_, {});
  files_ = std::exchange(other.files_, {});
  valid_ = other.valid_;
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
    : state_([&] {
        const int cores = read_topology().usable();
        options.on_device.decodes = options.decode != nullptr;
        return std::make_unique<State>(
            plan_run(std::move(spec), std::move(dataset),
                     {cores, options.consumer, options.epochs, options.grow, options.on_device}, options.basis),
            device, options, clock, cores);
      }()) {}

Loader::~Loader() {
  // Joining threads that are not there would never end.
  if (state_ && state_->forked()) (void)state_.release();
}

std::optional<Batch> Loader::next() {
  State& s = state_->here();
  Slot* slot = nullptr;
  {
    const ConsumerCall call(s.consumer, s.clock, slot);
    while (!s.ready(kLookEvery)) {
    }
    slot = s.ring->take();
  }
  s.held_watch.reset();
  if (!slot) return {};

  Batch batch;
  batch.ring_ = s.ring;
  batch.slot_ = slot;
  if (slot->failure) {
    close();
    throw Error(*slot->failure);
  }
  const std::size_t samples = slot->kept;
  if (samples == 0) {
    if (const auto failure = s.failure_of_empty(*slot)) throw Error(*failure);
  }
  s.left_out = samples == 0 ? s.left_out + 1 : 0;
  batch.pixels_ = slot->memory->data();
  batch.pixel_bytes_ = samples * s.storer.sample_bytes(slot->size);
  batch.labels_ = {slot->labels.data(), samples};
  batch.ids_ = {slot->ids.data(), samples};
  batch.classes_ = s.plan.target_classes();
  batch.targets_ = {slot->targets.data(), samples * s.plan.target_classes()};
  batch.size_ = slot->size;
  batch.valid_ = slot->valid;
  if (s.balance) batch.files_ = {slot->files.data(), samples};
  if (s.plan.padded()) batch.sizes_ = {slot->sizes.data(), samples};
  batch.epoch_ = slot->epoch;
  batch.index_ = slot->batch;
  batch.last_ = s.ring->last_of_epoch(*slot);
  batch.pinned_ = slot->memory->pinned();
  s.batches.fetch_add(1, std::memory_order_relaxed);
  s.samples.fetch_add(static_cast<std::int64_t>(slot->valid), std::memory_order_relaxed);
  return batch;
}

bool Loader::wait(std::chrono::milliseconds most) {
  State& s = state_->here();
  Slot* const none = nullptr;
  const ConsumerCall call(s.consumer, s.clock, none);
  return s.ready(most);
}

RankProgress Loader::progress() const { return state_->here().ring->progress(); }

void Loader::close() {
  if (!state_->forked()) state_->close();
}

std::uint64_t Loader::batches_per_epoch() const { return state_->epoch_order.batches_per_epoch(); }
Size Loader::sample_size() const { return state_->plan.sample_size; }
std::size_t Loader::memory_bytes() const {
  const State& s = state_->here();
  return s.ring->memory_bytes() + (s.ahead() != nullptr ? s.ahead()->memory_bytes() : 0);
}
std::vector<MemoryShare> Loader::memory() const {
  const State& s = state_->here();
  const MemoryPlan& plan = s.plan.memory;
  const std::uint64_t borrowed = s.ring->borrowed_bytes();
  std::vector<MemoryShare> shares{{s.ring->pinned() ? "batches, page-locked" : "batches", s.ring->memory_bytes(),
                                   plan.most_batches * plan.batch + borrowed}};
  if (plan.limit > 0) {
    const std::uint64_t workers = static_cast<std::uint64_t>(s.gate.open()) * plan.worker;
    shares.push_back({"workers", workers, workers});
    shares.push_back({"larger images", s.resources.larger_images->borrowed(), plan.larger_images});
  }
  if (plan.device > 0) shares.push_back({"on the device", plan.device, plan.limit > 0 ? plan.device : 0});
  if (const ReadAhead* const reading = s.ahead())
    shares.push_back({"records read ahead", reading->memory_bytes(), plan.read_ahead});
  std::optional<CacheCounts> cache;
  if (s.resources.encoded_cache) cache = s.resources.encoded_cache->counts();
  if (s.resources.pixel_cache) cache = s.resources.pixel_cache->counts();
  if (cache && s.plan.spec.cache.folder.empty()) {
    // Within a limit its part, but for what batches have of it.
    const std::uint64_t most = plan.limit > 0 ? std::min(cache->limit, plan.cache) - borrowed : cache->limit;
    shares.push_back({"cache", cache->bytes, most});
  } else if (cache) {
    shares.push_back({"cache, in a file", cache->bytes, cache->limit});
  }
  return shares;
}

bool Loader::forked() const { return state_->forked(); }
int Loader::threads() const { return state_->gate.open(); }
const Plan& Loader::plan() const { return state_->plan; }
const Resources& Loader::resources() const { return state_->resources; }
const Order& Loader::order() const { return state_->epoch_order; }

Profile Loader::profile() const {
  State& s = state_->here();
  const std::lock_guard lock(s.tuning_mutex);
  Profile profile = s.measured();
  if (s.controller) profile.tuning = s.controller->log();
  return profile;
}

std::string Loader::explain() const {
  const Resources& resources = state_->resources;
  std::string text = unstarve::explain(state_->plan, *resources.samples, state_->epoch_order);
  if (forked()) return text;
  for (const std::string& note : resources.notes) text += "resources   " + note + "\n";
  text += state_->decoded.explain();
  if (const auto& index = state_->resources.scan_index) {
    const ScanIndexCounts counts = index->counts();
    text += fmt::format(
        "index       {} crops decoded by it, {} added, {} found wrong{}\n", counts.used, counts.made, counts.wrong,
        counts.other_version == 0 ? ""
                                  : fmt::format(", {} of another version of unstarve{}", counts.other_version,
                                                index->writable() ? " and rebuilt" : ", not used"));
    if (!index->note().empty()) text += "index       " + index->note() + "\n";
  }
  if (const auto& cache = state_->resources.pixel_cache; cache && !cache->note().empty())
    text += "cache       " + cache->note() + "\n";
  for (const TuningStep& step : profile().tuning)
    text += fmt::format("tuned       at {:.2f} s: {} threads, {} batches prefetched, {} reads in flight; {}\n",
                        step.seconds, step.threads, step.prefetch, step.read_ahead, step.reason);
  return text;
}

std::vector<BadSample> Loader::bad_samples(std::size_t most) const {
  std::lock_guard lock(state_->here().bad_mutex);
  std::vector<BadSample> list;
  for (const auto& [id, reason] : state_->bad) {
    if (list.size() == most) break;
    list.push_back({id, state_->resources.dataset->record_location(id), reason});
  }
  return list;
}

std::uint64_t Loader::bad_count() const {
  std::lock_guard lock(state_->here().bad_mutex);
  return state_->bad.size();
}

}  // namespace unstarve
