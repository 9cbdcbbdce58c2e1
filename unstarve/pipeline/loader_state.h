#pragma once
// What a Loader is made of, shared by its consumer's end (loader.cpp) and its workers' end (loader_work.cpp).
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
#include "unstarve/pipeline/loader.h"
#include "unstarve/pipeline/plan.h"
#include "unstarve/pipeline/read_ahead.h"
#include "unstarve/pipeline/sample_worker.h"
#include "unstarve/pipeline/slot_ring.h"

namespace unstarve {

struct Loader::State {
  State(Plan the_plan, Device& device, const Options& options, Clock& the_clock);

  ~State() {
    close();
    threads.clear();  // joins
  }

  // This, unless the process is a fork of the one that has the threads: Error(kArgument).
  State& here();
  [[nodiscard]] bool forked() const { return ::getpid() != process; }

  void close() {
    ring->close();
    if (read_ahead) read_ahead->close();
  }

  std::unique_ptr<ReadAhead> start_read_ahead() const;

  // What a thread does from its start to the end of the run, in either order.
  void work(StageCounters::Worker& own);
  void work_in_order(StageCounters::Worker& own);
  void work_relaxed(StageCounters::Worker& own);

  // A sample before it is stored: its label and the id that stands for it, or none where it is left out.
  struct Made {
    std::uint64_t id = 0;
    std::int64_t label = 0;
    bool good = true;
  };
  // One sample under the error policy. Throws when the run is to fail by it. bring(): whether worker.record() holds it
  // now; throws what reading it ahead threw.
  template <class Bring>
  Made make_sample(SampleWorker& worker, std::uint64_t id, std::uint32_t epoch, const Bring& bring, StageTotals& totals,
                   bool timed);
  static void write_sample(SampleWorker& worker, const Made& made, Slot& slot, std::size_t index, StageTotals& totals,
                           bool timed);
  void count(StageCounters::Worker& own, std::size_t samples, const StageTotals& totals);
  // Counts the end of a claim; the last of its batch completes it.
  void finish(const Claim& claim, std::optional<Error> failure, std::size_t failure_index);

  // The sample's record by the read-ahead; false where it has none.
  bool take_ahead(SampleWorker& worker, const Slot& slot, std::size_t index, StageTotals& totals, bool timed);
  // Takes records that nobody wants any more, so that the read-ahead can go on to those behind them.
  void drop_ahead(SampleWorker& worker, const Slot& slot, std::size_t begin, std::size_t end);
  void note_bad(std::uint64_t id, const std::string& reason);
  void complete(Slot& slot);

  const pid_t process = ::getpid();
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

}  // namespace unstarve
