#pragma once
// One worker thread of the executor: claims samples, makes them and writes them into batch slots.
//
// Threads: run_worker() is the body of a thread.
// Failure: no exception; an error fails the sample's batch (Delivery::finish()).
// Cost:    no allocation per sample once the largest record was seen.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>

#include "unstarve/pipeline/autotune/worker_gate.h"
#include "unstarve/pipeline/executor/counters.h"
#include "unstarve/pipeline/executor/decode_counts.h"

namespace unstarve {

class Delivery;
class ErrorPolicy;
class ReadAhead;
struct Run;

// A function that some worker calls after the claim that ends at `due_ns` or later, by steady_clock(). Several workers
// may call it concurrently.
struct PeriodicCall {
  std::atomic<std::int64_t> due_ns{std::numeric_limits<std::int64_t>::max()};
  std::function<void(std::int64_t now_ns)> call{};
};

// What the workers of a run share.
struct WorkerShared {
  // `workers`: the largest number of them.
  WorkerShared(const Run& the_run, ErrorPolicy& the_errors, Delivery& the_delivery, PeriodicCall& the_call,
               int workers);

  const Run& run;
  ErrorPolicy& errors;
  Delivery& delivery;
  PeriodicCall& periodic;
  StageCounters counters;
  autotune::WorkerGate gate;
  DecodeCounts decoded;
  std::atomic<ReadAhead*> read_ahead{nullptr};  // null: the workers read
};

// Works as worker `number`, 0 or more, until the run ends or is closed.
void run_worker(WorkerShared& shared, int number);

}  // namespace unstarve
