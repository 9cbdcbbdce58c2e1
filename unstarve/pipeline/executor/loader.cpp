#include "unstarve/pipeline/executor/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "unstarve/core/format_error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/pipeline/delivery/exact_delivery.h"
#include "unstarve/pipeline/delivery/relaxed_delivery.h"
#include "unstarve/pipeline/executor/error_policy.h"
#include "unstarve/pipeline/executor/executor.h"
#include "unstarve/pipeline/executor/held_watch.h"
#include "unstarve/pipeline/executor/run.h"
#include "unstarve/pipeline/executor/run_tuner.h"
#include "unstarve/pipeline/order/check_data.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/pipeline/read_ahead/read_ahead.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {

namespace {

// How often a waiting consumer checks whether it holds every batch slot itself.
constexpr std::chrono::milliseconds kCheckEvery{500};

SlotLayout slot_layout(const Run& run, const Device& device) {
  const Plan& plan = run.plan;
  SlotLayout layout;
  layout.samples = static_cast<std::size_t>(plan.spec.batch.size);
  layout.sample_bytes = run.storer.sample_bytes(plan.sample_size());
  layout.slot_bytes = batch_bytes(plan);
  layout.classes = plan.target_classes();
  layout.padded = plan.padded();
  layout.files = run.decode_balance != nullptr;
  layout.numbered = run.relaxed();
  layout.pinned = plan.spec.execution.pinned && !device.is_host();
  return layout;
}

std::shared_ptr<Delivery> make_delivery(const Run& run, Device& device, bool grow) {
  const int prefetch = run.execution.prefetch;
  SlotLimits limits{prefetch, 0, grow, run.execution.memory.max_batches, run.resources.cache_budget};
  if (run.execution.tuned) limits.max_prefetch = std::max(prefetch, autotune::Limits().max_prefetch);
  const SlotLayout layout = slot_layout(run, device);
  if (!run.relaxed()) return std::make_shared<ExactDelivery>(run.run_order, layout, limits, device);
  const std::uint64_t open_samples = (static_cast<std::uint64_t>(prefetch) + 2) * layout.samples;
  return std::make_shared<RelaxedDelivery>(run.run_order, layout, limits, std::max(kLeastWindow, open_samples), device);
}

// Measures a call of the consumer.
class ConsumerCall {
 public:
  ConsumerCall(autotune::ConsumerClock& consumer, Clock& clock) : consumer_(consumer), clock_(clock) {
    consumer_.enter(clock_.now_ns());
  }
  ~ConsumerCall() { consumer_.leave(clock_.now_ns(), with_batch_); }
  ConsumerCall(const ConsumerCall&) = delete;
  ConsumerCall& operator=(const ConsumerCall&) = delete;
  void set_with_batch(bool with_batch) { with_batch_ = with_batch; }

 private:
  autotune::ConsumerClock& consumer_;
  Clock& clock_;
  bool with_batch_ = false;
};

}  // namespace

// The parts of a loader:
//
//   run        the program of a sample, the order of samples, the opened data; constant
//   delivery   batch slots, on their way between workers and consumer
//   executor   threads that execute run_worker() (worker.cpp)
//   errors     what happens to samples that cannot be made
//   tuner      changes the number of threads and of prefetched batches during the run
struct Loader::State {
  State(PlannedRun&& planned, const RunOptions& run_options, Device& device, const Options& options, Clock& clock)
      : run(std::move(planned), run_options, options.start, options.decode, clock),
        errors(run.plan.spec.errors, run.resources, run.epoch_order, options.epoch_ends, options.uneven),
        delivery(make_delivery(run, device, options.grow)),
        on_notice(options.on_notice ? options.on_notice : emit_notice),
        tuner(run, executor, consumption),  // keeps a reference to the executor, which is constructed last
        executor(run, errors, delivery, tuner.periodic()) {
    executor.start();
  }

  [[nodiscard]] bool forked() const { return ::getpid() != process; }
  // This state. Throws Error(kArgument) in a fork of the process that has the threads.
  State& checked();
  // Waits up to `timeout` for the next batch that is delivered, and releases those that the error policy leaves out.
  [[nodiscard]] bool await_batch(std::chrono::milliseconds timeout);
  void notify_if_all_held();

  const pid_t process = ::getpid();
  const Run run;
  ErrorPolicy errors;
  const std::shared_ptr<Delivery> delivery;
  const std::function<void(const std::string&)> on_notice;
  HeldWatch held_watch{kHeldPatienceNs};
  Consumption consumption;
  RunTuner tuner;
  Executor executor;  // last: its threads use all of the above
};

Loader::State& Loader::State::checked() {
  if (forked())
    throw argument_error(
        "the loader was started in process {}; its threads do not exist in process {}, a fork of it. Create a loader "
        "there, or start processes by spawn.",
        process, ::getpid());
  return *this;
}

void Loader::State::notify_if_all_held() {
  const std::size_t held = delivery->all_held();
  if (!held_watch.check(held > 0, run.clock.now_ns())) return;
  const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  const MemoryPlan& memory = run.execution.memory;
  const auto& budget = run.resources.cache_budget;
  const std::uint64_t in_cache = budget ? budget->size() - budget->left() - delivery->borrowed_bytes() : 0;
  const std::string cached = in_cache > 0 ? fmt::format(" and {:.1f} MB in the cache", megabytes(in_cache)) : "";
  on_notice(fmt::format(
      "the consumer still holds all {} batch buffers of {:.1f} MB that execution.memory_limit_mb: {} permits{}; the "
      "next batch is made when it releases one. Hold fewer, copy the batches that you keep, or raise the limit by "
      "{:.1f} MB per batch.",
      held, megabytes(memory.batch), memory.limit / 1'000'000, cached, megabytes(memory.batch)));
}

bool Loader::State::await_batch(std::chrono::milliseconds timeout) {
  while (delivery->wait(timeout)) {
    const Slot* const next = delivery->peek();
    if (next == nullptr || !errors.leaves_out(*next)) return true;
    errors.note_batch(next->batch.epoch, true);
    Slot* const bad = delivery->take();
    if (bad == nullptr) return true;  // closed meanwhile
    delivery->release(*bad);
  }
  notify_if_all_held();
  return false;
}

Loader::Loader(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, Device& device, Options options,
               Clock& clock) {
  options.on_device.decodes = options.decode != nullptr;
  const RunOptions run_options{read_topology().usable(), options.consumer, options.epochs, options.grow,
                               options.on_device};
  // The program (plan/step.h), made by the passes, the order of the samples, and the number of threads and slots.
  PlannedRun planned = plan_run(std::move(spec), std::move(dataset), run_options, options.basis);
  if (options.check_data) unstarve::check_data(planned.plan.spec, *planned.data.dataset, *planned.data.samples);
  state_ = std::make_unique<State>(std::move(planned), run_options, device, options, clock);
}

Loader::~Loader() {
  // In a fork, joining threads that do not exist would never end.
  if (state_ && state_->forked()) (void)state_.release();
}

std::optional<Batch> Loader::next() {
  State& s = state_->checked();
  Slot* slot = nullptr;
  {
    ConsumerCall call(s.consumption.clock, s.run.clock);
    while (!s.await_batch(kCheckEvery)) {
    }
    slot = s.delivery->take();
    call.set_with_batch(slot != nullptr);
  }
  s.held_watch.reset();
  if (slot == nullptr) return {};

  // A view without a copy: its pixels are slot->arrays.memory. Its destructor returns the slot.
  Batch batch(*slot, s.delivery);
  if (const std::optional<Error>& failure = slot->fill.failure()) {
    close();
    throw Error(*failure);
  }
  const bool empty = slot->delivered.samples == 0;
  if (const auto failure = empty ? s.errors.failure_of_empty(*slot) : std::nullopt) {
    close();
    throw Error(*failure);
  }
  s.errors.note_batch(slot->batch.epoch, empty);
  s.consumption.batches.fetch_add(1, std::memory_order_relaxed);
  s.consumption.samples.fetch_add(static_cast<std::int64_t>(slot->delivered.valid), std::memory_order_relaxed);
  return batch;
}

void Loader::pause() { state_->checked().consumption.clock.pause(); }

bool Loader::wait(std::chrono::milliseconds timeout) {
  State& s = state_->checked();
  const ConsumerCall call(s.consumption.clock, s.run.clock);
  return s.await_batch(timeout);
}

RankProgress Loader::progress() const { return state_->checked().delivery->progress(); }

void Loader::close() {
  if (!state_->forked()) state_->executor.close();
}

bool Loader::forked() const { return state_->forked(); }
std::uint64_t Loader::batches_per_epoch() const { return order().batches_per_epoch(); }
int Loader::threads() const { return state_->executor.threads(); }
const Plan& Loader::plan() const { return state_->run.plan; }
const ExecutionPlan& Loader::execution() const { return state_->run.execution; }
const Resources& Loader::resources() const { return state_->run.resources; }
const Order& Loader::order() const { return state_->run.epoch_order; }
Profile Loader::profile() const { return state_->checked().tuner.profile(); }
std::vector<BadSample> Loader::bad_samples(std::size_t most) const {
  return state_->checked().errors.bad_samples(most);
}
std::uint64_t Loader::bad_count() const { return state_->checked().errors.bad_count(); }

std::size_t Loader::memory_bytes() const {
  const State& s = state_->checked();
  const ReadAhead* const reading = s.executor.read_ahead();
  return s.delivery->memory_bytes() + (reading != nullptr ? reading->memory_bytes() : 0);
}

std::vector<MemoryShare> Loader::memory() const {
  const State& s = state_->checked();
  const MemoryPlan& plan = s.run.execution.memory;
  const Resources& resources = s.run.resources;
  const std::uint64_t borrowed = s.delivery->borrowed_bytes();
  std::vector<MemoryShare> shares{{s.delivery->pinned() ? "batches, page-locked" : "batches",
                                   s.delivery->memory_bytes(), plan.max_batches * plan.batch + borrowed}};
  if (plan.limit > 0) {
    const std::uint64_t workers = static_cast<std::uint64_t>(s.executor.threads()) * plan.worker;
    shares.push_back({"workers", workers, workers});
    shares.push_back({"larger images", resources.larger_images->borrowed(), plan.larger_images});
  }
  if (plan.device > 0) shares.push_back({"on the device", plan.device, plan.limit > 0 ? plan.device : 0});
  if (const ReadAhead* const reading = s.executor.read_ahead())
    shares.push_back({"records read ahead", reading->memory_bytes(), plan.read_ahead});
  std::optional<CacheCounts> cache;
  if (resources.encoded_cache) cache = resources.encoded_cache->counts();
  if (resources.pixel_cache) cache = resources.pixel_cache->counts();
  if (cache && s.run.plan.spec.cache.folder.empty()) {
    // Under a memory limit, the cache's part without what batches have borrowed of it.
    const std::uint64_t most = plan.limit > 0 ? std::min(cache->limit, plan.cache) - borrowed : cache->limit;
    shares.push_back({"cache", cache->bytes, most});
  } else if (cache) {
    shares.push_back({"cache, in a file", cache->bytes, cache->limit});
  }
  return shares;
}

std::string Loader::explain() const {
  const Resources& resources = state_->run.resources;
  std::string text = unstarve::explain(plan(), execution(), *resources.samples, order());
  if (forked()) return text;
  for (const std::string& note : resources.notes) text += "resources   " + note + "\n";
  text += state_->executor.decoded().explain();
  if (const auto& index = resources.scan_index) {
    const ScanIndexCounts counts = index->counts();
    text += fmt::format("index       {} crops decoded with a scan index, {} indexes added, {} rejected{}\n",
                        counts.used, counts.made, counts.wrong,
                        counts.other_version == 0
                            ? ""
                            : fmt::format(", {} of another version of unstarve{}", counts.other_version,
                                          index->writable() ? " and rebuilt" : ", not used"));
    if (!index->note().empty()) text += "index       " + index->note() + "\n";
  }
  if (const auto& cache = resources.pixel_cache; cache && !cache->note().empty())
    text += "cache       " + cache->note() + "\n";
  for (const TuningStep& step : profile().tuning)
    text += fmt::format("tuned       at {:.2f} s: {} threads, {} batches prefetched, {} reads in flight; {}\n",
                        step.seconds, step.threads, step.prefetch, step.read_ahead, step.reason);
  return text;
}

}  // namespace unstarve
