#include "unstarve/pipeline/executor/executor.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/autotune/choose.h"
#include "unstarve/pipeline/delivery/delivery.h"
#include "unstarve/pipeline/executor/run.h"
#include "unstarve/pipeline/read_ahead/read_ahead.h"

namespace unstarve {
namespace {

int most_workers(const Run& run) {
  const ExecutionPlan& execution = run.execution;
  return execution.tuned ? std::max(run.usable_cores, autotune::Limits().max_threads) : execution.threads;
}

}  // namespace

Executor::Executor(const Run& run, ErrorPolicy& errors, std::shared_ptr<Delivery> delivery, PeriodicCall& periodic)
    : shared_(run, errors, *delivery, periodic, most_workers(run)), delivery_(std::move(delivery)) {}

Executor::~Executor() { close(); }

void Executor::start() {
  const ExecutionPlan& execution = shared_.run.execution;
  if (execution.read_ahead > 0) (void)begin_read_ahead(execution.read_ahead);
  try {
    (void)start_threads(execution.threads);
  } catch (const std::system_error& error) {
    close();
    throw memory_error("start a worker thread: {}", error.what());
  }
}

void Executor::close() {
  {
    const std::lock_guard lock(threads_mutex_);
    closed_ = true;
  }
  shared_.gate.close();
  shared_.delivery.close();
  if (ReadAhead* const reading = read_ahead()) reading->close();  // after close(), the delivery begins no other
}

int Executor::start_threads(int count) {
  const std::lock_guard lock(threads_mutex_);
  while (!closed_ && threads_.size() < static_cast<std::size_t>(count))
    threads_.emplace_back([this, number = static_cast<int>(threads_.size())] { run_worker(shared_, number); });
  return static_cast<int>(threads_.size());
}

int Executor::started_threads() { return start_threads(0); }

bool Executor::begin_read_ahead(int reads) {
  if (!readers_) {
    const Run& run = shared_.run;
    const MemoryPlan& memory = run.execution.memory;
    // Under a memory limit, a third of the part for read-ahead is for the readers' own buffers.
    const std::uint64_t limit = memory.limit > 0 ? memory.read_ahead * 2 / 3 : memory.read_ahead;
    ReadAhead::Skip skip;
    if (const auto& cache = run.resources.pixel_cache)
      skip = [&cache](std::uint64_t id) { return cache->find(id).has_value(); };
    readers_ = std::make_unique<ReadAhead>(run.resources.dataset, run.run_order,
                                           ReadAhead::Options{reads, limit, run.relaxed(), true}, std::move(skip));
    shared_.read_ahead.store(readers_.get(), std::memory_order_release);
  }
  return delivery_->begin_read_ahead(*readers_);
}

void Executor::end_read_ahead() { (void)delivery_->end_read_ahead(*readers_); }

}  // namespace unstarve
