#pragma once
// What a Loader is made of, shared by its consumer's end (loader.cpp), its workers' end (loader_work.cpp) and the
// tuning while it runs (loader_tune.cpp).
//
// Threads: those of `threads` run work(); everything else as in loader.h.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "unstarve/core/counters.h"
#include "unstarve/core/thread_time.h"
#include "unstarve/pipeline/autotune/consumer_clock.h"
#include "unstarve/pipeline/autotune/controller.h"
#include "unstarve/pipeline/autotune/worker_gate.h"
#include "unstarve/pipeline/executor/decode_counts.h"
#include "unstarve/pipeline/executor/held_watch.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/read_ahead.h"
#include "unstarve/pipeline/executor/sample_program.h"
#include "unstarve/pipeline/executor/slot_ring.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

// What one worker counts about itself, and the clocks that it reads for it.
struct WorkerTime {
  StageCounters::Worker& own;
  const int number;
  RunDelay delay{};
  std::int64_t delay_taken_ns = 0;
  std::uint64_t claims = 0;
};

struct Loader::State {
  // `cores`: that the process may use.
  State(PlannedRun&& run, Device& device, const Options& options, Clock& the_clock, int cores);

  ~State() {
    close();
    threads.clear();  // joins
  }

  // This, unless the process is a fork of the one that has the threads: Error(kArgument).
  State& here();
  [[nodiscard]] bool forked() const { return ::getpid() != process; }

  void close() {
    {
      std::lock_guard lock(threads_mutex);
      closed = true;  // no thread is started any more
    }
    gate.close();
    ring->close();
    if (ReadAhead* const reading = ahead()) reading->close();  // none is begun behind the ring's close()
  }

  [[nodiscard]] ReadAhead* ahead() const { return read_ahead.load(std::memory_order_acquire); }
  // From record `first` of the run on. Throws Error(kMemory).
  void start_read_ahead(int reads, std::uint64_t first);
  // Amid the run; these expect tuning_mutex to be held.
  void begin_read_ahead(int reads, double now_s);
  void end_read_ahead();

  // What a thread does from its start to the end of the run, in either order.
  void work(int number);
  void work_in_order(WorkerTime& time);
  void work_relaxed(WorkerTime& time);

  // Threads up to `count`; fewer once the loader is closed. Throws std::system_error.
  void start_threads(int count);
  // Whether it is time to look how it goes; then look() measures, decides, and changes what is to be changed.
  [[nodiscard]] bool look_is_due(std::int64_t now_ns) const {
    return now_ns >= next_look_ns.load(std::memory_order_relaxed);
  }
  void look(std::int64_t now_ns);
  void apply(const autotune::Settings& settings, double now_s);
  [[nodiscard]] autotune::Limits limits() const;
  [[nodiscard]] Profile measured() const;  // all but the decisions; expects tuning_mutex to be held

  // A sample before it is stored: its label and the id that stands for it, or none where it is left out.
  struct Made {
    std::uint64_t id = 0;
    std::int64_t label = 0;
    bool good = true;
  };
  // One sample under the error policy. Throws when the run is to fail by it. bring(): whether worker.record() holds it
  // now; throws what reading it ahead threw.
  template <class Bring>
  Made make_sample(SampleProgram& worker, Sample sample, const Bring& bring, StageTotals& totals, bool timed);
  static void write_sample(SampleProgram& worker, const Made& made, Slot& slot, std::size_t index, StageTotals& totals,
                           bool timed);
  void count(WorkerTime& time, std::size_t samples, const StageTotals& totals);
  // Counts the end of a claim; the last of its batch completes it.
  void finish(const Claim& claim, std::optional<Error> failure, std::size_t failure_index);

  // The sample's record by the read-ahead; false where it has none.
  bool take_ahead(SampleProgram& worker, const Slot& slot, std::size_t index, StageTotals& totals, bool timed);
  // Takes records that nobody wants any more, so that the read-ahead can go on to those behind them.
  void drop_ahead(SampleProgram& worker, const Slot& slot, std::size_t begin, std::size_t end);
  void note_bad(std::uint64_t id, const std::string& reason);
  // Tells the consumer, which waits for a batch, where only itself can end that.
  void look_at_held();
  // Whether next() would not wait, after at most `most` for each batch that is left out.
  [[nodiscard]] bool ready(std::chrono::milliseconds most);
  // Takes the next batch off the ring if it is there and is to be left out; whether it did.
  [[nodiscard]] bool leave_out();
  // Of a batch without samples that is given: what is wrong with that, if anything is.
  [[nodiscard]] std::optional<Error> failure_of_empty(const Slot& slot) const;
  // Runs the plan's batch steps, in the thread that made the batch's last sample. Each step returns with slot.failure
  // where the run is to fail.
  void complete(Slot& slot);
  void run(const CompactStep& step, Slot& slot);
  void run(const PadStep& step, Slot& slot);
  void run(const OneHotStep& step, Slot& slot);
  void run(const BatchApplyStep& step, Slot& slot);
  void run(const RepeatStep& step, Slot& slot);

  const pid_t process = ::getpid();
  const Plan plan;
  const Order epoch_order;
  Resources resources;
  Clock& clock;
  Storer storer;
  RunOrder order;
  const std::shared_ptr<DecodeBalance> balance;  // null: the host decodes all
  DecodeCounts decoded;                          // by the workers
  std::shared_ptr<SlotRing> ring;
  std::unique_ptr<ReadAhead> readers;
  std::atomic<ReadAhead*> read_ahead{nullptr};  // those; null: the workers read
  const std::function<void(const std::string&)> tell;
  HeldWatch held_watch{kHeldPatienceNs};  // the consumer's
  const bool epoch_ends;
  std::uint64_t left_out = 0;  // batches, one after the other up to now; the consumer's
  const int cores;
  StageCounters counters;
  autotune::WorkerGate gate;
  autotune::ConsumerClock consumer;

  mutable std::mutex bad_mutex;
  std::map<std::uint64_t, std::string> bad;  // id to reason; at most errors.limit + 1
  std::optional<Error> too_many_bad;         // what the run fails with

  std::int64_t started_ns;
  std::atomic<std::int64_t> tried{0};  // samples read, good or bad
  std::atomic<std::int64_t> batches{0};
  std::atomic<std::int64_t> samples{0};
  std::atomic<std::int64_t> next_look_ns;  // by steady_clock(); never where nothing is tuned

  // Of the tuning; held for a whole look.
  mutable std::mutex tuning_mutex;
  std::optional<autotune::Controller> controller;  // from the first look on
  Profile last_look;
  StageCounters::Totals last_totals;
  bool looked = false;  // at a window that tells something
  autotune::Settings in_force;

  std::mutex threads_mutex;
  bool closed = false;
  std::vector<std::jthread> threads;  // last: joined before what they use goes away
};

}  // namespace unstarve
