#include "unstarve/pipeline/loader.h"

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <utility>

#include "unstarve/core/topology.h"
#include "unstarve/pipeline/loader_state.h"

namespace unstarve {

namespace {

// How far samples may overtake others, in samples of this rank; 0: not at all.
std::uint64_t window(const Plan& plan) {
  const ExecutionSpec& execution = plan.spec.execution;
  if (execution.order == ExecutionOrder::kExact) return 0;
  const auto in_flight = static_cast<std::uint64_t>(execution.prefetch) + 2;
  return std::max(kLeastWindow, in_flight * static_cast<std::uint64_t>(plan.spec.batch.size));
}

}  // namespace

Loader::State::State(Plan the_plan, Device& device, const Options& options, Clock& the_clock)
    : plan(std::move(the_plan)),
      clock(the_clock),
      storer(plan.spec.output),
      order(plan.order, options.start, options.epochs),
      ring(std::make_shared<SlotRing>(
          order,
          SlotRing::Options{storer.sample_bytes(plan.sample_size), batch_bytes(plan),
                            static_cast<std::size_t>(plan.spec.batch.size), plan.classes, plan.spec.execution.prefetch,
                            plan.spec.execution.pinned && !device.is_host(), options.grow, plan.memory.most_batches,
                            window(plan)},
          device)),
      read_ahead(start_read_ahead()),
      counters({kStageNames.begin(), kStageNames.end()}, plan.spec.execution.threads),
      started_ns(clock.now_ns()) {
  if (read_ahead && plan.spec.execution.order == ExecutionOrder::kRelaxed)
    ring->start([this](std::uint64_t before) { read_ahead->allow(before); });
  try {
    for (int i = 0; i < plan.spec.execution.threads; ++i) threads.emplace_back([this, i] { work(counters.worker(i)); });
  } catch (const std::system_error& error) {
    close();  // those that run wait, and are joined before the rest of this goes
    throw Error(ErrorKind::kMemory, std::string("start a loader thread: ") + error.what());
  }
}

Loader::State& Loader::State::here() {
  if (forked())
    throw Error(
        ErrorKind::kArgument,
        fmt::format("the loader was started in process {}, and its threads did not come along into process {}, a "
                    "fork of it: make a loader there, or start processes by spawn",
                    process, ::getpid()));
  return *this;
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

Loader::~Loader() {
  // Joining threads that are not there would never end.
  if (state_ && state_->forked()) (void)state_.release();
}

std::optional<Batch> Loader::next() {
  State& s = state_->here();
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
  State& s = state_->here();
  const std::int64_t start = s.clock.now_ns();
  const bool ready = s.ring->wait(most);
  s.waited_ns.fetch_add(s.clock.now_ns() - start, std::memory_order_relaxed);
  return ready;
}

RankProgress Loader::progress() const { return state_->here().ring->progress(); }

void Loader::close() {
  if (!state_->forked()) state_->close();
}

std::uint64_t Loader::batches_per_epoch() const { return state_->plan.order.batches_per_epoch(); }
Size Loader::sample_size() const { return state_->plan.sample_size; }
std::size_t Loader::memory_bytes() const {
  return state_->here().ring->memory_bytes() + (state_->read_ahead ? state_->read_ahead->memory_bytes() : 0);
}
std::vector<MemoryShare> Loader::memory() const {
  const State& s = state_->here();
  const MemoryPlan& plan = s.plan.memory;
  std::vector<MemoryShare> shares{
      {s.ring->pinned() ? "batches, page-locked" : "batches", s.ring->memory_bytes(), plan.most_batches * plan.batch}};
  if (plan.limit > 0) {
    const std::uint64_t workers = static_cast<std::uint64_t>(s.plan.spec.execution.threads) * plan.worker;
    shares.push_back({"workers", workers, workers});
    shares.push_back({"larger images", s.plan.larger_images->borrowed(), plan.larger_images});
  }
  if (s.read_ahead) shares.push_back({"records read ahead", s.read_ahead->memory_bytes(), plan.read_ahead});
  std::optional<CacheCounts> cache;
  if (s.plan.encoded_cache) cache = s.plan.encoded_cache->counts();
  if (s.plan.pixel_cache) cache = s.plan.pixel_cache->counts();
  if (cache)
    shares.push_back({s.plan.spec.cache.folder.empty() ? "cache" : "cache, in a file", cache->bytes, cache->limit});
  return shares;
}

bool Loader::forked() const { return state_->forked(); }
int Loader::threads() const { return state_->plan.spec.execution.threads; }
const Plan& Loader::plan() const { return state_->plan; }

Profile Loader::profile() const {
  const State& s = state_->here();
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
  std::lock_guard lock(state_->here().bad_mutex);
  std::vector<BadSample> list;
  for (const auto& [id, reason] : state_->bad) {
    if (list.size() == most) break;
    list.push_back({id, state_->plan.dataset->location(id), reason});
  }
  return list;
}

std::uint64_t Loader::bad_count() const {
  std::lock_guard lock(state_->here().bad_mutex);
  return state_->bad.size();
}

}  // namespace unstarve
