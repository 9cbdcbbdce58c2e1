#pragma once
// One worker thread of the executor: claims samples, makes them and writes them into batch slots.
//
// Threads: run() is the body of the thread that constructs the worker.
// Failure: none leaves run(); an error fails the sample's batch (Delivery::finish()).
// Cost:    no allocation per sample once the largest record was seen.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "unstarve/core/counters.h"
#include "unstarve/pipeline/autotune/worker_gate.h"
#include "unstarve/pipeline/executor/decode_counts.h"
#include "unstarve/pipeline/executor/error_policy.h"
#include "unstarve/pipeline/executor/read_ahead.h"
#include "unstarve/pipeline/executor/sample_program.h"
#include "unstarve/pipeline/executor/worker_timer.h"

namespace unstarve {

class Delivery;
struct Claim;
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

class Worker {
 public:
  Worker(WorkerShared& shared, int number);
  // Works until the run ends or is closed.
  void run();

 private:
  [[nodiscard]] std::optional<Claim> next_claim(bool timed);
  void enter(std::uint32_t epoch);
  // Makes and writes the samples of a claim. Returns what failed the run, with its index in the slot.
  struct Failure {
    std::optional<Error> error;
    std::size_t index = 0;
  };
  [[nodiscard]] Failure process(Claim& claim, bool timed);
  [[nodiscard]] ErrorPolicy::Outcome make(const Claim& claim, std::size_t i, Sample sample, bool timed);
  void write(const ErrorPolicy::Outcome& made, Slot& slot, std::size_t index, bool timed);
  // Whether program_.record() holds the claim's sample `i`. Throws what reading it ahead threw.
  [[nodiscard]] bool fetch(const Claim& claim, std::size_t i, bool timed);
  // Takes the records from sample `i` on, so that the read-ahead continues after them.
  void skip_records(const Claim& claim, std::size_t i);

  WorkerShared& shared_;
  const int number_;
  WorkerTimer timer_;
  SampleProgram program_;
  std::optional<Order::Epoch> epoch_;
  std::uint32_t epoch_number_ = 0;
  std::optional<ReadAhead::Ready> fetched_;  // relaxed order: the record that decided the claim
};

}  // namespace unstarve
